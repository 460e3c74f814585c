"""The overhead benchmark: its graphs, what it makes of figures, and what it does with engines that fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import overhead, prefetch
from benchmarks.engines.adapters import shapes
from benchmarks.engines.roster import FLOOR, LANGGRAPH, OURS, PEERS, SHAPES, Engine


@pytest.mark.parametrize(
    ("shape", "count", "size", "edges"),
    [
        ("chain", 5, 5, 4),
        ("wide", 5, 5, 0),
        ("layered", 150, 150, 5000),
        ("lattice", 9, 9, 12),
    ],
)
def test_the_graphs_are_what_they_are_called(shape: str, count: int, size: int, edges: int) -> None:
    graph = shapes.SHAPES[shape](count)
    assert len(graph) == size
    assert sum(len(deps) for _, deps in graph) == edges
    seen: set[str] = set()
    for name, deps in graph:
        assert seen.issuperset(deps)
        seen.add(name)


def test_every_engine_has_its_script_and_its_pins() -> None:
    for engine in (OURS, FLOOR, *PEERS):
        assert engine.script.is_file()
        if engine.peer:
            assert f"\n{engine.peer}==" in engine.constraints.read_text()
    assert LANGGRAPH in {engine.name for engine in PEERS}


@pytest.mark.parametrize("engine", [OURS, FLOOR], ids=lambda engine: engine.name)
@pytest.mark.parametrize("shape", ["chain", "layered"])
def test_ours_and_the_floor_run_in_a_process_of_their_own(engine: Engine, shape: str) -> None:
    figures = overhead.measured(Path(sys.executable), engine.script, shape, 100, 1)
    assert not isinstance(figures, str)
    assert figures["steps"] == 100
    assert figures["run_s"] > 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise ValueError('broken engine')", "fails: ValueError: broken engine"),
        ('print(\'{"absent": "no"}\')', "–"),
        ("import time; time.sleep(60)", "not done after 0.5 s"),
    ],
)
def test_an_engine_that_cannot_is_said_to(
    tmp_path: Path, text: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "engine.py"
    script.write_text(text)
    if "sleep" in text:
        monkeypatch.setattr(overhead, "SECONDS", 0.5)
    assert overhead.measured(Path(sys.executable), script, "chain", 10, 2) == says


def test_floors_are_ratios_to_the_best_peer_and_to_langgraph() -> None:
    def figures(micros: float) -> overhead.Figures:
        return {shape: {"run_s": micros * shape[1] / 1e6, "steps": shape[1]} for shape in SHAPES}

    slow = {**figures(100.0), SHAPES[0]: "fails: ValueError"}
    lines = overhead.floors({OURS.name: figures(5.0), PEERS[0].name: figures(15.0), LANGGRAPH: slow})
    found = {line.name: (line.value, line.holds) for line in lines}
    assert found["chain 1,000: a step"] == (pytest.approx(5.0), True)
    assert found["chain 1,000: the best peer beside ours"] == (pytest.approx(3.0), False)
    assert "chain 1,000: LangGraph beside ours" not in found
    assert found["wide 1,000: LangGraph beside ours"] == (pytest.approx(20.0), False)


def test_the_table_says_what_is_missing() -> None:
    shown = overhead.comparison({"X": {SHAPES[0]: {"run_s": 1.0, "steps": 1000}, SHAPES[1]: "–"}}, {"X": "X 1.0"})
    assert "| X 1.0 | 1e+03 | – | – |" in shown


def test_warming_helps_in_simulated_sessions(capsys: pytest.CaptureFixture[str]) -> None:
    assert prefetch.main(["--sessions", "20", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert row["warmed_call_ms"] < row["call_ms"]
    assert row["used"] > 0.5
