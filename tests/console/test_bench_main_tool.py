"""`toolpath bench` over requests that name a main tool: it and what it needs are shown apart."""

from __future__ import annotations

import json
from pathlib import Path

from .test_bench import run

NEEDS = {"id": "1", "query": "weather forecast for Oslo", "tools": ["get_weather", "cancel_order"]}


def test_the_main_tool_and_what_it_needs_have_lines_of_their_own(tmp_path: Path) -> None:
    shown = run(tmp_path, queries=[NEEDS | {"main_tool": "get_weather"}]).output
    assert "The main tool, and what it needs" in shown
    assert "main tool recall@1" in shown and "tools offered to stage 3 (mean)" in shown
    (tmp_path / "json").mkdir()
    report = json.loads(run(tmp_path / "json", "--json", queries=[NEEDS | {"main_tool": "get_weather"}]).output)
    assert report["main"]["recall@1"] == 1.0 and report["closure"]["offered"] == 4.0


def test_requests_without_a_main_tool_have_no_such_lines(tmp_path: Path) -> None:
    assert "main tool" not in run(tmp_path, queries=[NEEDS]).output
