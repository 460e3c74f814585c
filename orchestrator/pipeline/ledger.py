"""What is known about the steps of one run, and the rules that a finished step sets off.

The ledger knows outcomes, values and times, and which steps are ready; it neither runs nor waits for anything.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Literal

from ...catalog import Degraded, ErrorInfo
from ..runtime import classify
from .attempts import Served
from .outcomes import (
    MISSING_CONFIDENCE,
    Effect,
    Missing,
    StepOutcome,
    effect,
    inherited_confidence,
    strongest,
)
from .report import StepReport
from .steps import CompiledStep

Keep = Literal["all", "leaves"]

_DROPPED = object()


class Ledger:
    """Keeps the books of one run. Not for use from several threads.

    Args:
        steps: compiled steps in topological order.
        keep: which outputs stay: all, or only those of steps that nothing waits for; the others are dropped when
            their last reader is done.

    Attributes:
        values: output by step index; a `Missing` for a step that gives none.
        outcomes: outcome by step index; None while it has none.
        started: loop time at which a step started, by index; None: it has not.
        ready: indexes of the steps that may start, oldest first.
        remaining: how many steps have no outcome yet.
        served: how each step with policies goes, by index.
    """

    def __init__(self, steps: tuple[CompiledStep, ...], keep: Keep) -> None:
        count = len(steps)
        self._steps = steps
        self.values: list[Any] = [None] * count
        self.outcomes: list[StepOutcome | None] = [None] * count
        self.started: list[float | None] = [None] * count
        self.ready: deque[int] = deque(step.index for step in steps if not step.deps)
        self.remaining = count
        self.served: dict[int, Served] = {}
        self._ended: list[float] = [0.0] * count
        self._waiting = [len(step.deps) for step in steps]
        self._readers = _count_readers(steps) if keep == "leaves" else None
        # what only some steps have
        self._errors: dict[int, tuple[Exception, ErrorInfo]] = {}
        self._confidence: dict[int, float] = {}
        self._notes: dict[int, str] = {}
        self._degraded_by: dict[int, tuple[str, ...]] = {}
        self._because: dict[int, tuple[str, str]] = {}
        self._without: set[int] = set()

    def succeed(self, step: CompiledStep, value: Any, now: float) -> None:
        """Records a step's output and makes ready what waited for it alone."""
        index = step.index
        if type(value) is Degraded:
            self._confidence[index], self._notes[index] = value.confidence, value.note
            value = value.value
        self.values[index] = value
        self.outcomes[index] = StepOutcome.SUCCEEDED
        self._ended[index] = now
        self.remaining -= 1
        if self.served:
            self._mark_fallback(step)
        if self._confidence or self._without:
            self._mark_inherited(step)
        if self._readers is not None:
            self._release(step, self._readers)
        if self._without:
            self._pass_on(step)
            return
        waiting = self._waiting
        for dependant in step.dependants:
            left = waiting[dependant] - 1
            waiting[dependant] = left
            if not left:
                self.ready.append(dependant)

    def fail(
        self, step: CompiledStep, error: Exception, now: float, outcome: StepOutcome = StepOutcome.FAILED
    ) -> Effect:
        """Records a failure, skips what has to be skipped, and returns what it does to the run."""
        info = classify(error)
        if outcome is StepOutcome.FAILED and info.error_type == "timeout":
            outcome = StepOutcome.TIMED_OUT
        self._errors[step.index] = error, info
        self._ended[step.index] = now
        self._gives_nothing(step, outcome, info.message)
        self._pass_on(step)
        return effect(outcome, step.policy)

    def settle(self, cut: StepOutcome, because: str, reason: str, now: float) -> None:
        """Ends the books early: started steps without an outcome get `cut`, the others are skipped."""
        for step in self._steps:
            index = step.index
            if self.outcomes[index] is None:
                self.outcomes[index] = StepOutcome.SKIPPED if self.started[index] is None else cut
                self._because.setdefault(index, (because, reason))
                self._ended[index] = now
        self.remaining = 0

    def report(self, step: CompiledStep, origin: float) -> StepReport:
        """What came of a step that has an outcome; times count from `origin`."""
        index = step.index
        outcome = self.outcomes[index]
        assert outcome is not None  # the caller has looked
        served, started = self.served.get(index), self.started[index]
        succeeded = outcome is StepOutcome.SUCCEEDED
        value = self.values[index] if succeeded else None
        error, info = self._errors.get(index, (None, None))
        because, reason = self._because.get(index, ("", ""))
        level = served.level if served is not None else step.levels[0]
        return StepReport(
            name=step.name,
            outcome=outcome,
            value=None if value is _DROPPED else value,
            error=info,
            exception=error,
            history=tuple(served.history) if served is not None else (),
            attempts=len(served.history) if served is not None else int(started is not None),
            served_by=level.name if succeeded and level is not None else "",
            degraded=succeeded and index in self._confidence,
            confidence=self._confidence.get(index, 1.0) if succeeded else 0.0,
            note=self._notes.get(index, ""),
            degraded_by=self._degraded_by.get(index, ()),
            because=because,
            reason=reason,
            started=None if started is None else started - origin,
            elapsed=0.0 if started is None else self._ended[index] - started,
            kept=value is not _DROPPED,
        )

    def _gives_nothing(self, step: CompiledStep, outcome: StepOutcome, reason: str) -> None:
        self.outcomes[step.index] = outcome
        self.values[step.index] = Missing(step.name, outcome, reason)
        self._without.add(step.index)
        self.remaining -= 1
        if self._readers is not None:
            self._release(step, self._readers)

    def _pass_on(self, step: CompiledStep) -> None:
        """Tells the dependants of a step that has ended, and the dependants of those that are skipped for it."""
        ended = [step]
        while ended:
            for dependant in ended.pop().dependants:
                reason = self._one_less(dependant)
                if reason:
                    skipped = self._steps[dependant]
                    self._gives_nothing(skipped, StepOutcome.SKIPPED, reason)
                    ended.append(skipped)

    def _one_less(self, dependant: int) -> str:
        """Counts one dependency of a step as done. Makes the step ready and returns "", or says why it is skipped."""
        self._waiting[dependant] -= 1
        if self._waiting[dependant]:
            return ""
        effects: dict[int, Effect] = {}
        for dep in self._steps[dependant].deps:
            outcome = self.outcomes[dep]
            assert outcome is not None  # it has just been counted
            effects[dep] = effect(outcome, self._steps[dep].policy)
        if strongest(effects.values()) < Effect.SKIP:
            self.ready.append(dependant)
            return ""
        cause = next(dep for dep, what in effects.items() if what >= Effect.SKIP)
        name, how = self._steps[cause].name, self.outcomes[cause]
        reason = f"step {name!r} {'was ' if how in _PASSIVE else ''}{str(how).replace('_', ' ')}"
        self._because[dependant] = name, reason
        return reason

    def _mark_fallback(self, step: CompiledStep) -> None:
        """Marks an answer that a later level of the chain gave."""
        served = self.served.get(step.index)
        if served is not None and served.level is not None and served.level is not step.levels[0]:
            level = served.level
            self._confidence[step.index] = min(level.confidence, self._confidence.get(step.index, 1.0))
            self._notes[step.index] = self._notes.get(step.index) or level.note

    def _mark_inherited(self, step: CompiledStep) -> None:
        """Marks an answer that was built on degraded or missing ones."""
        poor = [dep for dep in step.reads if dep in self._confidence or dep in self._without]
        if poor:
            found = (MISSING_CONFIDENCE if dep in self._without else self._confidence[dep] for dep in poor)
            self._confidence[step.index] = inherited_confidence(self._confidence.get(step.index, 1.0), found)
            self._degraded_by[step.index] = tuple(self._steps[dep].name for dep in poor)

    def _release(self, step: CompiledStep, readers: list[int]) -> None:
        """Drops the outputs whose last reader this step was, and its own when others only wait for it."""
        for index in step.reads:
            readers[index] -= 1
            if not readers[index]:
                self.values[index] = _DROPPED
        if step.dependants and not readers[step.index]:
            self.values[step.index] = _DROPPED


_PASSIVE = (StepOutcome.SKIPPED, StepOutcome.CANCELLED)


def _count_readers(steps: tuple[CompiledStep, ...]) -> list[int]:
    readers = [0] * len(steps)
    for step in steps:
        for index in step.reads:
            readers[index] += 1
    return readers
