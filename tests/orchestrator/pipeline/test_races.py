"""The first success wins, and the others are cancelled."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from toolpath.catalog.errors import BindingError
from toolpath.orchestrator import PipelineBuilder, Retry, StepOutcome

from tests.orchestrator.building import raising, returning
from tests.support.virtual_time import Gate

pytestmark = pytest.mark.anyio

DOWN = ConnectionError("down")


def named(name: str, step: Any) -> Any:
    step.__name__ = name
    return step


async def test_the_first_success_wins_and_the_others_are_cancelled() -> None:
    ended: list[str] = []

    async def slow() -> str:
        try:
            await anyio.sleep(60)
        finally:
            ended.append("slow")
        return "slow"

    report = await PipelineBuilder().race([slow, named("fast", returning("fast", after=2))], name="race").build().run()
    step = report["race"]
    assert (step.value, step.served_by) == ("fast", "fast")
    assert ended == ["slow"], "its cleanup ran"
    assert report.elapsed == pytest.approx(2)
    assert {attempt.level: attempt.cancelled for attempt in step.history} == {"slow": True, "fast": False}
    assert not step.degraded, "whoever wins is as good as the others"


async def test_a_failure_does_not_end_the_race() -> None:
    builder = PipelineBuilder().race([named("a", raising(DOWN)), named("b", returning(1, after=3))], name="race")
    report = await builder.build().run()
    assert (report.value("race"), report["race"].served_by) == (1, "b")


async def test_when_all_fail_the_first_one_s_error_is_kept() -> None:
    builder = PipelineBuilder().race(
        [named("a", raising(DOWN, after=3)), named("b", raising(ValueError("bad")))], name="race"
    )
    report = await builder.build().run()
    assert report["race"].outcome is StepOutcome.FAILED
    assert "down" in report["race"].error.message  # type: ignore[union-attr]
    with pytest.raises(ConnectionError, match="down"):
        report.raise_for_failure()


async def test_a_staggered_race_asks_the_second_only_when_the_first_is_late_or_has_failed() -> None:
    asked: list[str] = []

    def runner(name: str, after: float, *, fails: bool = False) -> Any:
        async def step() -> str:
            asked.append(name)
            await anyio.sleep(after)
            if fails:
                raise DOWN
            return name

        return named(name, step)

    async def winner(*targets: Any) -> tuple[Any, float]:
        report = await PipelineBuilder().race(targets, name="race", stagger=5).build().run()
        return report.value("race"), report.elapsed

    assert await winner(runner("a", 3), runner("b", 1)) == ("a", pytest.approx(3))
    assert asked == ["a"]
    assert await winner(runner("a", 30), runner("b", 1)) == ("b", pytest.approx(6))
    assert await winner(runner("a", 1, fails=True), runner("b", 1)) == ("b", pytest.approx(2))


async def test_each_runner_has_the_step_s_retry_and_timeout() -> None:
    builder = PipelineBuilder().race(
        [named("a", raising(DOWN, then="a")), named("b", returning("b", after=99))],
        name="race",
        retry=Retry(attempts=2, backoff=1, jitter=0),
        timeout=10,
    )
    report = await builder.build().run()
    assert report["race"].outcome is StepOutcome.FAILED
    assert len([attempt for attempt in report["race"].history if attempt.level == "b"]) == 2


async def test_a_cancelled_run_cancels_the_whole_race() -> None:
    builder = PipelineBuilder().race([named("a", returning(1, after=99)), named("b", returning(1, after=99))], name="r")
    report = await builder.with_timeout(5).build().run()
    assert report["r"].outcome in (StepOutcome.CANCELLED, StepOutcome.TIMED_OUT)
    assert report.elapsed == pytest.approx(5)


def test_a_race_without_anyone_or_with_a_fallback_is_refused() -> None:
    with pytest.raises(BindingError, match="someone to race"):
        PipelineBuilder().race([], name="race")
    with pytest.raises(BindingError, match="all of them are its targets"):
        PipelineBuilder().race([returning(1)], name="race", fallback=[returning(2)])
    with pytest.raises(ValueError, match="stagger"):
        PipelineBuilder().race([returning(1)], name="race", stagger=-1)


async def test_a_loser_whose_thread_goes_on_is_said_to() -> None:
    gate = Gate()
    report = await PipelineBuilder().race([returning("quick", after=1), gate.wait], name="r").build().run()
    gate.open()
    assert report.value("r") == "quick"
    losers = [attempt for attempt in report["r"].history if attempt.cancelled]
    assert [attempt.still_running for attempt in losers] == [True]
    assert report["r"].to_dict()["history"][-1]["still_running"] or report["r"].to_dict()["history"][0]["still_running"]
