"""What an engine costs for each step: ours, the floor, and peers, each in a process of its own environment.

    python -m benchmarks.overhead [--engines NAME …] [--times 5] [--write]

Each figure is the median of fresh processes, one after the other, of the better of two runs in each; building is not
counted. Leaves with 1 when a floor is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from .engines.roster import FLATNESS, FLOOR, LANGGRAPH, OURS, PEERS, SHAPES, Engine
from .measuring import Line, command_line, machine, table

sys.path.insert(0, str(Path(__file__).parent))
from peers.environments import python_of, version_of
from peers.process import PeerError

CACHE = user_cache_path("toolpath") / "benchmarks" / "engines"
RESULT = Path(__file__).parent / "results" / "overhead.md"
SECONDS = 120.0
"""After these an engine is given up on for a workload, and said to be."""

QUIET = {"HAYSTACK_TELEMETRY_ENABLED": "False", "HAMILTON_TELEMETRY_ENABLED": "false", "LANGSMITH_TRACING": "false"}
Figures = dict[tuple[str, int], dict[str, float] | str]


def measured(python: Path, script: Path, workload: str, count: int, times: int) -> dict[str, float] | str:
    """The medians of what a script prints, or why there are none."""
    found: list[dict[str, Any]] = []
    for _ in range(times):
        command = [str(python), str(script), workload, str(count)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, check=False, env=os.environ | QUIET
            )
        except subprocess.TimeoutExpired:
            return f"not done after {SECONDS:g} s"
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if re.match(r"[\w.]*(Error|Exception)\b", line)]
            return f"fails: {lines[-1][:60] if lines else done.returncode}"
        figures = json.loads(done.stdout.strip().splitlines()[-1])
        if "absent" in figures:
            return "–"
        found.append(figures)
    return {key: statistics.median(one[key] for one in found) for key in found[0]}


def of_engine(engine: Engine, python: Path, shapes: Sequence[tuple[str, int]], times: int) -> Figures:
    """An engine's figures by workload and count."""
    figures: Figures = {}
    for workload, count in shapes:
        figures[workload, count] = measured(python, engine.script, workload, count, times)
        print(f"  {engine.name}, {workload} {count}: {told(figures[workload, count])}", flush=True)
    return figures


def per_step(figures: dict[str, float] | str) -> float | None:
    """Microseconds for each step."""
    return None if isinstance(figures, str) else figures["run_s"] / figures["steps"] * 1e6


def told(figures: dict[str, float] | str) -> str:
    """A figure for a cell."""
    cost = per_step(figures)
    return str(figures) if cost is None else f"{cost:.3g}"


def comparison(results: dict[str, Figures], versions: dict[str, str]) -> str:
    """The table of all engines, in microseconds a step."""
    heads = [f"{workload} {count:,}" for workload, count in SHAPES]
    rows = ["| µs a step | " + " | ".join(heads) + " |", "| --- |" + " --- |" * len(heads)]
    for name, figures in results.items():
        cells = [told(figures.get(shape, "–")) for shape in SHAPES]
        rows.append(f"| {versions[name]} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def floors(results: dict[str, Figures]) -> list[Line]:
    """What was promised of ours beside the peers."""
    lines: list[Line] = []
    ours = results[OURS.name]
    for shape in SHAPES:
        name = f"{shape[0]} {shape[1]:,}"
        own = per_step(ours[shape])
        if own is None:
            continue
        if shape[0] != "lattice":
            lines.append(Line(f"{name}: a step", own, "µs", at_most=10))
        peers = {peer.name: per_step(results[peer.name][shape]) for peer in PEERS if peer.name in results}
        best = min(((cost, peer) for peer, cost in peers.items() if cost is not None), default=None)
        if best is not None:
            lines.append(Line(f"{name}: the best peer beside ours", best[0] / own, "x", at_least=4, note=best[1]))
        graph = peers.get(LANGGRAPH)
        if graph is not None:
            lines.append(Line(f"{name}: LangGraph beside ours", graph / own, "x", at_least=30))
    return lines


def own_workloads(times: int) -> list[Line]:
    """What ours does alone."""
    script = OURS.script.with_name("toolpath_workloads.py")

    def of(workload: str, count: int) -> dict[str, float]:
        found = measured(Path(sys.executable), script, workload, count, times)
        if isinstance(found, str):
            raise SystemExit(f"{workload}: {found}")
        print(f"  Toolpath, {workload} {count}: {found}", flush=True)
        return found

    uneven, memory = of("uneven", 200), of("memory", 10_000)
    everything, checkpoint = of("everything", 10_000), of("checkpoint", 10_000)
    flat = of_engine(OURS, Path(sys.executable), FLATNESS, times)
    lines = [
        Line("10,000 sleeps of 0.1 s", of("sleeps", 10_000)["run_s"], "s", at_most=0.7),
        Line("uneven branches, beside the critical path", uneven["run_s"] / uneven["critical_s"], "x", at_most=1.05),
        Line("10,000 items of a list known at run time: an item", per_step(of("mapped", 10_000)) or 0, "µs"),
        Line("layers with 5% failing: a step", per_step(of("failing", 1_000)) or 0, "µs"),
        Line("retry, timeout and events: a step", per_step(everything) or 0, "µs", at_most=40),
        Line("every outcome committed to SQLite: a step", per_step(checkpoint) or 0, "µs"),
        Line("10,000 outputs of 100 KB with one reader each: more memory", memory["more_mb"], "MB", at_most=20),
    ]
    for shape in ("chain", "wide"):
        small, large = per_step(flat[shape, 1_000]), per_step(flat[shape, 100_000])
        if small and large:
            lines.append(Line(f"{shape}: a step of 100,000 beside one of 1,000", large / small, "x", at_most=1.5))
    return lines


def main(arguments: Sequence[str]) -> int:
    """Measures and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engines", nargs="*", metavar="NAME", help="peers to compare with; all by default")
    parser.add_argument("--times", type=int, default=5, help="fresh processes for each figure")
    parser.add_argument("--venvs", type=Path, default=CACHE, metavar="DIR", help="the peers' environments")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    chosen = parser.parse_args(arguments)
    ours = Path(sys.executable)
    results: dict[str, Figures] = {}
    versions = {OURS.name: f"**{OURS.name}**", FLOOR.name: f"{FLOOR.name} (floor)"}
    for engine in (FLOOR, OURS):
        results[engine.name] = of_engine(engine, ours, SHAPES, chosen.times)
    for engine in PEERS:
        if chosen.engines and not {engine.name, engine.peer} & set(chosen.engines):
            continue
        try:
            python = python_of(engine, chosen.venvs)
            versions[engine.name] = f"{engine.name} {version_of(engine).split()[-1]}"
        except PeerError as error:
            print(f"  {error}")
            continue
        results[engine.name] = of_engine(engine, python, SHAPES, chosen.times)
    lines = floors(results) + own_workloads(chosen.times)
    notes = [f"{engine.name}: {engine.note}." for engine in (FLOOR, *PEERS) if engine.note and engine.name in results]
    page = "\n\n".join(
        [
            table("Overhead of a step", lines, machine()).rstrip(),
            comparison(results, versions),
            "Steps are async functions that do nothing. " + " ".join(notes),
            f"`{command_line('-m benchmarks.overhead', arguments)}`",
        ]
    )
    print("\n" + page)
    if chosen.write:
        RESULT.write_text(page + "\n", encoding="utf-8")
    missed = [line.name for line in lines if not line.holds]
    if missed:
        print("floors that do not hold: " + "; ".join(missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
