"""Trying again: when, how long after, how often, and for what."""

from __future__ import annotations

import asyncio
import email.message
import urllib.error
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import Permission, SideEffect, ToolError
from toolpath.orchestrator import PipelineBuilder, Retry, Runtime
from toolpath.orchestrator.pipeline.policies import DEFAULT_RETRY

from tests.orchestrator.building import (
    CANCELLED,
    FAILED,
    SUCCEEDED,
    TIMED_OUT,
    Counted,
    catalog_of,
    make_tool,
    raising,
    returning,
    single,
)
from tests.support.virtual_time import run_virtually

pytestmark = pytest.mark.anyio

STEADY = Retry(jitter=0)
DOWN = ConnectionError("down")


class TooBusyError(Exception):
    """As HTTP libraries raise it for status 429."""

    status_code = 429

    def __init__(self, retry_after: str) -> None:
        super().__init__("too busy")
        self.headers = {"Retry-After": retry_after}


async def starts(step: Any, retry: Retry | None = None, **options: Any) -> list[float]:
    report = await single(step, retry=retry, **options).run()
    return [attempt.started for attempt in report["step"].history]


async def test_the_waits_are_one_two_and_four_seconds() -> None:
    assert await starts(raising(DOWN), Retry(attempts=4, jitter=0)) == pytest.approx([0, 1, 3, 7])


async def test_tools_are_tried_three_times_by_default_and_functions_once() -> None:
    tool = make_tool("fetch", raising(DOWN))
    report = await PipelineBuilder().then(tool).independent(raising(DOWN), name="function").build().run()
    assert report["fetch"].attempts == 3
    assert 3 <= report["fetch"].elapsed <= 3 + 2 * DEFAULT_RETRY.jitter
    assert report["function"].attempts == 1
    assert report["function"].elapsed == 0


async def test_success_after_failures_is_a_plain_success() -> None:
    report = await single(raising(DOWN, DOWN, then="up"), retry=STEADY).run()
    step = report["step"]
    assert (step.outcome, step.value, step.attempts, step.served_by) == (SUCCEEDED, "up", 3, "step")
    assert not step.degraded
    assert step.confidence == 1
    assert step.elapsed == pytest.approx(3)
    assert [attempt.error is None for attempt in step.history] == [False, False, True]


async def test_the_time_that_attempts_take_comes_on_top_of_the_waits() -> None:
    assert await starts(raising(DOWN, after=10), Retry(attempts=3, jitter=0)) == pytest.approx([0, 11, 23])


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        KeyError("x"),
        PermissionError("no"),
        RuntimeError("odd"),
        FileNotFoundError("gone"),
        ToolError("no order has that number", "not_found"),
        ToolError("loop", "loop_detected"),
        ToolError("gone for good", "tool_retired"),
    ],
)
async def test_only_transient_errors_are_tried_again(error: Exception) -> None:
    report = await single(raising(error), retry=Retry(attempts=5)).run()
    assert report["step"].attempts == 1
    assert report["step"].exception is error


@pytest.mark.parametrize(
    "error",
    [
        DOWN,
        TimeoutError("slow"),
        ToolError("busy", "rate_limited"),
        ToolError("down", "unavailable"),
        urllib.error.HTTPError("http://x", 503, "down", email.message.Message(), None),
        ExceptionGroup("group of a task group", [ExceptionGroup("inner", [DOWN])]),
    ],
)
async def test_transient_errors_of_every_kind_are_tried_again(error: Exception) -> None:
    report = await single(raising(error), retry=STEADY).run()
    assert report["step"].attempts == 3
    assert report["step"].exception is error


async def test_an_error_that_does_not_pass_ends_the_attempts() -> None:
    report = await single(raising(DOWN, ValueError("bad"), DOWN), retry=Retry(attempts=9)).run()
    assert report["step"].attempts == 2
    assert isinstance(report["step"].exception, ValueError)


async def test_which_errors_deserve_another_attempt_may_be_said() -> None:
    odd = Retry(attempts=4, jitter=0, on=lambda error: "odd" in error.message)
    assert len(await starts(raising(RuntimeError("odd")), odd)) == 4
    assert len(await starts(raising(DOWN), odd)) == 1


async def test_retry_after_is_honoured_when_it_is_longer() -> None:
    assert await starts(raising(TooBusyError("5")), STEADY) == pytest.approx([0, 5, 10])
    assert await starts(raising(TooBusyError("1")), STEADY) == pytest.approx([0, 1, 3])
    assert await starts(raising(TooBusyError("Wed, 21 Oct 2026 07:28:00 GMT")), STEADY) == pytest.approx([0, 1, 3])


async def test_retry_after_never_waits_longer_than_the_longest_wait() -> None:
    capped = Retry(attempts=2, jitter=0, max_backoff=8)
    assert await starts(raising(TooBusyError("86400")), capped) == pytest.approx([0, 8])
    assert await starts(raising(TooBusyError("9" * 400)), capped) == pytest.approx([0, 8])


async def test_no_attempt_starts_after_the_deadline() -> None:
    many = Retry(attempts=50, jitter=0, deadline=10)
    assert await starts(raising(DOWN), many) == pytest.approx([0, 1, 3, 7])
    assert await starts(raising(DOWN, after=4), many) == pytest.approx([0, 5])


async def test_the_deadline_counts_for_each_level_anew() -> None:
    report = await single(raising(DOWN), retry=Retry(attempts=9, jitter=0, deadline=4), fallback=[raising(DOWN)]).run()
    assert [attempt.started for attempt in report["step"].history] == pytest.approx([0, 1, 3, 3, 4, 6])


@pytest.mark.parametrize("side_effect", [SideEffect.WRITE, SideEffect.DELETE, SideEffect.SPEND, SideEffect.COMMUNICATE])
async def test_a_tool_with_a_side_effect_is_tried_again_only_if_it_is_idempotent(side_effect: SideEffect) -> None:
    for idempotent, attempts in ((None, 1), (False, 1), (True, 3)):
        tool = make_tool("act", raising(DOWN), side_effect=side_effect, idempotent=idempotent)
        report = await single(tool, retry=STEADY).run()
        assert report["step"].attempts == attempts


@pytest.mark.parametrize(
    ("fields", "attempts"),
    [
        ({"side_effect": SideEffect.NONE}, 3),
        ({"side_effect": SideEffect.COMPUTE}, 3),
        ({}, 3),
        ({"permission": Permission.SAFE_READ}, 3),
        ({"permission": Permission.LOW_RISK_WRITE}, 1),
        ({"permission": Permission.HIGH_RISK_WRITE}, 1),
        ({"idempotent": False}, 1),
        ({"permission": Permission.HIGH_RISK_WRITE, "idempotent": True}, 3),
    ],
)
async def test_what_else_makes_trying_again_safe(fields: dict[str, Any], attempts: int) -> None:
    report = await single(make_tool("act", raising(DOWN), **fields), retry=STEADY).run()
    assert report["step"].attempts == attempts


async def test_a_fallback_tool_with_a_side_effect_is_called_once() -> None:
    writer = make_tool("write", raising(DOWN), side_effect=SideEffect.WRITE)
    report = await single(raising(DOWN), retry=STEADY, fallback=[writer]).run()
    assert [attempt.level for attempt in report["step"].history] == ["step"] * 3 + ["write"]


async def test_every_call_starts_counting_anew() -> None:
    flaky = Counted(raising(DOWN, then="up"))
    pipeline = (
        PipelineBuilder()
        .independent(raising(DOWN, DOWN, then=1), name="a", retry=STEADY)
        .independent(raising(DOWN, DOWN, then=2), name="b", retry=STEADY)
        .independent(flaky, name="c", retry=STEADY)
        .build()
    )
    report = await pipeline.run()
    assert [step.attempts for step in report] == [3, 3, 3]
    again = await pipeline.run()
    assert [step.attempts for step in again] == [1, 1, 3]


async def test_cancellation_is_never_tried_again() -> None:
    step = Counted(returning(1, after=100))
    with anyio.move_on_after(5):
        await single(step, retry=Retry(attempts=9, on=lambda error: True), fallback=[returning("never")]).run()
    assert len(step.calls) == 1


def test_a_cancellation_that_nobody_asked_for_is_not_tried_again_either() -> None:
    step = Counted(raising(asyncio.CancelledError()))  # on trio, nothing but a scope can cancel
    pipeline = single(step, retry=Retry(attempts=9, on=lambda error: True), fallback=[returning("never")])
    report = run_virtually("asyncio", pipeline.run)
    assert report["step"].outcome is CANCELLED
    assert len(step.calls) == 1
    assert report["step"].attempts == 1


async def test_a_run_cancelled_during_a_wait_ends_at_once_with_its_history() -> None:
    run = single(raising(DOWN), retry=Retry(attempts=9, backoff=1000, max_backoff=1000)).prepare()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run.execute)
        await anyio.sleep(5)
        run.cancel()
    step = run.report()["step"]
    assert (step.outcome, step.attempts, step.elapsed) == (CANCELLED, 1, pytest.approx(5))


async def test_retries_end_as_timed_out_when_the_last_error_is_a_timeout() -> None:
    report = await single(returning(1, after=100), retry=STEADY, timeout=2).run()
    step = report["step"]
    assert step.outcome is TIMED_OUT
    assert [attempt.started for attempt in step.history] == pytest.approx([0, 3, 7])
    assert step.elapsed == pytest.approx(9)
    assert isinstance(step.exception, TimeoutError)


async def test_retries_of_a_step_are_no_loop() -> None:
    tool = make_tool("fetch", raising(*[DOWN] * 5, then="up"))
    runtime = Runtime(catalog_of(tool))
    report = await PipelineBuilder(runtime=runtime).then("fetch", retry=Retry(attempts=9, jitter=0)).build().run()
    assert report.value("fetch") == "up"
    assert report["fetch"].attempts == 6


async def test_sync_functions_are_tried_again_too() -> None:
    left = [DOWN, DOWN]

    def fetch() -> str:
        if left:
            raise left.pop()
        return "up"

    report = await single(fetch, retry=STEADY).run()
    assert report.value("step") == "up"
    assert report["step"].elapsed == pytest.approx(3)


async def test_an_exception_that_is_false_is_still_an_exception() -> None:
    class EmptyError(Exception):
        def __bool__(self) -> bool:
            return False

    first = EmptyError("empty")
    report = await single(raising(first), fallback=[raising(ValueError("second"))]).run()
    assert report["step"].outcome is FAILED
    assert report["step"].exception is first


@given(st.integers(1, 40), st.floats(0, 1))
def test_chance_adds_at_most_the_jitter(failures: int, chance: float) -> None:
    retry = Retry(backoff=1, factor=2, max_backoff=1e9, jitter=0.5)
    plain = 2.0 ** (failures - 1)
    assert retry.wait(failures, chance=lambda: chance) == pytest.approx(min(1e9, plain + 0.5 * chance))


def test_a_wait_never_exceeds_the_longest_one() -> None:
    retry = Retry(max_backoff=30, jitter=5)
    assert retry.wait(10_000, chance=lambda: 1.0) == 30
    assert retry.wait(1, retry_after=1e9) == 30
    assert retry.wait(1, retry_after=2, chance=lambda: 0.0) == 2


@pytest.mark.parametrize(
    "numbers",
    [
        {"attempts": 0},
        {"backoff": -1},
        {"max_backoff": -1},
        {"jitter": -0.1},
        {"factor": 0.5},
        {"deadline": 0},
        {"backoff": float("nan")},
        {"deadline": float("nan")},
    ],
)
def test_numbers_out_of_range_are_refused(numbers: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        Retry(**numbers)
