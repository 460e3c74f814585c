"""Runs a pipeline: a ready queue over step indexes, and workers that are reused and grow only while workers wait.

A worker takes a ready step and awaits it right there. Before it does, and when more steps are ready, it sees to it
that one more worker is on its way; that worker does the same. So ten thousand sleeping steps all sleep at once,
while steps that never wait are done one after the other by the first worker, without a task for each.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel

from ..runtime import Runtime
from .attempts import Served, Surroundings, perform
from .ledger import Keep, Ledger
from .mapping import ItemOf, Mapped, items_of
from .outcomes import Effect, FallbackPolicy, StepOutcome, combine
from .report import RunReport, StepReports
from .steps import CompiledStep

MAX_PARKED = 64
"""Idle workers kept for reuse; more than these end when they have nothing to do."""

YIELD_SECONDS = 0.005
YIELD_STEPS = 64
"""A worker whose steps never wait lets the event loop run after so many seconds or steps, so that timeouts,
cancellation and other tasks keep their turn."""


class Run:
    """One run of a pipeline. `execute` it once; `report` may be asked for at any time, `cancel` from the loop's thread.

    Args:
        name: the pipeline's name.
        steps: compiled steps in topological order.
        inputs: checked run inputs.
        runtime: runs tool calls.
        policy: the run's failure policy, for the report.
        limit: steps that run at the same time, at most; None: no limit.
        timeout: seconds for the whole run; None: no limit.
        keep: which outputs the report holds; see `Ledger`.
        edges: (dependency, dependant) pairs of step names, for the report.
        unused_inputs: for the report.
    """

    def __init__(
        self,
        name: str,
        steps: tuple[CompiledStep, ...],
        inputs: Mapping[str, Any],
        *,
        runtime: Runtime,
        policy: FallbackPolicy,
        limit: int | None = None,
        timeout: float | None = None,
        keep: Keep = "all",
        edges: tuple[tuple[str, str], ...] = (),
        unused_inputs: tuple[str, ...] = (),
    ) -> None:
        self.run_id = uuid.uuid4().hex[:12]
        self.name = name
        self._steps = steps
        self._inputs = inputs
        self._runtime = runtime
        self._policy = policy
        self._limit = limit
        self._timeout = timeout
        self._edges = edges
        self._unused = unused_inputs
        self._ledger = Ledger(steps, keep)
        self._around = Surroundings(self.run_id, self._ledger.values, inputs, runtime, self._now)
        # the workers
        self._tasks: anyio.abc.TaskGroup | None = None
        self._workers = 0
        self._standby = False
        self._parked: list[anyio.Event] = []
        # the run itself
        self._context = contextvars.copy_context()
        self._clock: Callable[[], float] = lambda: 0.0
        self._origin = 0.0
        self._deadline = float("inf")
        self._elapsed: float | None = None
        self._scope: anyio.CancelScope | None = None
        self._begun = False
        self._stopped: tuple[StepOutcome, str, str] | None = None

    async def execute(self) -> RunReport:
        """Runs all steps and returns the report.

        Failures of steps are in the report. Cancellation from outside passes through.

        Raises:
            RuntimeError: the run was executed before.
        """
        if self._begun:
            raise RuntimeError("a run is executed once: prepare another one")
        self._begun = True
        self._clock = _loop_clock()
        self._context = contextvars.copy_context()
        self._origin = self._clock()
        if self._timeout is not None:
            self._deadline = self._origin + self._timeout
        try:
            with anyio.CancelScope(deadline=self._deadline) as self._scope:
                if self._stopped is not None:  # cancelled before it began
                    self._scope.cancel()
                await anyio.lowlevel.checkpoint()
                async with anyio.create_task_group() as self._tasks:
                    self._summon()
        except BaseExceptionGroup as group:
            raise _sole_exception(group) from None
        finally:
            self._end()
        return self.report()

    def cancel(self, reason: str = "the run was cancelled") -> None:
        """Ends the run: nothing new starts, running steps are cancelled."""
        self._stop(StepOutcome.CANCELLED, "", reason)

    def report(self) -> RunReport:
        """What came of the run so far.

        While it is under way, steps without an outcome yet are left out, and `outcome` speaks of the others only.
        """
        ledger = self._ledger
        over = self._elapsed is not None
        ended = {step.name: step for step in self._steps if ledger.outcomes[step.index] is not None}
        make = functools.partial(ledger.report, origin=self._origin)
        steps = StepReports(ended, make) if over else {name: make(step) for name, step in ended.items()}
        outcomes = {outcome for outcome in ledger.outcomes if outcome is not None}
        return RunReport(
            run_id=self.run_id,
            pipeline=self.name,
            outcome=combine(outcomes) if self._stopped is None else self._stopped[0],
            steps=steps,
            edges=self._edges if over else tuple(edge for edge in self._edges if steps.keys() >= {*edge}),
            elapsed=self._now() if self._elapsed is None else self._elapsed,
            policy=self._policy,
            reason=self._stopped[2] if self._stopped is not None else "" if over else "the run is not over",
            unused_inputs=self._unused,
        )

    def _now(self) -> float:
        """Seconds since the run's start."""
        return self._clock() - self._origin

    def _stop(self, outcome: StepOutcome, because: str, reason: str) -> None:
        if self._stopped is None and self._elapsed is None:
            self._stopped = outcome, because, reason
            if self._scope is not None:
                self._scope.cancel()

    def _end(self) -> None:
        """Closes the books, whatever ended the run."""
        self._elapsed = self._now()
        if not self._ledger.remaining:
            return
        if self._stopped is None:
            if self._scope is not None and self._scope.cancelled_caught:
                limit = f"the run's limit of {self._timeout:g} s was reached"
                self._stopped = StepOutcome.TIMED_OUT, "", limit
            else:
                self._stopped = StepOutcome.CANCELLED, "", "the run was cancelled from outside"
        outcome, because, reason = self._stopped
        cut = StepOutcome.TIMED_OUT if outcome is StepOutcome.TIMED_OUT else StepOutcome.CANCELLED
        self._ledger.settle(cut, because, reason, self._clock())

    def _summon(self) -> None:
        """Sees to it that one more worker is on its way, if there may be one more."""
        if self._parked:
            self._standby = True
            self._parked.pop().set()
        elif self._limit is None or self._workers < self._limit:
            self._standby = True
            self._workers += 1
            assert self._tasks is not None  # workers exist only inside execute()
            self._context.copy().run(self._tasks.start_soon, self._work)  # not in what the last step left behind

    async def _work(self) -> None:
        """Does ready steps until none is left or the run has stopped."""
        ledger, clock = self._ledger, self._clock
        ready, steps = ledger.ready, self._steps
        self._standby = False
        yielded, since = clock(), 0
        while ledger.remaining and self._stopped is None:
            if not ready:
                if len(self._parked) >= MAX_PARKED:
                    break
                event = anyio.Event()
                self._parked.append(event)
                await event.wait()
                self._standby = False
                yielded, since = clock(), 0
                continue
            now = clock()
            if since >= YIELD_STEPS or now - yielded > YIELD_SECONDS or now >= self._deadline:
                await anyio.lowlevel.checkpoint()  # a deadline or a cancellation strikes here
                yielded, since = clock(), 0
                continue
            entry = ready.popleft()
            if ready and not self._standby:
                self._summon()
            since += 1
            if entry.__class__ is int:
                ledger.started[entry] = now
                await self._do(steps[entry])
                spoilt = ledger.outcomes[entry] is StepOutcome.CANCELLED
            else:
                spoilt = await self._do_item(entry)
            if spoilt or not _same(contextvars.copy_context(), self._context):
                break  # the step has left traces in this task, its own cancellation or context: a fresh one goes on
        self._workers -= 1
        if not ledger.remaining or self._stopped is not None:
            for event in self._parked:
                event.set()
            self._parked.clear()
        elif ready and not self._standby:
            self._summon()

    async def _do(self, step: CompiledStep) -> None:
        """Runs one step to its outcome; only a cancellation of the run, or what is no `Exception`, passes through."""
        ledger = self._ledger
        try:
            if step.plain:
                level = step.levels[0]
                value = await level.call(**level.arguments(ledger.values, self._inputs))  # type: ignore[misc]
            elif step.condition is not None and not await step.condition.holds(ledger.values, self._inputs):
                ledger.skip(step, f"its condition does not hold: {step.condition.text}", self._clock())
                return
            elif step.spread is not None:
                given = step.spread.over.get(ledger.values, self._inputs)
                mapped = Mapped(step, step.spread, items_of(given, step.name))
                ledger.maps[step.index] = mapped
                if mapped.count:
                    ledger.ready.extend(mapped.first())
                    return
                value = mapped.result()
            else:
                served = ledger.served[step.index] = Served()
                value = await perform(step, self._around, served)
        except Exception as error:  # noqa: BLE001 - a step's failure is data; the policies decide what it means
            self._failed(step, error)
        except anyio.get_cancelled_exc_class() as error:
            await anyio.lowlevel.checkpoint_if_cancelled()  # raises when it is the run that is being cancelled
            self._failed(step, _CancelledInsideError(error), StepOutcome.CANCELLED)
        else:
            ledger.succeed(step, value, self._clock())

    async def _do_item(self, entry: ItemOf) -> bool:
        """Runs one item of a map step, and then sees to the next one or to the step's outcome.

        Returns:
            Whether the item has left its own cancellation behind in this task.
        """
        mapped, position = entry
        spoilt = False
        scope = mapped.scope()
        if scope is None:
            spoilt = await self._try_item(mapped, position)
        else:
            with scope:
                spoilt = await self._try_item(mapped, position)
            mapped.left(scope)
            if scope.cancelled_caught:
                mapped.cancelled(position)
        following = mapped.following()
        if following is not None:
            self._ledger.ready.append(following)
        elif mapped.done:
            self._end_map(mapped)
        return spoilt

    async def _try_item(self, mapped: Mapped, position: int) -> bool:
        step, item, ledger = mapped.step, mapped.items[position], self._ledger
        try:
            if mapped.plain:
                level = step.levels[0]
                arguments = level.arguments(ledger.values, self._inputs)
                arguments[level.each] = item
                answer = await level.call(**arguments)  # type: ignore[misc]
            else:
                served = Served(item=position)
                try:
                    answer = await perform(step, self._around, served, item)
                finally:
                    ledger.served.setdefault(step.index, Served()).history += served.history
                if served.level is not step.levels[0] and served.level is not None:
                    mapped.degraded(served.level.confidence)
        except Exception as error:  # noqa: BLE001 - an item's failure is data; the map's policy decides what it means
            mapped.failed(position, error)
        except anyio.get_cancelled_exc_class() as error:
            await anyio.lowlevel.checkpoint_if_cancelled()  # raises when the run or the map is being cancelled
            mapped.failed(position, _CancelledInsideError(error), StepOutcome.CANCELLED)
            return True
        else:
            mapped.succeeded(position, answer)
        return False

    def _end_map(self, mapped: Mapped) -> None:
        try:
            answers = mapped.result()
        except Exception as error:  # noqa: BLE001 - as in a step
            self._failed(mapped.step, error)
        else:
            self._ledger.succeed(mapped.step, answers, self._clock())

    def _failed(self, step: CompiledStep, error: Exception, outcome: StepOutcome = StepOutcome.FAILED) -> None:
        if self._ledger.fail(step, error, self._clock(), outcome) is Effect.STOP:
            self._stop(StepOutcome.FAILED, step.name, f"step {step.name!r} failed, and its policy is fail_fast")


class _CancelledInsideError(Exception):
    """A step ended with the event loop's cancellation although nobody cancelled the run."""

    def __init__(self, cancelled: BaseException) -> None:
        super().__init__("something that the step waited for was cancelled")
        self.__cause__ = cancelled


def _same(one: contextvars.Context, other: contextvars.Context) -> bool:
    """Whether two contexts hold the same values. Fast when neither was changed: they share their storage then."""
    try:
        return one == other
    except Exception:  # noqa: BLE001 - values that refuse to be compared count as changed
        return False


def _loop_clock() -> Callable[[], float]:
    """The running loop's own clock, so that virtual time in tests rules here too."""
    loop = anyio.lowlevel.current_token().native_token
    return loop.time if isinstance(loop, asyncio.AbstractEventLoop) else anyio.current_time


def _sole_exception(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What is inside a group of one (Ctrl-C in a step, say); a group of several stays a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
