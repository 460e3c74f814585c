"""The circuit breaker: when it opens, what it lets through, and who hears of it."""

from __future__ import annotations

import pytest
from toolpath.catalog import ErrorInfo, ToolCall, ToolError
from toolpath.orchestrator import (
    CircuitBreaker,
    Event,
    EventKind,
    PipelineBuilder,
    Retry,
    Runtime,
    ToolStates,
    constant,
)
from toolpath.orchestrator.runtime.breaker import Breaker, BreakerState

from tests.orchestrator.building import Counted, catalog_of, make_tool

pytestmark = pytest.mark.anyio

POLICY = CircuitBreaker(failure_rate=0.5, min_calls=4, window=60, open_for=30)
SICK = ErrorInfo(error_type="unavailable", message="down")
WRONG = ErrorInfo(error_type="validation_error", message="no such field")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker("search", POLICY, clock)


def record(breaker: Breaker, *errors: ErrorInfo | None) -> list[BreakerState | None]:
    states = []
    for error in errors:
        breaker.admit()
        states.append(breaker.record(error))
    return states


async def test_it_opens_when_enough_calls_failed_and_says_until_when(breaker: Breaker, clock: Clock) -> None:
    assert record(breaker, SICK, None, SICK, None) == [None, None, None, None]
    assert record(breaker, SICK) == [BreakerState.OPEN]
    clock.now = 10
    with pytest.raises(ToolError, match="circuit breaker is open") as refused:
        breaker.admit()
    assert (refused.value.info.error_type, refused.value.info.retry_after) == ("unavailable", 20)


async def test_a_few_failures_say_nothing(breaker: Breaker) -> None:
    record(breaker, SICK, SICK, SICK)
    assert breaker.state is BreakerState.CLOSED


async def test_wrong_arguments_are_not_the_tools_fault(breaker: Breaker) -> None:
    record(breaker, *[WRONG] * 100)
    assert breaker.state is BreakerState.CLOSED


async def test_failures_of_long_ago_are_forgotten(breaker: Breaker, clock: Clock) -> None:
    record(breaker, SICK, SICK, SICK)
    clock.now = 61
    record(breaker, SICK, None, None)
    assert breaker.state is BreakerState.CLOSED


async def test_after_the_pause_one_call_tries_and_closes_it(breaker: Breaker, clock: Clock) -> None:
    record(breaker, SICK, SICK, SICK, SICK)
    clock.now = 30
    assert breaker.admit()
    with pytest.raises(ToolError, match="half open"):
        breaker.admit()
    assert breaker.record(None) is BreakerState.CLOSED
    assert not breaker.admit()


async def test_a_trial_that_fails_opens_it_again_for_as_long(breaker: Breaker, clock: Clock) -> None:
    record(breaker, SICK, SICK, SICK, SICK)
    clock.now = 30
    breaker.admit()
    assert breaker.record(SICK) is BreakerState.OPEN
    clock.now = 59
    with pytest.raises(ToolError):
        breaker.admit()
    clock.now = 60
    assert breaker.admit()


async def test_a_trial_that_was_cancelled_lets_another_one_try(breaker: Breaker, clock: Clock) -> None:
    record(breaker, SICK, SICK, SICK, SICK)
    clock.now = 30
    breaker.admit()
    breaker.left()
    breaker.admit()
    assert breaker.record(None) is BreakerState.CLOSED


async def test_runs_share_it_a_fallback_serves_meanwhile_and_watchers_hear_of_it() -> None:
    def down() -> None:
        raise ConnectionError("down")

    handler, clock, events = Counted(down), Clock(), list[Event]()
    states = ToolStates(clock)
    catalog = catalog_of(make_tool("search", handler))

    async def run() -> object:
        runtime = Runtime(catalog, breaker=POLICY, states=states)
        once = Retry(attempts=1)
        pipeline = PipelineBuilder(runtime=runtime).step("search", retry=once, fallback=[constant("old")]).build()
        return (await pipeline.run(on_event=events.append)).value("search")

    assert [await run() for _ in range(7)] == ["old"] * 7
    assert len(handler.calls) == 4
    assert states.breakers() == {"search": "open"}
    handler.function = lambda: "new"
    clock.now = 31
    assert await run() == "new"
    told = [event.message for event in events if event.kind is EventKind.BREAKER]
    assert told == ["search: open", "search: half open", "search: closed"]


async def test_tools_of_one_name_from_different_places_do_not_share_it() -> None:
    def down() -> None:
        raise ConnectionError("down")

    async def up() -> str:
        return "up"

    runtimes = [Runtime(catalog_of(make_tool("search", handler)), breaker=POLICY) for handler in (down, up)]
    for _ in range(6):
        await runtimes[0].call(ToolCall(tool="search"))
    assert (await runtimes[1].call(ToolCall(tool="search"))).ok


async def test_without_a_policy_every_call_is_made() -> None:
    def down() -> None:
        raise ConnectionError("down")

    handler = Counted(down)
    runtime = Runtime(catalog_of(make_tool("search", handler)), breaker=None)
    for _ in range(30):
        await runtime.call(ToolCall(tool="search"))
    assert len(handler.calls) == 30


@pytest.mark.parametrize(
    "wrong", [{"failure_rate": 0}, {"failure_rate": 1.1}, {"min_calls": 0}, {"window": 0}, {"open_for": -1}]
)
async def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        CircuitBreaker(**wrong)  # type: ignore[arg-type]


async def test_while_it_is_open_the_fallback_serves_without_any_wait() -> None:
    def down() -> None:
        raise ConnectionError("down")

    runtime = Runtime(catalog_of(make_tool("search", down)), breaker=CircuitBreaker(min_calls=1))
    builder = PipelineBuilder(runtime=runtime).step("search", retry=Retry(attempts=1), fallback=[constant("old")])
    await builder.build().run()
    patient = PipelineBuilder(runtime=runtime).step("search", retry=Retry(attempts=5), fallback=[constant("old")])
    report = await patient.build().run()
    assert report.value("search") == "old"
    assert report.elapsed == 0
    assert report["search"].history[0].error is not None
    assert report["search"].history[0].error.retry_after == pytest.approx(30, abs=1)
