"""`toolpath show` shows catalogs and tools, to people and to programs."""

import json
from pathlib import Path

import pytest
from toolpath.console import output

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


HOSTILE = "red \x1b[31mRED\x1b]0;title\x07 \u202ertl\r\x08"


def test_a_description_cannot_steer_the_terminal(toolpath: Toolpath, tmp_path: Path) -> None:
    tool = {
        "name": "evil",
        "description": HOSTILE,
        "category": HOSTILE,
        "owner": HOSTILE,
        "examples": [HOSTILE],
        "parameters": {"properties": {"p\x1b[1m": {"type": "string", "description": HOSTILE}}},
        "returns": {"description": "\u202e"},
    }
    file = tmp_path / "tools.jsonl"
    file.write_text(json.dumps(tool), encoding="utf-8")
    for done in (toolpath("show", str(file)), toolpath("show", str(file), "evil")):
        assert done.code == 0
        assert "\\x1b[31mRED" in done.out
        assert all(char.isprintable() or char == "\n" for char in done.out)


def test_an_error_is_one_line_however_narrow_the_terminal(
    toolpath: Toolpath, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(output.ERR, "_width", 20)
    done = toolpath("show", str(tmp_path / ("long" * 20 + ".jsonl")))
    assert done.err.count("\n") == 1


def test_what_a_module_prints_does_not_spoil_the_json(
    toolpath: Toolpath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "talkative_tools.py").write_text("print('hello')\ntools = []\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    done = toolpath("show", "talkative_tools:tools", "--json")
    assert done.json["count"] == 0
    assert done.err == "hello\n"


def test_ctrl_c_says_that_it_was_heard(toolpath: Toolpath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "interrupted_tools.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    done = toolpath("show", "interrupted_tools:tools")
    assert (done.code, done.out, done.err) == (130, "", "interrupted\n")
