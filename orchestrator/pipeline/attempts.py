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
from .outcomes import Missing
from .policies import NO_RETRY, Retry
from .report import Attempt
from .steps import CompiledStep, Kind, Level


class StepTimeoutError(TimeoutError):
    """Raised when an attempt did not end within the step's timeout."""


@dataclass(slots=True)
class Served:
    """How a step with policies went; filled while it runs, so that a cancelled step has its history too.

    Attributes:
        level: what is being tried, in the end what served, or what was tried last.
        history: every attempt so far.
    """

    level: Level | None = None
    history: list[Attempt] = field(default_factory=list)


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


def arguments_for(level: Level, values: list[Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a level, from the outputs and inputs there are; an optional input not given is left out."""
    arguments: dict[str, Any] = {}
    for name, source in level.bindings:
        try:
            arguments[name] = source.get(values, inputs)
        except KeyError:
            if name not in level.optional:
                raise
    return arguments


async def perform(step: CompiledStep, around: Surroundings, served: Served) -> Any:
    """Runs a step with all its policies and returns the answer; `served` says how it went.

    Raises:
        Exception: of the step's own target, when no level served.
    """
    first_error: Exception | None = None
    info: ErrorInfo | None = None
    try:
        for level in step.levels:
            if info is not None and not level.accepts(info):
                continue
            served.level = level
            try:
                return await _try_level(step, level, around, served)
            except Exception as error:  # noqa: BLE001 - the chain decides; the first error is raised at its end
                first_error = error if first_error is None else first_error
                info = classify(error)
        assert first_error is not None  # a step has at least one level, and nothing bars the first
        raise first_error
    finally:
        del first_error  # no circle of frame and traceback, which would keep what the step has seen alive


async def _try_level(step: CompiledStep, level: Level, around: Surroundings, served: Served) -> Any:
    """One level, tried as often as the step's `Retry` allows. tenacity is entered only after a first failure."""
    retry = step.retry if level.kind is not Kind.CONSTANT and _may_repeat(level, around.runtime) else NO_RETRY
    began = around.now()
    try:
        return await _attempt(step, level, around, served)
    except Exception as error:
        if retry.attempts == 1 or not retry.on(classify(error)):
            raise
        return await _try_again(step, level, around, served, retry, began, error)


async def _try_again(
    step: CompiledStep,
    level: Level,
    around: Surroundings,
    served: Served,
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
        return await _attempt(step, level, around, served)

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


async def _attempt(step: CompiledStep, level: Level, around: Surroundings, served: Served) -> Any:
    started = around.now()
    error: Exception | None = None
    try:
        arguments = arguments_for(level, around.values, around.inputs)
        if step.timeout is None:
            return await _call(step, level, arguments, around)
        with threads.noticing() as left, anyio.move_on_after(step.timeout) as scope:
            return await _call(step, level, arguments, around)
        if scope.cancelled_caught:
            raise StepTimeoutError(f"{level.name} did not end within {step.timeout:g} s{threads.still_running(left)}")
    except Exception as failure:
        error = failure
        raise
    finally:
        info = None if error is None else classify(error)
        served.history.append(Attempt(level.name, started, around.now() - started, info))


async def _call(step: CompiledStep, level: Level, arguments: dict[str, Any], around: Surroundings) -> Any:
    if level.kind is Kind.TOOL:
        return await _call_tool(step, level, arguments, around)
    if level.kind is Kind.CONSTANT:
        return level.value
    assert level.call is not None  # functions have one
    if level.kind is Kind.ASYNC:
        return await level.call(**arguments)
    returned = await threads.run_in_thread(level.call, **arguments)
    return await returned if inspect.isawaitable(returned) else returned


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
