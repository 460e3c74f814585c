"""`toolpath index --check` says which tools cannot be found, and fails when there is one."""

import json
from pathlib import Path

import pytest

from .conftest import Toolpath


@pytest.fixture
def crowded(tmp_path: Path) -> str:
    """Seven tools that say the same and one that does not, one entry that is no tool."""
    entries: list[dict[str, object]] = [
        {"name": f"search_{letter}", "description": "Searches things."} for letter in "abcdefg"
    ]
    entries += [{"name": "send_mail", "description": "Sends an e-mail."}, {"name": "quiet"}, {"name": 7}]
    file = tmp_path / "crowded.jsonl"
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return str(file)


def test_a_complete_catalog_gets_one_clear_line_and_exit_code_0(toolpath: Toolpath, catalog_file: str) -> None:
    done = toolpath("index", catalog_file, "--embedder", "hash", "--check")
    assert done.code == 0
    assert done.out.splitlines()[1:] == ["check: every tool is among the first 5 for its own words"]


def test_tools_out_of_reach_are_listed_and_the_exit_code_is_1(toolpath: Toolpath, crowded: str) -> None:
    done = toolpath("index", crowded, "--embedder", "hash", "--check", "--lenient")
    assert done.code == 1
    assert "check: 2 of 9 tools are not among the first 5 for its own words" in done.out
    assert "  search_f, by its description; found instead: search_a, search_b, search_c\n" in done.out
    assert "only their names tell them apart, in groups (1):\n  search_a, search_b, " in done.out
    assert "neither description nor example (1):\n  quiet\n" in done.out
    assert "left out of the catalog" in done.out and "line 10" in done.out


def test_json_holds_the_whole_check(toolpath: Toolpath, crowded: str) -> None:
    done = toolpath("index", crowded, "--embedder", "hash", "--check", "--lenient", "--json")
    check = done.json["check"]
    assert done.code == 1 and check["complete"] is False
    assert [miss["tool"] for miss in check["unreachable"]] == ["search_f", "search_g"]
    assert check["wordless"] == ["quiet"] and check["left_out"] == done.json["left_out"]
    assert len(check["left_out"]) == 1


def test_a_wider_look_finds_them(toolpath: Toolpath, crowded: str) -> None:
    done = toolpath("index", crowded, "--embedder", "hash", "--check", "-k", "7", "--lenient")
    assert (done.code, "every tool is among the first 7" in done.out) == (0, True)


def test_without_the_check_nothing_is_searched_and_nothing_fails(toolpath: Toolpath, crowded: str) -> None:
    done = toolpath("index", crowded, "--embedder", "hash", "--lenient", "--json")
    assert done.code == 0 and "check" not in done.json
    assert len(done.json["left_out"]) == 1


def test_the_index_goes_to_the_cache_when_no_folder_is_named(
    toolpath: Toolpath, catalog_file: str, tmp_path: Path
) -> None:
    first = toolpath("index", catalog_file, "--embedder", "hash", "--json").json
    assert Path(first["folder"]).is_dir() and Path(first["folder"]).is_relative_to(tmp_path / "cache")
    assert toolpath("index", catalog_file, "--embedder", "hash", "--json").json["embedded"] == 0


def test_a_long_list_is_cut_on_screen_and_whole_in_json(toolpath: Toolpath, tmp_path: Path) -> None:
    file = tmp_path / "many.json"
    file.write_text(json.dumps([{"name": f"s{n}", "description": "Searches things."} for n in range(30)]), "utf-8")
    done = toolpath("index", str(file), "--embedder", "hash", "--check")
    assert "  and 5 more; --json lists all" in done.out
    report = toolpath("index", str(file), "--embedder", "hash", "--check", "--json").json
    assert len(report["check"]["unreachable"]) == 25
