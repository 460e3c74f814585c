"""Time limits: of an attempt, of a tool, of a whole run."""

from __future__ import annotations

import anyio
import pytest
from toolpath.orchestrator import PipelineBuilder, Retry, Timeout, heartbeat

from tests.orchestrator.building import (
    PARTIAL,
    SKIPPED,
    SUCCEEDED,
    TIMED_OUT,
    graph,
    make_tool,
    outcomes,
    returning,
    single,
)
from tests.support.virtual_time import Gate

pytestmark = pytest.mark.anyio

ONCE = Retry(attempts=1)


async def test_a_step_that_takes_too_long_times_out_and_the_run_goes_on() -> None:
    builder = PipelineBuilder().independent(returning(1, after=100), name="slow", timeout=5)
    builder.then(returning(2), name="after", deps=["slow"]).independent(returning(3, after=7), name="other")
    report = await builder.build().run()
    assert outcomes(report) == {"slow": "timed_out", "other": "succeeded", "after": "skipped"}
    assert report["slow"].elapsed == pytest.approx(5)
    assert report["slow"].error is not None
    assert report["slow"].error.message == "step did not end within 5 s"
    assert report["after"].reason == "step 'slow' timed out"
    assert report.outcome is TIMED_OUT
    assert report.elapsed == pytest.approx(7)


async def test_a_step_that_ends_in_time_is_left_alone() -> None:
    report = await single(returning(1, after=4.999), timeout=5).run()
    assert report.value("step") == 1


async def test_a_thread_that_takes_too_long_is_left_behind_and_said_to_run_still() -> None:
    gate = Gate()
    builder = PipelineBuilder().independent(gate.wait, name="stuck", timeout=5)
    builder.independent(returning("done", after=20), name="other")
    report = await builder.build().run()
    gate.open()
    assert report["stuck"].outcome is TIMED_OUT
    assert report["stuck"].error is not None
    assert report["stuck"].error.message == "wait did not end within 5 s; its thread is still running"
    assert report.value("other") == "done"
    assert report["stuck"].elapsed == pytest.approx(5)


async def test_a_sync_step_that_ends_in_time_is_no_timeout() -> None:
    assert (await single(lambda: sum(range(100_000)), timeout=0.001).run()).ok


async def test_an_awaitable_of_a_sync_function_that_takes_too_long_leaves_no_thread() -> None:
    report = await single(lambda: returning(1, after=100)(), timeout=5).run()
    assert report["step"].error is not None
    assert report["step"].error.message == "<lambda> did not end within 5 s"


async def test_a_tool_keeps_its_own_timeout() -> None:
    gate = Gate()
    quick = make_tool("async_tool", returning(1, after=100), timeout=3)
    stuck = make_tool("sync_tool", gate.wait, timeout=4)
    report = await PipelineBuilder().parallel([quick, stuck], retry=ONCE).build().run()
    gate.open()
    messages = {step.name: step.error.message for step in report if step.error is not None}
    assert messages == {
        "async_tool": "async_tool did not answer within 3 s",
        "sync_tool": "sync_tool did not answer within 4 s; its thread is still running",
    }
    assert {step.outcome for step in report} == {TIMED_OUT}


async def test_the_shorter_of_the_steps_and_the_tools_timeout_counts() -> None:
    gate = Gate()
    tool = make_tool("stuck", gate.wait, timeout=50)
    report = await single(tool, retry=ONCE, timeout=2).run()
    gate.open()
    step = report["step"]
    assert step.outcome is TIMED_OUT
    assert step.elapsed == pytest.approx(2)
    assert step.error is not None
    assert step.error.message == "stuck did not end within 2 s; its thread is still running"


async def test_the_time_limit_of_a_run_ends_it_and_keeps_what_there_is() -> None:
    builder = graph(
        {"quick": [], "slow": [], "after": ["slow"], "late": ["quick"]},
        {"quick": returning(1, after=1), "slow": returning(2, after=100), "late": returning(3, after=50)},
    )
    report = await builder.with_timeout(10).build().run()
    assert outcomes(report) == {"quick": "succeeded", "slow": "timed_out", "after": "skipped", "late": "timed_out"}
    assert report.outcome is TIMED_OUT
    assert report.partial
    assert report.reason == "the run's limit of 10 s was reached"
    assert report["after"].reason == report["slow"].reason == report.reason
    assert report.elapsed == pytest.approx(10)
    assert report["late"].elapsed == pytest.approx(9)


async def test_a_runs_own_limit_comes_before_the_pipelines() -> None:
    pipeline = PipelineBuilder().then(returning(1, after=5), name="step").with_timeout(1).build()
    assert (await pipeline.run()).outcome is TIMED_OUT
    assert (await pipeline.run(timeout=10)).outcome is SUCCEEDED


async def test_nothing_starts_after_the_limit_even_when_no_step_ever_waits() -> None:
    clock = {"steps": 0}

    async def busy() -> None:
        clock["steps"] += 1
        if clock["steps"] == 10:
            await anyio.sleep(5)

    builder = PipelineBuilder().with_limit(1)
    for number in range(1000):
        builder.independent(busy, name=f"s{number}")
    report = await builder.build().run(timeout=5)
    assert clock["steps"] == 10
    assert report.outcome is TIMED_OUT
    assert sum(step.outcome is SKIPPED for step in report) == 990


async def test_a_run_that_ends_exactly_when_its_limit_strikes_has_one_clear_outcome() -> None:
    report = await single(returning(1, after=5)).run(timeout=5)
    assert report.outcome in (SUCCEEDED, TIMED_OUT)
    assert (report.outcome is SUCCEEDED) == (report["step"].outcome is SUCCEEDED)


async def test_a_step_that_swallows_its_timeout_counts_as_it_ended() -> None:
    async def stubborn() -> str:
        try:
            await anyio.sleep(100)
        except anyio.get_cancelled_exc_class():
            return "in time after all"
        return "never"

    report = await single(stubborn, timeout=5).run()
    assert report["step"].outcome is SUCCEEDED
    assert report.value("step") == "in time after all"


async def test_a_timed_out_dependency_is_missing_under_continue_with_partial() -> None:
    async def use(slow: object) -> str:
        return f"{slow.outcome}: {slow.reason}"  # type: ignore[attr-defined]

    builder = PipelineBuilder().independent(returning(1, after=9), name="slow", timeout=1, policy=PARTIAL)
    report = await builder.then(use, deps=["slow"]).build().run()
    assert report.value("use") == "timed_out: step did not end within 1 s"


async def test_a_timeout_error_of_the_step_itself_counts_as_timed_out() -> None:
    async def fetch() -> None:
        with anyio.fail_after(3):
            await anyio.sleep(100)

    report = await single(fetch).run()
    assert report["step"].outcome is TIMED_OUT
    assert type(report["step"].exception) is TimeoutError


async def test_hung_threads_do_not_starve_the_others() -> None:
    gate = Gate()
    builder = PipelineBuilder()
    for number in range(60):
        builder.independent(gate.wait, name=f"stuck{number}", timeout=1)
    builder.independent(returning(1, after=2), name="later")
    builder.then(lambda: "ran", name="sync", deps=["later"])
    report = await builder.build().run()
    gate.open()
    assert report.value("sync") == "ran"
    assert report["sync"].elapsed == 0


async def test_a_step_that_gives_no_sign_of_life_is_ended_and_one_that_does_is_not() -> None:
    async def works(rounds: int, every: float) -> str:
        for _ in range(rounds):
            await anyio.sleep(every)
            heartbeat()
        return "done"

    builder = PipelineBuilder().step(works, name="alive", bind={"rounds": 10, "every": 4}, timeout=Timeout(idle=5))
    builder.step(works, name="silent", bind={"rounds": 10, "every": 6}, timeout=Timeout(100, idle=5))
    builder.step(works, name="long", bind={"rounds": 100, "every": 4}, timeout=Timeout(50, idle=5))
    report = await builder.build().run()
    assert report.value("alive") == "done"
    assert report["silent"].outcome is TIMED_OUT
    assert report["silent"].error is not None
    assert report["silent"].error.message == "works gave no sign of life for 5 s"
    assert report["silent"].elapsed == pytest.approx(5)
    assert report["long"].error is not None
    assert report["long"].error.message == "works did not end within 50 s"


async def test_the_steps_of_a_pipeline_inside_are_signs_of_life() -> None:
    inner = PipelineBuilder("inner").then(returning(1, after=4), name="x").then(returning(2, after=4), name="y")
    inner.then(returning(3, after=4), name="z")
    report = await single(inner.build(), timeout=Timeout(idle=5)).run()
    assert report.ok
    assert report.elapsed == pytest.approx(12)


async def test_a_thread_shows_that_it_is_alive() -> None:
    def busy() -> str:
        for _ in range(100):
            heartbeat()
        return "done"

    assert (await single(busy, timeout=Timeout(idle=5)).run()).value("step") == "done"


@pytest.mark.parametrize(("seconds", "idle"), [(None, None), (0, None), (1, -1), (float("nan"), None)])
async def test_a_timeout_that_makes_no_sense_is_refused(seconds: float | None, idle: float | None) -> None:
    with pytest.raises(ValueError, match="timeout|Timeout"):
        Timeout(seconds, idle)
