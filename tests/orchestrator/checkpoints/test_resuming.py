"""Runs that are kept, and go on where they were cut off. Real files, real threads."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from toolpath.catalog import Permission
from toolpath.orchestrator import (
    CheckpointError,
    Pipeline,
    PipelineBuilder,
    Retry,
    RunReport,
    SQLiteStore,
    constant,
    current_step,
    ref,
    run_input,
)

from tests.orchestrator.building import FAIL_FAST, PARTIAL, graph, make_tool, outcomes, raising, returning

BACKENDS = ["asyncio", "trio"]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    made = SQLiteStore(tmp_path / "runs.sqlite")
    yield made
    made.close()


class Noted:
    """Steps that note that they ran, and that may be told to hang or to fail."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.hang: set[str] = set()
        self.bad: set[str] = set()

    def step(self, name: str, value: Any = None) -> Callable[[], Any]:
        async def run() -> Any:
            self.ran.append(name)
            if name in self.bad:
                raise LookupError(f"{name} is bad")
            if name in self.hang:
                await anyio.sleep(60)
            return name if value is None else value

        return run

    def pipeline(self, edges: dict[str, list[str]], **policies: Any) -> Pipeline:
        return graph(edges, {name: self.step(name) for name in edges}, **policies).build()


@pytest.fixture
def noted() -> Noted:
    return Noted()


def cut_off(pipeline: Pipeline, store: SQLiteStore, backend: str, **inputs: Any) -> str:
    """Runs it until its time is over, then makes the store believe that the process has died."""
    report = pipeline.run_sync(inputs, store=store, timeout=0.3, backend=backend)
    assert report.outcome == "timed_out"
    return report.run_id


def resume(pipeline: Pipeline, run_id: str, store: SQLiteStore, backend: str, **options: Any) -> RunReport:
    async def go() -> RunReport:
        return await pipeline.resume(run_id, store=store, **options)

    return anyio.run(go, backend=backend)


CHAIN: dict[str, list[str]] = {"a": [], "b": ["a"], "c": ["b"], "d": ["a"]}


def test_what_was_done_is_not_done_again(noted: Noted, store: SQLiteStore, backend: str) -> None:
    pipeline = noted.pipeline(CHAIN)
    noted.hang.add("b")
    run_id = cut_off(pipeline, store, backend)
    assert sorted(noted.ran) == ["a", "b", "d"]
    noted.hang.clear()
    noted.ran.clear()
    report = resume(pipeline, run_id, store, backend)
    assert noted.ran == ["b", "c"]
    assert report.ok
    assert report.run_id == run_id
    assert [report.value(name) for name in CHAIN] == ["a", "b", "c", "d"]
    assert [name for name in CHAIN if report[name].restored] == ["a", "d"]
    assert "from before" in str(report)


def test_a_run_that_is_over_is_not_run_again(noted: Noted, store: SQLiteStore, backend: str) -> None:
    pipeline = noted.pipeline(CHAIN)
    first = pipeline.run_sync(store=store, backend=backend)
    noted.ran.clear()
    report = resume(pipeline, first.run_id, store, backend)
    assert noted.ran == []
    assert report.ok
    assert report.outputs == first.outputs


def test_inputs_and_keys_are_the_same_after_a_resume(store: SQLiteStore, backend: str) -> None:
    seen: list[tuple[str, Any]] = []
    hang = True

    async def step(x: Any) -> Any:
        here = current_step()
        assert here is not None
        seen.append((here.idempotency_key, x))
        if hang:
            await anyio.sleep(60)
        return x

    pipeline = PipelineBuilder().step(step, bind={"x": run_input("x")}).build()
    run_id = cut_off(pipeline, store, backend, x=(1, "ü"))
    hang = False
    report = resume(pipeline, run_id, store, backend)
    assert report.value("step") == (1, "ü")
    assert seen[0] == seen[1] == (f"{run_id}:step", (1, "ü"))


def test_failures_stand_unless_they_are_to_be_tried_again(noted: Noted, store: SQLiteStore, backend: str) -> None:
    pipeline = noted.pipeline(CHAIN | {"e": ["b"]}, b=PARTIAL)
    noted.bad.add("b")
    first = pipeline.run_sync(store=store, backend=backend)
    noted.bad.clear()
    noted.ran.clear()
    same = resume(pipeline, first.run_id, store, backend)
    assert noted.ran == []
    assert outcomes(same) == outcomes(first)
    assert same["b"].error is not None
    assert "b is bad" in same["b"].error.message
    again = resume(pipeline, first.run_id, store, backend, retry_failed=True)
    assert sorted(noted.ran) == ["b", "c", "e"]
    assert again.ok


def test_a_failure_that_ended_the_run_ends_it_again(noted: Noted, store: SQLiteStore, backend: str) -> None:
    pipeline = noted.pipeline({"a": [], "bad": ["a"], "z": ["bad"]}, bad=FAIL_FAST)
    noted.bad.add("bad")
    first = pipeline.run_sync(store=store, backend=backend)
    assert resume(pipeline, first.run_id, store, backend).reason == first.reason
    noted.bad.clear()
    assert resume(pipeline, first.run_id, store, backend, retry_failed=True).ok


def test_items_that_were_done_are_not_done_again(store: SQLiteStore, backend: str) -> None:
    ran: list[int] = []
    hang = True

    async def one(item: int) -> int:
        ran.append(item)
        if hang and item % 2:
            await anyio.sleep(60)
        return item * 10

    pipeline = PipelineBuilder().map(one, list(range(6)), name="each").build()
    run_id = cut_off(pipeline, store, backend)
    hang = False
    ran.clear()
    report = resume(pipeline, run_id, store, backend)
    assert sorted(ran) == [1, 3, 5]
    assert report.value("each") == [0, 10, 20, 30, 40, 50]


def test_a_pipeline_inside_goes_on_where_it_was(noted: Noted, store: SQLiteStore, backend: str) -> None:
    inner = noted.pipeline({"x": [], "y": ["x"]})
    pipeline = PipelineBuilder().step(inner, name="sub").then(returning(1), name="after").build()
    noted.hang.add("y")
    run_id = cut_off(pipeline, store, backend)
    noted.hang.clear()
    noted.ran.clear()
    report = resume(pipeline, run_id, store, backend)
    assert report.ok
    assert noted.ran == ["y"]
    assert [run.run_id for run in store.runs()] == [run_id]
    assert store.delete(run_id)
    assert store.load(f"{run_id}:sub") is None


def test_a_pipeline_inside_that_failed_is_tried_again_by_the_steps_retry(store: SQLiteStore, backend: str) -> None:
    inner = PipelineBuilder("inner").step(raising(ConnectionError("down"), then="up"), name="x").build()
    retry = Retry(attempts=3, backoff=0.01)
    flaky = PipelineBuilder("inner").step(_flaky(2), name="x").build()
    assert not PipelineBuilder().step(inner, name="sub").build().run_sync(store=store, backend=backend).ok
    assert PipelineBuilder().step(flaky, name="sub", retry=retry).build().run_sync(store=store, backend=backend).ok


def _flaky(failures: int) -> Callable[[], Any]:
    left = [ConnectionError("down")] * failures

    async def step() -> str:
        if left:
            raise left.pop()
        return "up"

    return step


def test_conditions_joins_degraded_and_missing_values_survive(store: SQLiteStore, backend: str) -> None:
    hang = True

    async def last(best: Any, j: Any) -> Any:
        if hang:
            await anyio.sleep(60)
        return [best, str(j)]

    builder = PipelineBuilder().step(raising(ValueError("no")), name="best", fallback=[constant("old")])
    builder.step(raising(ValueError("gone")), name="poor", policy=PARTIAL)
    builder.step(returning(1), name="never", when=lambda: False)
    builder.join(returning("joined"), name="j", deps=["best", "poor", "never"], rule="any")
    pipeline = builder.step(last).build()
    first = pipeline.run_sync(store=store, timeout=0.3, backend=backend)
    hang = False
    report = resume(pipeline, first.run_id, store, backend)
    assert report.value("last") == ["old", "joined"]
    assert report["last"].degraded_by == ("best",)
    assert (report["best"].served_by, report["best"].confidence) == ("constant", first["best"].confidence)
    assert report["never"].outcome == "skipped"
    assert report["never"].reason == first["never"].reason
    assert report["poor"].outcome == "failed"


def test_a_call_that_must_not_be_repeated_waits_for_somebody_to_find_out(
    noted: Noted, store: SQLiteStore, backend: str
) -> None:
    pay = make_tool("pay", noted.step("pay"), permission=Permission.HIGH_RISK_WRITE)
    pipeline = PipelineBuilder().step(pay).then(returning(1), name="after").build()
    noted.hang.add("pay")
    run_id = cut_off(pipeline, store, backend)
    noted.hang.clear()
    noted.ran.clear()
    report = resume(pipeline, run_id, store, backend)
    assert noted.ran == []
    assert report["pay"].error is not None
    assert report["pay"].error.error_type == "side_effect_blocked"
    assert "repeat=['pay']" in report["pay"].error.suggestion
    again = resume(pipeline, run_id, store, backend, retry_failed=True, repeat=["pay"])
    assert again.ok
    assert noted.ran == ["pay"]


def test_a_changed_pipeline_is_refused_or_mapped(noted: Noted, store: SQLiteStore, backend: str) -> None:
    noted.hang.add("c")
    run_id = cut_off(noted.pipeline(CHAIN), store, backend)
    noted.hang.clear()
    noted.ran.clear()
    changed = noted.pipeline({"a": [], "b": ["a", "x"], "c": ["b"], "x": []})
    with pytest.raises(
        CheckpointError, match="has changed since: 'd' is gone, 'x' is new, 'b' has changed; resume with"
    ):
        resume(changed, run_id, store, backend)
    report = resume(changed, run_id, store, backend, changed="map")
    assert report.ok
    assert sorted(noted.ran) == ["b", "c", "x"]


def test_an_output_that_cannot_be_kept_fails_its_step_and_says_where(store: SQLiteStore, backend: str) -> None:
    report = (
        PipelineBuilder().step(returning({"a": [object()]}), name="s").build().run_sync(store=store, backend=backend)
    )
    assert isinstance(report["s"].exception, CheckpointError)
    assert "the output of step 's' cannot be kept: there is something of type object at 'a[0]'" in str(
        report["s"].exception
    )


def test_unknown_and_doubled_runs_and_unreadable_inputs_are_refused(store: SQLiteStore, backend: str) -> None:
    pipeline = PipelineBuilder().step(returning(1), name="s").build()
    with pytest.raises(CheckpointError, match="no run 'nope'"):
        resume(pipeline, "nope", store, backend)
    pipeline.run_sync(store=store, run_id="mine", backend=backend)
    with pytest.raises(CheckpointError, match="'mine' in the store already"):
        pipeline.run_sync(store=store, run_id="mine", backend=backend)
    needs = PipelineBuilder().step(returning_input, bind={"x": run_input("x")}).build()
    with pytest.raises(CheckpointError, match="run inputs cannot be kept"):
        needs.run_sync({"x": object()}, store=store, backend=backend)


async def returning_input(x: Any) -> Any:
    return x


def test_a_full_disk_stops_the_run_and_says_so(store: SQLiteStore, tmp_path: Path, monkeypatch: Any) -> None:
    connect = SQLiteStore._connect

    def small(self: SQLiteStore) -> sqlite3.Connection:
        db = connect(self)
        db.execute("PRAGMA max_page_count=12")
        return db

    monkeypatch.setattr(SQLiteStore, "_connect", small)
    builder = PipelineBuilder().step(returning("small"), name="a").then(returning("x" * 200_000), name="big")
    report = builder.then(returning(1), name="after").build().run_sync(store=store)
    assert report.outcome == "failed"
    assert "full" in report.reason
    assert report.value("a") == "small"
    assert report["after"].outcome == "skipped"


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello " * 1000)
    with pytest.raises(CheckpointError, match="does not work"):
        SQLiteStore(tmp_path / "text")
    with pytest.raises(CheckpointError, match="does not work"):
        SQLiteStore(tmp_path / "no" / "folder")


def test_many_outcomes_share_a_commit(store: SQLiteStore, backend: str) -> None:
    builder = PipelineBuilder()
    for number in range(500):
        builder.independent(returning(number), name=f"s{number}")
    report = builder.build().run_sync(store=store, backend=backend)
    assert report.ok
    store.close()
    kept = store.load(report.run_id)
    assert kept is not None
    assert (kept[0].done, kept[0].state, kept[0].outcome) == (500, "ended", "succeeded")


KILLED = """
    import os, signal, sys, anyio
    from toolpath.orchestrator import PipelineBuilder, SQLiteStore

    def note(name):
        with open(sys.argv[2], "a") as log:
            log.write(name + "\\n")

    def step(name):
        async def run():
            note(name)
            if name == sys.argv[3]:
                os.kill(os.getpid(), signal.SIGKILL)
            return name
        return run

    builder = PipelineBuilder("killed")
    for number in range(20):
        builder.then(step(f"s{number}"), name=f"s{number}")
    pipeline, store = builder.build(), SQLiteStore(sys.argv[1])
    if sys.argv[4] == "run":
        anyio.run(lambda: pipeline.run(store=store, run_id="r1"))
    else:
        report = anyio.run(lambda: pipeline.resume("r1", store=store))
        print(report.outcome)
"""


@pytest.mark.parametrize("victim", ["s0", "s7", "s19"])
def test_a_killed_process_loses_no_committed_step(tmp_path: Path, victim: str) -> None:
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(KILLED))
    log, database = tmp_path / "log", tmp_path / "runs.sqlite"

    def launch(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(script), str(database), str(log), *arguments], capture_output=True, text=True
        )

    assert launch(victim, "run").returncode == -9
    done = launch("", "resume")
    assert done.stdout.strip() == "succeeded", done.stderr
    ran = log.read_text().split()
    assert sorted(set(ran)) == sorted(f"s{number}" for number in range(20))
    assert [name for name in set(ran) if ran.count(name) > 1] == [victim]


def test_a_run_of_a_living_process_is_not_taken_from_it(store: SQLiteStore, backend: str, tmp_path: Path) -> None:
    pipeline = PipelineBuilder().step(returning(1), name="s").build()
    run_id = pipeline.run_sync(store=store, backend=backend).run_id
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        with sqlite3.connect(tmp_path / "runs.sqlite") as db:
            db.execute("UPDATE runs SET state='running', owner = replace(owner, ?, ?)", (f":{_pid()}", f":{other.pid}"))
        try:
            with pytest.raises(CheckpointError, match="stop that process first"):
                resume(pipeline, run_id, store, backend)
        finally:
            other.kill()
    assert resume(pipeline, run_id, store, backend).ok


def _pid() -> int:
    import os

    return os.getpid()


def test_records_are_json_and_readable_by_others(store: SQLiteStore, tmp_path: Path) -> None:
    PipelineBuilder().step(returning({"ü": (1, 2)}), name="s").build().run_sync(store=store, run_id="r")
    store.close()
    with sqlite3.connect(tmp_path / "runs.sqlite") as db:
        (value,) = db.execute("SELECT value FROM steps WHERE step = 's'").fetchone()
    assert json.loads(value) == {"ü": {"$": "tuple", "v": [1, 2]}}


def test_failures_of_a_pipeline_inside_are_tried_again_when_that_is_asked_for(
    noted: Noted, store: SQLiteStore, backend: str
) -> None:
    inner = noted.pipeline({"x": [], "y": ["x"]})
    pipeline = PipelineBuilder().step(inner, name="sub").build()
    noted.bad.add("y")
    first = pipeline.run_sync(store=store, backend=backend)
    noted.bad.clear()
    noted.ran.clear()
    assert not resume(pipeline, first.run_id, store, backend).ok
    assert resume(pipeline, first.run_id, store, backend, retry_failed=True).ok
    assert noted.ran == ["y"]


def test_an_interrupted_kept_run_undoes_nothing_and_a_failed_one_does_it_all_again(
    noted: Noted, store: SQLiteStore, backend: str
) -> None:
    undone: list[str] = []
    builder = PipelineBuilder().step(noted.step("book"), name="book", undo=undone.append)
    builder.then(noted.step("pay"), name="pay", policy=FAIL_FAST)
    pipeline = builder.build()
    noted.hang.add("pay")
    run_id = cut_off(pipeline, store, backend)
    assert undone == []
    noted.hang.clear()
    noted.bad.add("pay")
    failed = resume(pipeline, run_id, store, backend)
    assert undone == ["book"]
    assert (failed["book"].restored, failed["book"].undone) == (True, "")
    noted.bad.clear()
    noted.ran.clear()
    assert resume(pipeline, run_id, store, backend, retry_failed=True).ok
    assert noted.ran == ["book", "pay"]


def test_memory_does_not_grow_with_the_number_of_kept_steps(store: SQLiteStore, backend: str) -> None:
    size = 50_000

    async def make(before: bytes | None = None) -> bytes:
        return bytes(size)

    builder = PipelineBuilder().step(make, name="s0", bind={"before": None})
    for number in range(1, 600):
        builder.step(make, name=f"s{number}", bind={"before": ref(f"s{number - 1}")})
    pipeline = builder.build()
    tracemalloc.start()
    try:
        report = pipeline.run_sync(store=store, keep="leaves", backend=backend)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert report.ok
    assert peak < 100 * size  # of 600 outputs
