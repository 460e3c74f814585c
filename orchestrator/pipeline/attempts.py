"""One step with its policies: attempts with timeouts, retries with backoff, then the fallback chain."""

from __future__ import annotations

from typing import Any

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from ...catalog import ErrorInfo, Permission, SideEffect
from ..events import EventKind
from ..runtime import Runtime, classify
from .calling import Served, Surroundings, attempt
from .policies import NO_RETRY, Retry
from .steps import CompiledStep, Form, Kind, Level


async def perform(step: CompiledStep, around: Surroundings, served: Served, item: Any = None) -> Any:
    """Runs a step with all its policies and returns the answer; `served` says how it went.

    Args:
        step: the step.
        around: its run.
        served: filled while it runs.
        item: for a map step: what this call is for.

    Raises:
        Exception: of the step's own target, when no level served.
    """
    if step.form is Form.RACE:
        return await _race(step, around, served)
    first_error: Exception | None = None
    info: ErrorInfo | None = None
    try:
        for level in step.levels:
            if info is not None and not level.accepts(info):
                continue
            if served.level is not None:
                around.run.tell(EventKind.FALLBACK, step.name, item=served.item, level=level.name, error=info)
            served.level = level
            try:
                return await _try_level(step, level, around, served, item)
            except Exception as error:  # noqa: BLE001 - the chain decides; the first error is raised at its end
                first_error = error if first_error is None else first_error
                info = classify(error)
        assert first_error is not None  # a step has at least one level, and nothing bars the first
        raise first_error
    finally:
        del first_error  # no circle of frame and traceback, which would keep what the step has seen alive


async def _race(step: CompiledStep, around: Surroundings, served: Served) -> Any:
    """All levels at once, or each `stagger` seconds after the one before or as soon as that has failed."""
    errors: dict[int, Exception] = {}
    answers: list[Any] = []
    failed = [anyio.Event() for _ in step.levels]

    async def enter(position: int, level: Level) -> None:
        if position and step.stagger:
            with anyio.move_on_after(step.stagger * position):
                for event in failed[:position]:
                    await event.wait()
        try:
            answer = await _try_level(step, level, around, served, None)
        except Exception as error:  # noqa: BLE001 - another one may win; the first level's error is raised at the end
            errors[position] = error
            failed[position].set()
            return
        if not answers:
            answers.append(answer)
            served.level = level
            racing.cancel_scope.cancel()

    async with anyio.create_task_group() as racing:
        for position, level in enumerate(step.levels):
            racing.start_soon(enter, position, level)
    if answers:
        return answers[0]
    served.level = step.levels[0]
    raise errors[0]


async def _try_level(step: CompiledStep, level: Level, around: Surroundings, served: Served, item: Any) -> Any:
    """One level, tried as often as the step's `Retry` allows. tenacity is entered only after a first failure."""
    repeatable = _may_repeat(level, around.runtime)
    retry = step.retry if level.kind is not Kind.CONSTANT and repeatable else NO_RETRY
    if not repeatable and around.run.journal is not None:
        around.run.journal.check_known(step.name, served.item)
        await around.run.journal.started(step.name, served.item)
    began = around.now()
    try:
        return await attempt(step, level, around, served, item)
    except Exception as error:
        if retry.attempts == 1 or not retry.on(classify(error)):
            raise
        return await _try_again(step, level, around, served, item, retry, began, error)


async def _try_again(
    step: CompiledStep,
    level: Level,
    around: Surroundings,
    served: Served,
    item: Any,
    retry: Retry,
    began: float,
    failure: Exception,
) -> Any:
    def wait(state: RetryCallState) -> float:
        return retry.wait(state.attempt_number, classify(_error_of(state)).retry_after)

    def stop(state: RetryCallState) -> bool:
        too_late = retry.deadline is not None and around.now() + state.upcoming_sleep - began >= retry.deadline
        return state.attempt_number >= retry.attempts or too_late

    def told(state: RetryCallState) -> None:
        around.run.tell(
            EventKind.RETRYING,
            step.name,
            item=served.item,
            level=level.name,
            attempt=state.attempt_number + 1,
            wait=state.upcoming_sleep,
            error=classify(_error_of(state)),
        )

    known_failures = [failure]

    async def once_more() -> Any:
        if known_failures:  # tenacity's first attempt is the one that has failed already
            raise known_failures.pop()
        return await attempt(step, level, around, served, item)

    again = AsyncRetrying(
        sleep=anyio.sleep,
        stop=stop,
        wait=wait,
        retry=retry_if_exception(lambda error: isinstance(error, Exception) and retry.on(classify(error))),
        before_sleep=told,
        reraise=True,
    )
    return await again(once_more)


def _error_of(state: RetryCallState) -> BaseException:
    error = state.outcome.exception() if state.outcome is not None else None
    assert error is not None  # tenacity asks for a wait only after a failure
    return error


def _may_repeat(level: Level, runtime: Runtime) -> bool:
    """Whether trying again is safe: not for a tool that is said to have a side effect or not to be idempotent."""
    tool = runtime.catalog.find(level.value) if level.kind is Kind.TOOL else None
    if tool is None or tool.idempotent is not None:
        return tool is None or tool.idempotent is True
    harmless = tool.side_effect in (None, SideEffect.NONE, SideEffect.COMPUTE)
    return harmless and tool.permission not in (Permission.LOW_RISK_WRITE, Permission.HIGH_RISK_WRITE)
