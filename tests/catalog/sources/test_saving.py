"""Tools written to files."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from toolpath.catalog import Tool, load_catalog, read_tools, save_tools

from ..strategies import tool_fields

TOOLS = [
    Tool(name="天气", description="Line\u2028 one\n\ttwo: 'x' # y", tags=("on", "no", "1.0"), timeout=1.5),
    Tool(
        name="b",
        parameters={"properties": {"x": {"enum": ["yes", None, 1]}}},
        metadata={"d": "2025-01-01", "n": 10**30},
    ),
]


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".yaml", ".yml"])
def test_tools_come_back_from_every_kind_of_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"tools{suffix}"
    assert save_tools(path, TOOLS) == {}
    assert [tool.model_copy(update={"source": None}) for tool in load_catalog(path)] == TOOLS
    assert path.read_bytes().endswith(b"\n")
    assert os.listdir(tmp_path) == [path.name]  # noqa: PTH208 - hidden files count


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tool_fields)
def test_a_tool_loses_nothing_in_any_file(tmp_path: Path, fields: dict[str, Any]) -> None:
    tool = Tool(**{**fields, "source": "s", "aliases": ()})
    for suffix in (".jsonl", ".json", ".yaml"):
        path = tmp_path / f"t{suffix}"
        save_tools(path, [tool])
        assert list(load_catalog(path)) == [tool]


def test_a_foreign_shape_reports_what_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    assert save_tools(path, [Tool(name="x", category="c")], shape="anthropic") == {"x": ("category",)}
    assert json.loads(path.read_text()) == [{"name": "x", "input_schema": {"type": "object", "properties": {}}}]


def test_no_tools_make_an_empty_file(tmp_path: Path) -> None:
    save_tools(tmp_path / "t.jsonl", [])
    assert list(load_catalog(tmp_path / "t.jsonl")) == []


@pytest.mark.parametrize("name", ["tools.txt", "tools"])
def test_an_unknown_ending_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"must end in one of \.jsonl"):
        save_tools(tmp_path / name, TOOLS)


def test_a_failed_write_leaves_the_old_file_and_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.jsonl"
    save_tools(path, TOOLS[:1])
    before = path.read_bytes()

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save_tools(path, TOOLS)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.jsonl"]


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save_tools(tmp_path / "missing" / "t.jsonl", TOOLS)


@pytest.mark.skipif(os.name != "posix", reason="file modes and links of POSIX")
def test_the_mode_and_a_link_to_the_file_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    save_tools(real, TOOLS[:1])
    real.chmod(0o640)
    link.symlink_to(real)
    save_tools(link, TOOLS)
    assert link.is_symlink()
    assert len(load_catalog(real)) == 2
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_reading_a_saved_foreign_tool_still_knows_its_original(tmp_path: Path) -> None:
    entry = {"name": "x", "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#"}, "_meta": {"k": 1}}
    save_tools(tmp_path / "t.jsonl", read_tools([entry]))
    (tool,) = load_catalog(tmp_path / "t.jsonl")
    save_tools(tmp_path / "back.json", [tool], shape="mcp")
    assert json.loads((tmp_path / "back.json").read_text()) == [entry]


@pytest.mark.parametrize(
    "name", ["1e5", "0E0", "-1E-3", "1e+5", "true", "~", "null", "12", "0x1", "1_0", "on", "=", "<<"]
)
def test_a_name_that_looks_like_a_number_stays_text(tmp_path: Path, name: str) -> None:
    file = tmp_path / "t.yaml"
    save_tools(file, [Tool(name=name)])
    assert [tool.name for tool in load_catalog(file)] == [name]
