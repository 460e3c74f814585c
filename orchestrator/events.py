"""What happens in a run, told while it happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ..catalog import ErrorInfo

if TYPE_CHECKING:
    from .pipeline.outcomes import StepOutcome
    from .pipeline.report import RunReport


class EventKind(StrEnum):
    """What has happened.

    RUN_STARTED, RUN_FINISHED: the first and the last event of a run; the last one carries the report.
    STEP_STARTED, STEP_FINISHED: of a step; one that is skipped has only the second.
    RETRYING: an attempt failed; the next one comes after `wait` seconds.
    FALLBACK: a level failed, and the next one, `level`, begins.
    WAITING: a step waits for something from outside: a rate limit (`wait` seconds), or a person.
    PROGRESS: what code inside a step says of itself, and an item of a list that is done.
    BREAKER: a circuit breaker has opened, is trying again, or has closed.
    """

    RUN_STARTED = "run_started"
    STEP_STARTED = "step_started"
    RETRYING = "retrying"
    FALLBACK = "fallback"
    WAITING = "waiting"
    PROGRESS = "progress"
    BREAKER = "breaker"
    STEP_FINISHED = "step_finished"
    RUN_FINISHED = "run_finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened in a run.

    Attributes:
        kind: what.
        run_id: the run's id; in a pipeline that is a step of another, the inner run's.
        at: seconds since the start of the run that is watched.
        step: name of the step; "" when it is about the run.
        path: names of the steps around it, outermost first, when it comes from a pipeline inside another.
        item: position of the item that it is about.
        level: what begins, after RETRYING and FALLBACK.
        attempt: number of the attempt that it is about.
        wait: seconds that the step will wait.
        message: one line for people.
        fraction: how much is done, 0 to 1.
        data: what the code that reports its progress has added.
        outcome: how the step or the run ended.
        error: what went wrong.
        value: the step's output.
        report: of the whole run, at its end.
    """

    kind: EventKind
    run_id: str
    at: float
    step: str = ""
    path: tuple[str, ...] = ()
    item: int | None = None
    level: str = ""
    attempt: int = 0
    wait: float | None = None
    message: str = ""
    fraction: float | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    outcome: StepOutcome | None = None
    error: ErrorInfo | None = None
    value: Any = None
    report: RunReport | None = None

    @property
    def where(self) -> str:
        """The step with those around it, e.g. ``"digest > fetch[3]"``."""
        name = self.step if self.item is None else f"{self.step}[{self.item}]"
        return " > ".join([*self.path, *([name] if name else [])])

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, without empty fields, outputs and the report."""
        shown: dict[str, Any] = {"event": str(self.kind), "run_id": self.run_id, "at_s": round(self.at, 6)}
        for name in ("step", "level", "message"):
            if getattr(self, name):
                shown[name] = getattr(self, name)
        for name in ("item", "wait", "fraction"):
            if getattr(self, name) is not None:
                shown[name] = getattr(self, name)
        if self.path:
            shown["path"] = list(self.path)
        if self.attempt and self.kind is EventKind.RETRYING:
            shown["attempt"] = self.attempt
        if self.outcome is not None:
            shown["outcome"] = str(self.outcome)
        if self.error is not None:
            shown["error"] = {"error_type": self.error.error_type, "message": self.error.message}
        return shown

    def __str__(self) -> str:
        parts = [f"{self.at:8.3f}", str(self.kind), self.where, str(self.outcome or ""), self.level, self.message]
        if self.wait is not None:
            parts.append(f"in {self.wait:.2g} s")
        if self.fraction is not None:
            parts.append(f"{self.fraction:.0%}")
        if self.error is not None:
            parts.append(f"{self.error.error_type}: {self.error.message}")
        return "  ".join(part for part in parts if part)


Listener = Callable[[Event], None]
"""Called for each event, in the event loop, in order. It must be quick; what it raises is logged, and ends its
listening, not the run."""
