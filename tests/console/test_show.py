"""`toolpath show` shows catalogs and tools, to people and to programs."""

from pathlib import Path

from .conftest import Toolpath


def test_a_catalog_is_listed_by_category(toolpath: Toolpath, catalog_file: str) -> None:
    done = toolpath("show", catalog_file)
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()[1:4]] == ["mail.send", "flights.search", "天气.查询"]
    assert "3 tools in 3 categories" in done.out
    assert "Send an e-mail to a customer." in done.out
    assert "internal chat" not in done.out


def test_json_holds_every_definition_and_nothing_else_on_stdout(toolpath: Toolpath, catalog_file: str) -> None:
    shown = toolpath("show", catalog_file, "--json").json
    assert shown["count"] == 3
    assert shown["tools"][0]["parameters"]["properties"]["to"]["format"] == "email"
    assert len(shown["digest"]) == 64


def test_a_category_or_tag_narrows_the_list(toolpath: Toolpath, catalog_file: str) -> None:
    assert [t["name"] for t in toolpath("show", catalog_file, "--category", "travel", "--json").json["tools"]] == [
        "flights.search"
    ]
    assert [t["name"] for t in toolpath("show", catalog_file, "--tag", "outgoing", "--json").json["tools"]] == [
        "mail.send"
    ]


def test_one_tool_is_shown_whole_by_name_or_alias(toolpath: Toolpath, catalog_file: str) -> None:
    done = toolpath("show", catalog_file, "send_mail")
    assert done.code == 0
    for part in ("mail.send", "internal chat", "high_risk_write", "Recipient.", "yes", "only described"):
        assert part in done.out
    assert toolpath("show", catalog_file, "mail.send", "--json").json["can_run"] is False


def test_an_unknown_tool_gets_near_names_and_exit_code_2(toolpath: Toolpath, catalog_file: str) -> None:
    done = toolpath("show", catalog_file, "mail.sent")
    assert (done.code, done.out) == (2, "")
    assert "did you mean 'mail.send'" in done.err


def test_a_missing_catalog_is_one_line_of_error(toolpath: Toolpath) -> None:
    done = toolpath("show", "nowhere.jsonl")
    assert done.code == 2
    assert done.err.startswith("error: 'nowhere.jsonl'")
    assert "Traceback" not in done.err


def test_a_malformed_entry_stops_unless_the_reading_is_lenient(toolpath: Toolpath, tmp_path: Path) -> None:
    file = tmp_path / "tools.jsonl"
    file.write_text('{"name": "good"}\n{"name": ""}\n', encoding="utf-8")
    strict = toolpath("show", str(file))
    assert strict.code == 2
    assert "tools.jsonl" in strict.err
    lenient = toolpath("show", str(file), "--lenient", "--json")
    assert [tool["name"] for tool in lenient.json["tools"]] == ["good"]
    assert "left out" in lenient.err


def test_markup_in_a_description_is_text(toolpath: Toolpath, tmp_path: Path) -> None:
    file = tmp_path / "tools.jsonl"
    file.write_text('{"name": "a[bold]", "description": "[red]not red[/red] [/nope]"}\n', encoding="utf-8")
    done = toolpath("show", str(file))
    assert done.code == 0
    assert "a[bold]" in done.out
    assert "[red]not red[/red] [/nope]" in done.out
    assert "[/nope]" in toolpath("show", str(file), "a[bold]").out
