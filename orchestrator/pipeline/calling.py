"""One attempt of one level: what it is called with, its timeouts, and how each kind of target is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_process

from ...catalog import Degraded, ToolCall, ToolError
from .. import threads
from ..context import Place, RunOf, place_now
from ..loop import in_loop_from_anywhere, loop_clock
from ..runtime import CallContext, Runtime, classify
from ..runtime.shaping import to_json_like
from .outcomes import Missing, StepOutcome
from .policies import Timeout
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
        attempts: how many attempts have begun.
    """

    level: Level | None = None
    history: list[Attempt] = field(default_factory=list)
    inner: RunReport | None = None
    item: int | None = None
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a step needs from its run.

    Attributes:
        run: the run itself.
        values: outputs by step index.
        inputs: the run's inputs.
        runtime: runs tool calls.
        now: seconds since the run's start.
        place: where the run is.
    """

    run: RunOf
    values: list[Any]
    inputs: Mapping[str, Any]
    runtime: Runtime
    now: Callable[[], float]
    place: Place


async def attempt(step: CompiledStep, level: Level, around: Surroundings, served: Served, item: Any) -> Any:
    """Calls a level once, notes in `served` how it went, and returns its answer.

    Raises:
        Exception: of the level, or a `StepTimeoutError`.
    """
    started = around.now()
    served.attempts += 1
    error: Exception | None = None
    ended = False
    place = Place("step", step.name, around.place, around.run, item=served.item, attempt=served.attempts)
    token = place_now.set(place)
    left: list[object] = []
    try:
        arguments = level.arguments(around.values, around.inputs)
        if level.each:
            arguments[level.each] = item
        call = _call(step, level, arguments, around, served)
        if level.kind is not Kind.ASYNC:  # an async function waits for its threads itself
            call = _noticing(call, left)
        answer = await (call if step.timeout is None else _in_time(call, step.timeout, level, place, left))
        ended = True
        return answer
    except Exception as failure:
        error, ended = failure, True
        raise
    finally:
        place_now.reset(token)
        info = None if error is None else classify(error)
        elapsed = around.now() - started
        served.history.append(
            Attempt(level.name, started, elapsed, info, not ended, served.item, still_running=bool(left))
        )


async def _noticing(call: Awaitable[Any], left: list[object]) -> Any:
    """Awaits a call and adds the threads that it left to themselves to `left`."""
    with threads.noticing() as noticed:
        try:
            return await call
        finally:
            left += noticed


async def _in_time(call: Awaitable[Any], within: Timeout, level: Level, place: Place, left: list[object]) -> Any:
    """Awaits a call and ends it when the timeout says so. Each scope costs; most steps have one.

    Raises:
        StepTimeoutError: it did.
    """
    if within.idle is not None:
        call = _alive(call, within.idle, level, place, left)
    if within.seconds is None:
        return await call
    with anyio.move_on_after(within.seconds):
        return await call
    raise StepTimeoutError(f"{level.name} did not end within {within.seconds:g} s{threads.still_running(left)}")


async def _alive(call: Awaitable[Any], idle: float, level: Level, place: Place, left: list[object]) -> Any:
    """Awaits a call and ends it when it gives no sign of life for so many seconds.

    Raises:
        StepTimeoutError: it gave none.
    """
    clock, in_loop = loop_clock(), in_loop_from_anywhere()
    with anyio.move_on_after(idle) as quiet:

        def alive() -> None:
            quiet.deadline = clock() + idle

        place.beat = functools.partial(in_loop, alive)
        return await call
    raise StepTimeoutError(f"{level.name} gave no sign of life for {idle:g} s{threads.still_running(left)}")


async def _call(
    step: CompiledStep, level: Level, arguments: dict[str, Any], around: Surroundings, served: Served
) -> Any:
    if level.kind is Kind.TOOL:
        return await _call_tool(step, level, arguments, around, served.item)
    if level.kind is Kind.CONSTANT:
        return level.value
    if level.kind is Kind.STALE:
        tool, max_age = level.value
        return await around.runtime.stale(tool, _for_tool(level, arguments), max_age)
    if level.kind is Kind.PIPELINE:
        return await _run_inner(step, level, arguments, around, served)
    assert level.call is not None  # functions have one
    if level.kind is Kind.PROCESS:
        return await _in_process(level.call, arguments)
    if level.kind is Kind.ASYNC:
        return await level.call(**arguments)
    returned = await threads.run_in_thread(level.call, **arguments)
    return await returned if inspect.isawaitable(returned) else returned


async def _in_process(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Calls a function in a worker process, which is killed when the wait is cancelled."""
    return await anyio.to_process.run_sync(functools.partial(function, **arguments), cancellable=True)


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


async def _call_tool(
    step: CompiledStep, level: Level, arguments: dict[str, Any], around: Surroundings, item: int | None
) -> Any:
    shaped = _for_tool(level, arguments)
    caller = f"{around.run.run_id}:{step.name}" + ("" if item is None else f":{item}")
    call = ToolCall(tool=level.value, arguments=shaped, call_id=f"{caller}:{level.name}")
    result = await around.runtime.call(call, CallContext(caller=caller, step=step.name, stack=(step.name, level.name)))
    data = result.unwrap()
    return Degraded(data, result.note, result.confidence) if result.degraded else data


def _for_tool(level: Level, arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments as a tool takes them: JSON-like, and without what is missing."""
    shaped: dict[str, Any] = {}
    for name, value in arguments.items():
        if not isinstance(value, Missing):
            shaped[name] = to_json_like(value, what=f"the argument {name!r} of {level.name}")
        elif name not in level.optional:
            why = f"nothing came from step {value.step!r}: {value.reason}"
            raise ToolError(f"{level.name} cannot run without {name!r}", "validation_error", fields={name: why})
    return shaped
