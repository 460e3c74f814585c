"""Random pipelines that are killed with SIGKILL at random moments, and resumed until they are done.

    python -m tests.support.chaos COUNT [FIRST_SEED]

For each seed: what was committed when the process died does not run again, and in the end every outcome and value is
what a run without any kill gives. Prints the seeds that fail, and leaves with 1.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from toolpath.catalog import ToolError
from toolpath.orchestrator import (
    FallbackPolicy,
    Pipeline,
    PipelineBuilder,
    Retry,
    RunReport,
    SQLiteStore,
    at_least,
    constant,
    current_step,
    ref,
)

RUN_ID = "chaos"
MOST_KILLS = 3

Step = Callable[..., Any]


class Plan:
    """The pipeline of one seed.

    Args:
        seed: the same seed, the same pipeline and outcomes.
        note: told the idempotency key of each call.
    """

    def __init__(self, seed: int, note: Callable[[str], None]) -> None:
        self._random = random.Random(seed)
        self._note = note

    def pipeline(self, name: str = "p", most: int = 14, depth: int = 0) -> Pipeline:
        """Builds it."""
        draw = self._random
        builder = PipelineBuilder(name)
        names: list[str] = []
        for number in range(draw.randint(1, most)):
            step = f"{name}_{number}"
            deps = draw.sample(names, min(len(names), draw.choice([0, 1, 1, 2, 3])))
            self._add(builder, step, deps, depth)
            names.append(step)
        if draw.random() < 0.3:
            builder.with_limit(draw.choice([1, 2, 5]))
        return builder.build()

    def _add(self, builder: PipelineBuilder, step: str, deps: list[str], depth: int) -> None:
        draw = self._random
        policy = draw.choice([None, None, FallbackPolicy.CONTINUE_WITH_PARTIAL])
        bind = {"inputs": [ref(dep) for dep in deps]}
        kind = draw.choice(["plain", "plain", "thread", "flaky", "fallback", "map", "when", "join", "inner"])
        options: dict[str, Any] = {"name": step, "deps": deps, "policy": policy}
        if kind == "map":
            items = list(range(draw.randint(0, 6)))
            builder.map(self._item(), items, each="item", limit=draw.choice([None, 1, 2]), **options)
        elif kind == "join" and deps:
            rule = draw.choice(["all_done", "any", at_least(len(deps))])
            builder.join(self._body(0.0), rule=rule, bind={"inputs": []}, **options)
        elif kind == "inner" and depth < 2:
            builder.step(self._inner(step, depth), **options)
        elif kind == "flaky":
            builder.step(self._body(0.1, fails_first=True), bind=bind, retry=Retry(backoff=0.001), **options)
        elif kind == "fallback":
            builder.step(self._body(0.6), bind=bind, fallback=[constant("second-best")], **options)
        elif kind == "when":
            holds = draw.random() < 0.6
            builder.step(self._body(0.1), bind=bind, when=lambda: holds, **options)
        else:
            builder.step(self._body(0.15, threaded=kind == "thread"), bind=bind, **options)

    def _inner(self, step: str, depth: int) -> Pipeline:
        return self.pipeline(f"{step}i", most=4, depth=depth + 1)

    def _item(self) -> Step:
        pause, bad = self._random.random() * 0.004, self._random.random() < 0.2

        async def item_step(item: int) -> Any:
            self._told()
            await anyio.sleep(pause)
            if bad and item == 1:
                raise ValueError("a bad item")
            return (item, item * item)

        return item_step

    def _body(self, failing: float, *, fails_first: bool = False, threaded: bool = False) -> Step:
        fails, pause = self._random.random() < failing, self._random.random() * 0.006
        mark = self._random.randrange(1000)

        def ends(inputs: list[Any]) -> Any:
            here = current_step()
            assert here is not None
            if fails_first and here.attempt == 1:
                raise ConnectionError("not yet")
            if fails:
                raise ToolError(f"fails with {mark}", "not_found")
            return {"mark": mark, "from": tuple(str(one) for one in inputs)}

        async def body(inputs: list[Any]) -> Any:
            self._told()
            await anyio.sleep(pause)
            return ends(inputs)

        def in_thread(inputs: list[Any]) -> Any:
            self._told()
            time.sleep(pause)
            return ends(inputs)

        return in_thread if threaded else body

    def _told(self) -> None:
        here = current_step()
        assert here is not None
        self._note(here.idempotency_key)


def result_of(report: RunReport) -> dict[str, Any]:
    """What must be the same with and without kills."""
    return {step.name: (str(step.outcome), step.value, step.degraded) for step in report}


def _child(seed: int, folder: Path, backend: str) -> None:
    """Runs or resumes, writes down what came of it, and ends the process."""
    log = os.open(folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    pipeline = Plan(seed, lambda key: os.write(log, f"{key}\n".encode()) and None).pipeline()
    store = SQLiteStore(folder / "runs.sqlite")

    async def go() -> RunReport:
        if store.load(RUN_ID) is None:
            return await pipeline.run(store=store, run_id=RUN_ID)
        return await pipeline.resume(RUN_ID, store=store)

    report = anyio.run(go, backend=backend)
    (folder / "result").write_bytes(pickle.dumps(result_of(report)))


def _forked(seed: int, folder: Path, backend: str, after: float | None) -> int:
    """Does that in a child, kills it after so many seconds, and returns its exit code, negative for a signal."""
    pid = os.fork()
    if not pid:
        code = 70
        try:
            _child(seed, folder, backend)
            code = 0
        finally:
            os._exit(code)
    if after is not None:
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _committed(folder: Path) -> list[str]:
    """Keys of the steps and items that succeeded, and of those of the outer run that ended otherwise."""
    try:
        with sqlite3.connect(folder / "runs.sqlite") as db:
            rows = db.execute("SELECT run_id, step, item, outcome FROM steps").fetchall()
    except sqlite3.OperationalError:  # killed before there were tables
        return []
    return [
        f"{run}:{step}" + ("" if item < 0 else f":{item}")
        for run, step, item, outcome in rows
        if outcome == "succeeded" or (run == RUN_ID and outcome != "started")
    ]


def faults_of(seed: int, folder: Path) -> list[str]:
    """Kills and resumes the pipeline of a seed, and returns what went wrong."""
    draw = random.Random(f"kills {seed}")
    backend = draw.choice(["asyncio", "trio"])
    wanted = result_of(anyio.run(Plan(seed, lambda key: None).pipeline().run))
    (folder / "log").touch()
    faults: list[str] = []
    done: list[tuple[int, list[str]]] = []
    for _ in range(draw.randint(1, MOST_KILLS)):
        _forked(seed, folder, backend, draw.random() ** 2 * 0.12)
        done.append((len((folder / "log").read_text().split()), _committed(folder)))
    code = _forked(seed, folder, backend, None)
    if code:
        return [f"the last run left with {code}"]
    calls = (folder / "log").read_text().split()
    for position, keys in done:
        repeated = {call for call in calls[position:] for key in keys if call == key or call.startswith(f"{key}:")}
        faults += [f"{call} ran again after its outcome was committed" for call in sorted(repeated)]
    got = pickle.loads((folder / "result").read_bytes())
    faults += [f"{step}: {got.get(step)} instead of {wanted[step]}" for step in wanted if got.get(step) != wanted[step]]
    return faults


def main(count: int, first: int) -> int:
    """Tries that many seeds and returns the exit code."""
    bad = 0
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            faults = faults_of(seed, Path(folder))
        bad += bool(faults)
        for fault in faults[:5]:
            sys.stdout.write(f"seed {seed}: {fault}\n")
    sys.stdout.write(f"{count} random pipelines were killed and resumed; {bad} failed\n")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
