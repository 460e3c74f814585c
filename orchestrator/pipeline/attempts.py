"""One step with its policies: attempts with timeouts, retries with backoff, then the fallback chain."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from ...catalog import Degraded, ErrorInfo, Permission, SideEffect, ToolCall, ToolError
from .. import threads
from ..runtime import CallContext, Runtime, classify
from ..runtime.shaping import to_json_like
from .outcomes import Missing, StepOutcome
from .policies import NO_RETRY, Retry
from .report import Attempt, RunReport
from .steps import CompiledStep, Form, Kind, Level


class StepTimeoutError(TimeoutError):
    """Raised when an attempt did not end within the step's timeout."""


@dataclass(slots=True)
class Served:
    """How a step with policies went; filled while it runs, so that a cancelled step has its history too.

    Attributes:
        level: what is being tried, in the end what served, or what was tried last.
        history: every attempt so far.
        inner: for a pipeline as a step: the report of its last run.
        item: for a map step: the position of the item that this is about.
    """

    level: Level | None = None
    history: list[Attempt] = field(default_factory=list)
    inner: RunReport | None = None
    item: int | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a step needs from its run.

    Attributes:
        run_id: the run's id.
        values: outputs by step index.
        inputs: the run's inputs.
        runtime: runs tool calls.
        now: seconds since the run's start.
    """

    run_id: str
    values: list[Any]
    inputs: Mapping[str, Any]
    runtime: Runtime
    now: Callable[[], float]


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
    retry = step.retry if level.kind is not Kind.CONSTANT and _may_repeat(level, around.runtime) else NO_RETRY
    began = around.now()
    try:
        return await _attempt(step, level, around, served, item)
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

    known_failures = [failure]

    async def attempt() -> Any:
        if known_failures:  # tenacity's first attempt is the one that has failed already
            raise known_failures.pop()
        return await _attempt(step, level, around, served, item)

    again = AsyncRetrying(
        sleep=anyio.sleep,
        stop=stop,
        wait=wait,
        retry=retry_if_exception(lambda error: isinstance(error, Exception) and retry.on(classify(error))),
        reraise=True,
    )
    return await again(attempt)


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


async def _attempt(step: CompiledStep, level: Level, around: Surroundings, served: Served, item: Any) -> Any:
    started = around.now()
    error: Exception | None = None
    ended = False
    try:
        arguments = level.arguments(around.values, around.inputs)
        if level.each:
            arguments[level.each] = item
        if step.timeout is None:
            answer = await _call(step, level, arguments, around, served)
        else:
            with threads.noticing() as left, anyio.move_on_after(step.timeout) as scope:
                answer = await _call(step, level, arguments, around, served)
            if scope.cancelled_caught:
                late = threads.still_running(left)
                raise StepTimeoutError(f"{level.name} did not end within {step.timeout:g} s{late}")
        ended = True
        return answer
    except Exception as failure:
        error, ended = failure, True
        raise
    finally:
        info = None if error is None else classify(error)
        tried = Attempt(level.name, started, around.now() - started, info, not ended, served.item)
        served.history.append(tried)


async def _call(
    step: CompiledStep, level: Level, arguments: dict[str, Any], around: Surroundings, served: Served
) -> Any:
    if level.kind is Kind.TOOL:
        return await _call_tool(step, level, arguments, around)
    if level.kind is Kind.CONSTANT:
        return level.value
    if level.kind is Kind.PIPELINE:
        return await _run_inner(step, level, arguments, around, served)
    assert level.call is not None  # functions have one
    if level.kind is Kind.ASYNC:
        return await level.call(**arguments)
    returned = await threads.run_in_thread(level.call, **arguments)
    return await returned if inspect.isawaitable(returned) else returned


async def _run_inner(
    step: CompiledStep, level: Level, arguments: dict[str, Any], around: Surroundings, served: Served
) -> Any:
    """A pipeline as a step: the outputs of its leaves, or of its only one.

    What is not there although the inner run has not succeeded is a failure; what is there nevertheless is degraded.
    """
    report = await level.value.run_within(arguments)
    if step.form is Form.CHAIN:
        served.inner = report
    leaves = level.value.leaves
    outputs = report.outputs
    if not report.ok and len(outputs) < len(leaves):
        report.raise_for_failure()
    answer = next(iter(outputs.values()), None) if len(leaves) == 1 else outputs
    if report.ok and not report.degraded:
        return answer
    poor = [one.name for one in report if one.degraded or one.outcome in (StepOutcome.FAILED, StepOutcome.TIMED_OUT)]
    confidence = min((one.confidence for one in report if one.name in outputs), default=1.0)
    return Degraded(answer, f"in {level.name}: {', '.join(poor)}", confidence)


async def _call_tool(step: CompiledStep, level: Level, arguments: dict[str, Any], around: Surroundings) -> Any:
    shaped: dict[str, Any] = {}
    for name, value in arguments.items():
        if not isinstance(value, Missing):
            shaped[name] = to_json_like(value, what=f"the argument {name!r} of {level.name}")
        elif name not in level.optional:
            why = f"nothing came from step {value.step!r}: {value.reason}"
            raise ToolError(f"{level.name} cannot run without {name!r}", "validation_error", fields={name: why})
    caller = f"{around.run_id}:{step.name}"
    call = ToolCall(tool=level.value, arguments=shaped, call_id=f"{caller}:{level.name}")
    result = await around.runtime.call(call, CallContext(caller=caller, step=step.name, stack=(step.name, level.name)))
    data = result.unwrap()
    return Degraded(data, result.note, result.confidence) if result.degraded else data
