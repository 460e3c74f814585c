"""When steps start: as soon as they may, never sooner, and never more at once than allowed."""

from __future__ import annotations

import contextvars
import time
from typing import Any

import anyio
import pytest
from toolpath.orchestrator import PipelineBuilder, RunReport

from tests.orchestrator.building import CANCELLED, SUCCEEDED, graph, outcomes, returning, single
from tests.support.virtual_time import run_virtually

pytestmark = pytest.mark.anyio

_colour: contextvars.ContextVar[str] = contextvars.ContextVar("_colour", default="none")


def most_at_once(report: RunReport) -> int:
    """The largest number of steps that ran at the same time."""
    moments = [(step.started, 1) for step in report if step.started is not None]
    moments += [(step.started + step.elapsed, -1) for step in report if step.started is not None]
    running = most = 0
    for _, change in sorted(moments):
        running += change
        most = max(most, running)
    return most


async def test_there_are_no_barriers_the_run_takes_as_long_as_its_critical_path() -> None:
    seconds = {"a": 1, "b": 10, "a2": 20, "b2": 1, "a3": 1, "end": 2}
    edges = {"a": [], "b": [], "a2": ["a"], "b2": ["b"], "a3": ["a2"], "end": ["a3", "b2"]}
    report = await graph(edges, {name: returning(name, after=s) for name, s in seconds.items()}).build().run()
    assert report.elapsed == pytest.approx(1 + 20 + 1 + 2)
    assert report.critical_path == ("a", "a2", "a3", "end")
    started = {step.name: step.started for step in report}
    assert started == pytest.approx({"a": 0, "b": 0, "a2": 1, "b2": 10, "a3": 21, "end": 22})


async def test_a_slow_branch_holds_up_nothing_else() -> None:
    edges: dict[str, list[str]] = {"slow": [], "f0": []}
    edges |= {f"f{n}": [f"f{n - 1}"] for n in range(1, 50)}
    report = await graph(edges, {"slow": returning(1, after=1000), "f49": returning(1, after=1)}).build().run()
    assert report["f49"].started == 0
    assert report.elapsed == pytest.approx(1000)


async def test_ten_thousand_sleeping_steps_all_sleep_at_once() -> None:
    builder = PipelineBuilder()
    for number in range(10_000):
        builder.independent(returning(number, after=60), name=f"s{number}")
    report = await builder.build().run()
    assert report.ok
    assert report.elapsed == pytest.approx(60)
    assert most_at_once(report) == 10_000


async def test_steps_that_never_wait_need_few_tasks() -> None:
    tasks: set[int] = set()

    async def step() -> None:
        tasks.add(anyio.get_current_task().id)

    builder = PipelineBuilder()
    for number in range(3000):
        builder.independent(step, name=f"s{number}")
    report = await builder.build().run()
    assert report.ok
    assert len(tasks) <= 100


@pytest.mark.parametrize("limit", [1, 2, 7])
async def test_no_more_steps_run_at_once_than_the_limit(limit: int) -> None:
    builder = PipelineBuilder().with_limit(limit)
    for number in range(21):
        builder.independent(returning(number, after=1), name=f"s{number}")
    report = await builder.build().run()
    assert report.ok
    assert most_at_once(report) == limit
    assert report.elapsed == pytest.approx(-(-21 // limit))


@pytest.mark.parametrize("limit", [1, 2])
async def test_a_limit_counts_threads_and_waits_for_retries_too(limit: int) -> None:
    def work() -> int:
        return 1

    builder = PipelineBuilder().with_limit(limit)
    for number in range(6):
        builder.independent(work, name=f"t{number}", timeout=5)
        builder.independent(returning(1, after=1), name=f"s{number}", timeout=5)
    report = await builder.build().run()
    assert report.ok
    assert most_at_once(report) <= limit


async def test_a_limit_of_the_run_comes_before_the_pipelines() -> None:
    builder = PipelineBuilder().with_limit(1)
    for number in range(4):
        builder.independent(returning(1, after=1), name=f"s{number}")
    pipeline = builder.build()
    assert (await pipeline.run()).elapsed == pytest.approx(4)
    assert (await pipeline.run(limit=4)).elapsed == pytest.approx(1)


@pytest.mark.parametrize("limit", [1, 2, None])
async def test_a_step_may_run_another_pipeline(limit: int | None) -> None:
    inner = graph({"x": [], "y": ["x"]}, {"x": returning(1, after=1), "y": returning(2, after=1)}).build()

    async def outer() -> Any:
        return (await inner.run(limit=limit)).value("y")

    builder = PipelineBuilder()
    for number in range(4):
        builder.independent(outer, name=f"o{number}")
    report = await builder.build().run(limit=limit)
    assert [step.value for step in report] == [2] * 4
    assert report.elapsed == pytest.approx(2 * -(-4 // (limit or 4)))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_sync_step_may_run_another_pipeline_in_its_thread(backend: str) -> None:
    inner = single(returning("inside"))

    def outer() -> Any:
        return inner.run_sync(backend=backend).value("step")

    assert run_virtually(backend, single(outer).run, {}).value("step") == "inside"


async def test_one_pipeline_may_run_several_times_at_once() -> None:
    async def add(n: int) -> int:
        await anyio.sleep(10 - n)
        return n + 1

    async def double(add: int) -> int:
        return 2 * add

    pipeline = PipelineBuilder().then(add).then(double).build()
    reports: dict[int, RunReport] = {}

    async def run(n: int) -> None:
        reports[n] = await pipeline.run({"n": n})

    async with anyio.create_task_group() as tasks:
        for n in range(10):
            tasks.start_soon(run, n)
    assert {n: report.value("double") for n, report in reports.items()} == {n: 2 * (n + 1) for n in range(10)}
    assert len({report.run_id for report in reports.values()}) == 10


async def test_ready_steps_start_in_the_order_they_became_ready() -> None:
    order: list[str] = []

    def step(name: str) -> Any:
        async def run() -> None:
            order.append(name)
            await anyio.sleep(1)

        return run

    names = [f"s{number}" for number in range(20)]
    builder = PipelineBuilder().with_limit(1)
    for name in names:
        builder.independent(step(name), name=name)
    await builder.build().run()
    assert order == names


async def test_steps_that_never_wait_let_others_have_their_turn() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    builder = PipelineBuilder()
    for number in range(2000):
        builder.then(returning(1), name=f"s{number}")
    pipeline = builder.build()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(others)
        await pipeline.run()
        tasks.cancel_scope.cancel()
    assert turns >= 2000 / 64 - 2


@pytest.mark.parametrize("shape", ["async", "thread", "tool"])
async def test_context_variables_reach_every_kind_of_step(shape: str) -> None:
    from tests.orchestrator.building import make_tool

    async def read_async() -> str:
        return _colour.get()

    def read_sync() -> str:
        return _colour.get()

    step = {"async": read_async, "thread": read_sync, "tool": make_tool("read", read_sync)}[shape]
    _colour.set("blue")
    report = await single(step).run()
    assert report.value("step") == "blue"


@pytest.mark.parametrize("limit", [1, None])
async def test_what_a_step_sets_in_its_context_reaches_no_other_step(limit: int | None) -> None:
    async def write() -> None:
        _colour.set("red")

    async def read() -> str:
        return _colour.get()

    _colour.set("blue")
    builder = PipelineBuilder()
    for number in range(100):
        builder.then(write, name=f"w{number}").then(read, name=f"r{number}")
    report = await builder.build().run(limit=limit)
    assert {step.value for step in report if step.name.startswith("r")} == {"blue"}
    assert _colour.get() == "blue"


async def test_a_context_variable_whose_values_refuse_comparison_does_no_harm() -> None:
    class Awkward:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("do not compare me")

        __hash__ = None  # type: ignore[assignment]

    variable: contextvars.ContextVar[Any] = contextvars.ContextVar("variable", default=None)
    variable.set(Awkward())

    async def write() -> None:
        variable.set(Awkward())

    builder = PipelineBuilder()
    for number in range(5):
        builder.then(write, name=f"w{number}")
    assert (await builder.build().run(limit=1)).ok


def test_a_step_that_cancels_its_own_task_harms_no_other() -> None:
    import asyncio

    async def cancels_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)

    async def uses_a_task_group() -> str:
        async with asyncio.TaskGroup() as group:
            inner = group.create_task(asyncio.sleep(1, "fine"))
        async with asyncio.timeout(5):
            await asyncio.sleep(1)
        return await inner

    builder = PipelineBuilder()
    for number in range(5):
        builder.independent(cancels_itself, name=f"c{number}").independent(uses_a_task_group, name=f"g{number}")
    for limit in (1, None):
        report = run_virtually("asyncio", lambda limit=limit: builder.build().run(limit=limit))
        assert {step.outcome for step in report if step.name.startswith("c")} == {CANCELLED}
        assert {step.outcome for step in report if step.name.startswith("g")} == {SUCCEEDED}


def test_a_future_cancelled_under_a_step_cancels_only_that_step() -> None:
    import asyncio

    async def waits_for_a_cancelled_task() -> None:
        inner = asyncio.ensure_future(asyncio.sleep(100))
        asyncio.get_running_loop().call_later(1, inner.cancel)
        await inner

    builder = graph({"bad": [], "child": ["bad"], "other": []}, {"bad": waits_for_a_cancelled_task})
    report = run_virtually("asyncio", builder.build().run)
    assert outcomes(report) == {"bad": "cancelled", "child": "skipped", "other": "succeeded"}
    assert report.outcome is CANCELLED
    assert report["bad"].error is not None
    assert report["bad"].error.message.endswith("something that the step waited for was cancelled")
    assert report["child"].reason == "step 'bad' was cancelled"


async def test_a_run_of_a_thousand_steps_in_threads_ends() -> None:
    started = time.monotonic()
    builder = PipelineBuilder()
    for number in range(1000):
        builder.independent(lambda: 1, name=f"s{number}")
    report = await builder.build().run()
    assert report.ok
    assert time.monotonic() - started < 30
