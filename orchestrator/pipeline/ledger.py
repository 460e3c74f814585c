"""What is known about the steps of one run, and the rules that a finished step sets off.

The ledger knows outcomes, values and times, and which steps are ready; it neither runs nor waits for anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...catalog import Degraded, ErrorInfo
from ..runtime import classify
from .calling import Served
from .mapping import Mapped
from .outcomes import (
    ALL,
    MISSING_CONFIDENCE,
    Decision,
    Effect,
    Missing,
    StepOutcome,
    decide,
    effect,
    inherited_confidence,
    strongest,
)
from .report import StepReport
from .steps import PENDING, CompiledStep, Form

Keep = Literal["all", "leaves"]

_DROPPED = object()


class Ledger:
    """Keeps the books of one run. Not for use from several threads.

    Args:
        steps: compiled steps in topological order.
        keep: which outputs stay: all, or only those of steps that nothing waits for; the others are dropped when
            their last reader is done.

    Attributes:
        values: output by step index; a `Missing` for a step that gives none, `PENDING` for one that has not ended.
        outcomes: outcome by step index; None while it has none.
        started: loop time at which a step started, by index; None: it has not.
        ready: what may start, oldest first: indexes of steps, and items of maps.
        remaining: how many steps have no outcome yet, and one more while the run is open.
        served: how each step with policies goes, by index.
        maps: how each map step goes or went, by index.
        undone: how the undoing of a step went, by index: "", or what went wrong.
        restored: indexes of the steps whose outcome is from before the run was resumed.
        on_ended: called with each step that gets its outcome; None: nobody wants to know.
    """

    def __init__(self, steps: Sequence[CompiledStep], keep: Keep) -> None:
        self._steps: list[CompiledStep] = []
        self.values: list[Any] = []
        self.outcomes: list[StepOutcome | None] = []
        self.started: list[float | None] = []
        self.ready: deque[Any] = deque()
        self.remaining = 0
        self.served: dict[int, Served] = {}
        self.maps: dict[int, Mapped] = {}
        self.undone: dict[int, str] = {}
        self.restored: set[int] = set()
        self.on_ended: Callable[[CompiledStep], None] | None = None
        self._ended: list[float] = []
        self._waiting: list[int] = []
        self._readers: list[int] | None = [] if keep == "leaves" else None
        # what only some steps have
        self._joins: dict[int, _Arrived] = {}
        self._late: dict[int, list[int]] = {}
        self._errors: dict[int, tuple[Exception, ErrorInfo]] = {}
        self._confidence: dict[int, float] = {}
        self._notes: dict[int, str] = {}
        self._degraded_by: dict[int, tuple[str, ...]] = {}
        self._because: dict[int, tuple[str, str]] = {}
        self._without: set[int] = set()
        self._not_chosen: set[int] = set()
        self._append(steps)
        self._eventful = bool(self._joins)

    def add(self, steps: Sequence[CompiledStep]) -> None:
        """Adds steps to a run that has begun; they wait for what has not ended, and see what has.

        Raises:
            ValueError: one needs an output that was dropped.
        """
        for step in steps:
            for dep in step.reads:
                if dep < len(self._steps) and self.values[dep] is _DROPPED:
                    raise ValueError(
                        f"step {step.name!r} needs the output of {self._steps[dep].name!r}, which was dropped after "
                        f"its last reader: run with keep='all'"
                    )
        before = len(self._steps)
        self._append(steps)
        self._eventful = True
        for step in steps:
            for dep in step.deps:
                if dep < before:
                    self._late.setdefault(dep, []).append(step.index)
        for step in steps:
            for dep in step.deps:
                if dep < before and self.outcomes[dep] is not None and self.outcomes[step.index] is None:
                    reason = self._one_less(step.index, dep)
                    if reason:
                        self._skip(step, reason)

    def _append(self, steps: Sequence[CompiledStep]) -> None:
        count = len(steps)
        self._steps += steps
        self.values += [PENDING] * count
        self.outcomes += [None] * count
        self.started += [None] * count
        self._ended += [0.0] * count
        self._waiting += [len(step.deps) for step in steps]
        self.ready += [step.index for step in steps if not step.deps]
        self._joins |= {step.index: _Arrived() for step in steps if step.join is not ALL and step.deps}
        self.remaining += count
        if self._readers is not None:
            self._readers += [0] * count
            for step in steps:
                self._readers[step.index] += step.undo is not None  # it reads the output, too
                for index in step.reads:
                    self._readers[index] += 1

    @property
    def steps(self) -> Sequence[CompiledStep]:
        """All steps, by index."""
        return self._steps

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
        if self.on_ended is not None:
            self.on_ended(step)
        if self._readers is not None:
            self._release(step, self._readers)
        if self._without or self._eventful:
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

    def skip(self, step: CompiledStep, reason: str, now: float) -> None:
        """Records that a step's own condition does not hold."""
        self._ended[step.index] = now
        self.started[step.index] = None
        self._not_chosen.add(step.index)
        self._because[step.index] = "", reason
        self._skip(step, reason)

    def restore(self, step: CompiledStep, served: Served, now: float) -> None:
        """Prepares the books for an outcome that a step had before the run was resumed; `succeed`, `fail` or `skip`
        follows.
        """
        self.served[step.index] = served
        self.started[step.index] = now
        self.restored.add(step.index)
        if step.index in self._joins:
            self._joins[step.index].decided = True

    def forget_ready(self) -> None:
        """Takes what has its outcome already from what may start."""
        left = [entry for entry in self.ready if self.outcomes[entry] is None]
        self.ready.clear()
        self.ready.extend(left)

    def settle(self, cut: StepOutcome, because: str, reason: str, now: float) -> None:
        """Ends the books early: started steps without an outcome get `cut`, the others are skipped."""
        for step in self._steps:
            index = step.index
            if self.outcomes[index] is None:
                self.outcomes[index] = StepOutcome.SKIPPED if self.started[index] is None else cut
                self._because.setdefault(index, (because, reason))
                self._ended[index] = now
                if self.on_ended is not None:
                    self.on_ended(step)
        self.remaining = 0

    def to_undo(self) -> list[CompiledStep]:
        """Steps that succeeded and can be undone, the last one first."""
        done = [step for step in self._steps if step.undo and self.outcomes[step.index] is StepOutcome.SUCCEEDED]
        return sorted(done, key=lambda step: (self._ended[step.index], step.index), reverse=True)

    def failure(self, step: CompiledStep) -> tuple[ErrorInfo | None, str]:
        """Why a step gave nothing: its error, or the reason for which it was skipped or cut short."""
        error = self._errors.get(step.index)
        return (None if error is None else error[1]), self._because.get(step.index, ("", ""))[1]

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
        mapped = self.maps.get(index)
        level = served.level if served is not None else step.levels[0]
        return StepReport(
            name=step.name,
            outcome=outcome,
            value=None if value is _DROPPED else value,
            error=info,
            exception=error,
            history=tuple(served.history) if served is not None else (),
            attempts=served.attempts if served is not None else int(started is not None),
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
            items=None if mapped is None else mapped.count,
            failed_items={} if mapped is None else mapped.faults,
            inner=None if served is None else served.inner,
            undone=self.undone.get(index),
            restored=index in self.restored,
        )

    def _gives_nothing(self, step: CompiledStep, outcome: StepOutcome, reason: str) -> None:
        self.outcomes[step.index] = outcome
        self.values[step.index] = Missing(step.name, outcome, reason)
        self._without.add(step.index)
        self.remaining -= 1
        if self.on_ended is not None:
            self.on_ended(step)
        if self._readers is not None:
            self._release(step, self._readers)

    def _skip(self, step: CompiledStep, reason: str) -> None:
        self._gives_nothing(step, StepOutcome.SKIPPED, reason)
        self._pass_on(step)

    def _pass_on(self, step: CompiledStep) -> None:
        """Tells the dependants of a step that has ended, and the dependants of those that are skipped for it."""
        ended = [step]
        while ended:
            one = ended.pop()
            for dependant in (*one.dependants, *self._late.get(one.index, ())):
                reason = self._one_less(dependant, one.index)
                if reason:
                    skipped = self._steps[dependant]
                    self._gives_nothing(skipped, StepOutcome.SKIPPED, reason)
                    ended.append(skipped)

    def _one_less(self, dependant: int, dep: int) -> str:
        """Counts one dependency of a step as done. Makes the step ready and returns "", or says why it is skipped."""
        self._waiting[dependant] -= 1
        pending = self._waiting[dependant]
        arrived = self._joins.get(dependant)
        if arrived is not None:
            arrived.succeeded += self.outcomes[dep] is StepOutcome.SUCCEEDED
            if arrived.decided:
                return ""
        elif pending:
            return ""
        step = self._steps[dependant]
        effects = {} if pending else {dep: self._effect(dep) for dep in step.deps}
        blocked = strongest(effects.values()) >= Effect.SKIP
        succeeded = 0 if arrived is None else arrived.succeeded
        decision = decide(step.join, succeeded=succeeded, pending=pending, blocked=blocked)
        if decision is Decision.WAIT:
            return ""
        if arrived is not None:
            arrived.decided = True
        if decision is Decision.START:
            self.ready.append(dependant)
            return ""
        return self._why_skipped(step, succeeded)

    def _effect(self, dep: int) -> Effect:
        outcome = self.outcomes[dep]
        assert outcome is not None  # it has ended
        return effect(outcome, self._steps[dep].policy, chosen=dep not in self._not_chosen)

    def _why_skipped(self, step: CompiledStep, succeeded: int) -> str:
        """Notes the cause of a skip and tells it in one line."""
        ended = [dep for dep in step.deps if self.outcomes[dep] not in (None, StepOutcome.SUCCEEDED)]
        causes = [dep for dep in ended if self._effect(dep) >= Effect.SKIP] or ended
        blamed = [dep for dep in causes if dep not in self._not_chosen]
        if not blamed:
            self._not_chosen.add(step.index)
        cause = (blamed or causes)[0]
        reason = self._how_it_ended(cause)
        if step.join.succeeded is not None:
            told = ", ".join(self._how_it_ended(dep) for dep in ended[:3]) + (", …" if len(ended) > 3 else "")
            reason = f"{succeeded} of the {step.join.succeeded} that it needs succeeded: {told}"
        self._because[step.index] = self._steps[cause].name, reason
        return reason

    def _how_it_ended(self, dep: int) -> str:
        how = self.outcomes[dep]
        return f"step {self._steps[dep].name!r} {'was ' if how in _PASSIVE else ''}{str(how).replace('_', ' ')}"

    def _mark_fallback(self, step: CompiledStep) -> None:
        """Marks an answer that a later level of the chain gave."""
        served = self.served.get(step.index)
        if step.form is Form.RACE or served is None or served.level is None:
            return
        if served.level is not step.levels[0]:
            level = served.level
            self._confidence[step.index] = min(level.confidence, self._confidence.get(step.index, 1.0))
            self._notes[step.index] = self._notes.get(step.index) or level.note

    def _mark_inherited(self, step: CompiledStep) -> None:
        """Marks an answer that was built on degraded or missing ones."""
        poor = [
            dep
            for dep in step.reads
            if dep in self._confidence or (dep in self._without and dep not in self._not_chosen)
        ]
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


@dataclass(slots=True)
class _Arrived:
    """What has come of the steps that a join waits for.

    Attributes:
        succeeded: how many of them succeeded.
        decided: whether the join has started or was skipped.
    """

    succeeded: int = 0
    decided: bool = False
