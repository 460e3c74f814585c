"""Runs steps: a ready queue over step indexes, and workers that are reused and grow only while workers wait.

A worker takes a ready step and awaits it right there. Before it does, and when more steps are ready, it sees to it
that one more worker is on its way; that worker does the same. So ten thousand sleeping steps all sleep at once,
while steps that never wait are done one after the other by the first worker, without a task for each.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable

import anyio
import anyio.abc
import anyio.lowlevel

from ..context import Place, place_now
from ..events import EventKind
from .attempts import perform
from .calling import Served, Surroundings
from .journal import Journal
from .ledger import Ledger
from .mapping import ItemOf, Mapped, items_of
from .outcomes import Effect, StepOutcome
from .steps import CompiledStep

MAX_PARKED = 64
"""Idle workers kept for reuse; more than these end when they have nothing to do."""

YIELD_SECONDS = 0.005
YIELD_STEPS = 64
"""A worker whose steps never wait lets the event loop run after so many seconds or steps, so that timeouts,
cancellation and other tasks keep their turn."""


class Scheduler:
    """The workers of one run.

    Args:
        ledger: the run's books.
        around: what steps need from the run.
        limit: steps that run at the same time, at most; None: no limit.
        on_failure: called with a step whose failure ends the run.

    Attributes:
        stopped: whether nothing new is to start.
        watched: whether somebody wants to know of each step that starts.
        journal: writes outcomes down before others see them; None: nothing does.
    """

    def __init__(
        self,
        ledger: Ledger,
        around: Surroundings,
        limit: int | None,
        on_failure: Callable[[CompiledStep], None],
    ) -> None:
        self.stopped = False
        self.watched = False
        self.journal: Journal | None = None
        self._ledger = ledger
        self._around = around
        self._limit = limit
        self._on_failure = on_failure
        self._tasks: anyio.abc.TaskGroup | None = None
        self._workers = 0
        self._standby = False
        self._parked: list[anyio.Event] = []
        self._context = contextvars.copy_context()
        self._clock: Callable[[], float] = lambda: 0.0
        self._deadline = float("inf")

    async def run(self, clock: Callable[[], float], deadline: float) -> None:
        """Does all steps, until none is left or the run has stopped.

        Args:
            clock: the loop's time.
            deadline: on that clock; nothing starts after it.
        """
        self._clock = clock
        self._deadline = deadline
        self._context = contextvars.copy_context()
        async with anyio.create_task_group() as self._tasks:
            self._summon()

    def wake(self) -> None:
        """Looks at the books again, which somebody else has changed."""
        if self._tasks is None:
            return
        if not self._ledger.remaining or self.stopped:
            self._dismiss()
        elif self._ledger.ready and not self._standby:
            self._summon()

    def _dismiss(self) -> None:
        for event in self._parked:
            event.set()
        self._parked.clear()

    def _summon(self) -> None:
        """Sees to it that one more worker is on its way, if there may be one more."""
        if self._parked:
            self._standby = True
            self._parked.pop().set()
        elif self._limit is None or self._workers < self._limit:
            self._standby = True
            self._workers += 1
            assert self._tasks is not None  # workers exist only inside run()
            self._context.copy().run(self._tasks.start_soon, self._work)  # not in what the last step left behind

    async def _work(self) -> None:
        """Does ready steps until none is left or the run has stopped."""
        ledger, clock = self._ledger, self._clock
        ready, steps = ledger.ready, ledger.steps
        self._standby = False
        place = Place("step", "", self._around.place, self._around.run)
        place_now.set(place)
        mine = contextvars.copy_context()
        yielded, since = clock(), 0
        while ledger.remaining and not self.stopped:
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
                step = steps[entry]
                ledger.started[entry] = now
                place.name = step.name
                place.item = None
                await self._do(step)
                spoilt = ledger.outcomes[entry] is StepOutcome.CANCELLED
            else:
                place.name = entry.mapped.step.name
                place.item = entry.position
                spoilt = await self._do_item(entry)
            if spoilt or not _same(contextvars.copy_context(), mine):
                break  # the step has left traces in this task, its own cancellation or context: a fresh one goes on
        self._workers -= 1
        if not ledger.remaining or self.stopped:
            self._dismiss()
        elif (ready or not self._workers) and not self._standby:
            self._summon()

    async def _do(self, step: CompiledStep) -> None:
        """Runs one step to its outcome; only a cancellation of the run, or what is no `Exception`, passes through."""
        ledger, inputs, journal = self._ledger, self._around.inputs, self.journal
        try:
            if step.condition is not None and not await step.condition.holds(ledger.values, inputs):
                reason = f"its condition does not hold: {step.condition.text}"
                if journal is not None:
                    await journal.skipped(step, reason)
                ledger.skip(step, reason, self._clock())
                return
            if self.watched:
                self._around.run.tell(EventKind.STEP_STARTED, step.name)
            if step.plain:
                level = step.levels[0]
                value = await level.call(**level.arguments(ledger.values, inputs))  # type: ignore[misc]
            elif step.spread is not None:
                given = step.spread.over.get(ledger.values, inputs)
                known = None if journal is None else journal.items(step.name)
                mapped = Mapped(step, step.spread, items_of(given, step.name), known)
                ledger.maps[step.index] = mapped
                if not mapped.done:
                    ledger.ready.extend(mapped.first())
                    return
                value = mapped.result()
            else:
                served = ledger.served[step.index] = Served()
                value = await perform(step, self._around, served)
            if journal is not None:
                await journal.succeeded(step, value, ledger.served.get(step.index))
        except Exception as error:  # noqa: BLE001 - a step's failure is data; the policies decide what it means
            await self._failed(step, error)
        except anyio.get_cancelled_exc_class() as error:
            await anyio.lowlevel.checkpoint_if_cancelled()  # raises when it is the run that is being cancelled
            await self._failed(step, _CancelledInsideError(error), StepOutcome.CANCELLED)
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
        if self.watched:
            self._tell_of_item(mapped, position)
        following = mapped.following()
        if following is not None:
            self._ledger.ready.append(following)
        elif mapped.done:
            await self._end_map(mapped)
        return spoilt

    async def _try_item(self, mapped: Mapped, position: int) -> bool:
        step, item, ledger, journal = mapped.step, mapped.items[position], self._ledger, self.journal
        served: Served | None = None
        try:
            if mapped.plain:
                level = step.levels[0]
                arguments = level.arguments(ledger.values, self._around.inputs)
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
            if journal is not None:
                await journal.succeeded(step, answer, served, position)
        except Exception as error:  # noqa: BLE001 - an item's failure is data; the map's policy decides what it means
            mapped.failed(position, error)
        except anyio.get_cancelled_exc_class() as error:
            await anyio.lowlevel.checkpoint_if_cancelled()  # raises when the run or the map is being cancelled
            mapped.failed(position, _CancelledInsideError(error), StepOutcome.CANCELLED)
            return True
        else:
            mapped.succeeded(position, answer)
        return False

    def _tell_of_item(self, mapped: Mapped, position: int) -> None:
        error = mapped.faults.get(position)
        self._around.run.tell(
            EventKind.PROGRESS,
            mapped.step.name,
            item=position,
            message="failed" if error is not None else "done",
            fraction=mapped.ended / mapped.count,
            error=error,
        )

    async def _end_map(self, mapped: Mapped) -> None:
        try:
            answers = mapped.result()
            if self.journal is not None:
                await self.journal.succeeded(mapped.step, answers, None)
        except Exception as error:  # noqa: BLE001 - as in a step
            await self._failed(mapped.step, error)
        else:
            self._ledger.succeed(mapped.step, answers, self._clock())

    async def _failed(self, step: CompiledStep, error: Exception, outcome: StepOutcome = StepOutcome.FAILED) -> None:
        if self.journal is not None:
            await self.journal.failed(step, error, outcome, self._ledger.served.get(step.index))
        if self._ledger.fail(step, error, self._clock(), outcome) is Effect.STOP:
            self._on_failure(step)


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
