"""What came of a run: every step's outcome, who served it, how long it took, and what was skipped because of what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...catalog import ErrorInfo
from ...catalog.errors import did_you_mean
from ..runtime.shaping import shown_as_json
from .drawing import mermaid
from .outcomes import FallbackPolicy, StepOutcome

_MARKS = {
    StepOutcome.SUCCEEDED: "✓",
    StepOutcome.FAILED: "✗",
    StepOutcome.SKIPPED: "–",
    StepOutcome.TIMED_OUT: "⏱",
    StepOutcome.CANCELLED: "⊘",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of one level.

    Attributes:
        level: name of what was tried.
        started: seconds after the run's start.
        elapsed: seconds it took.
        error: what went wrong; None: it served, or it was cancelled.
        cancelled: whether it was ended from outside: another one won a race, or the run was stopped.
        item: position of the item that it was for, in a map step.
        still_running: whether it left a thread to itself that had not ended: Python has no way to stop one.
    """

    level: str
    started: float
    elapsed: float
    error: ErrorInfo | None = None
    cancelled: bool = False
    item: int | None = None
    still_running: bool = False

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; empty fields are left out."""
        shown: dict[str, Any] = {"level": self.level}
        if self.item is not None:
            shown["item"] = self.item
        shown |= {"started_s": _seconds(self.started), "elapsed_s": _seconds(self.elapsed)}
        if self.error is not None:
            shown |= {"error_type": self.error.error_type, "message": self.error.message}
        shown |= {"cancelled": True} if self.cancelled else {}
        return shown | ({"still_running": True} if self.still_running else {})


@dataclass(frozen=True, slots=True)
class StepReport:
    """What came of one step.

    Attributes:
        name: the step's name.
        outcome: how it ended.
        value: its output, None unless it succeeded and was kept.
        error: why it failed, as data.
        exception: the original exception of a failed step.
        history: every attempt, for steps with retries, fallbacks or timeouts, and for tools.
        attempts: how many attempts were made.
        served_by: name of the level whose answer it is, "" when there is none.
        degraded: the answer is second-best, its own or because of what it was built on.
        confidence: 1 for a full answer; an order, not a probability.
        note: what is second-best about it.
        degraded_by: names of the dependencies that were degraded or missing.
        because: for a skipped step: name of the step (or "" for the run itself) that is the cause.
        reason: for a skipped or cancelled step: why, in one line.
        started: seconds after the run's start; None: it never started.
        elapsed: seconds it took, retries and waits included.
        kept: whether `value` was kept; a dropped value is None.
        items: for a map step: how many items there were; None: it is none, or its list never came.
        failed_items: position to error, of the items of a map step that failed.
        inner: for a pipeline as a step: the report of its run.
        undone: how its undoing went, when the run was abandoned: "", or what went wrong; None: it was not undone.
        restored: whether its outcome is from before the run was resumed.
    """

    name: str
    outcome: StepOutcome
    value: Any = None
    error: ErrorInfo | None = None
    exception: Exception | None = None
    history: tuple[Attempt, ...] = ()
    attempts: int = 0
    served_by: str = ""
    degraded: bool = False
    confidence: float = 1.0
    note: str = ""
    degraded_by: tuple[str, ...] = ()
    because: str = ""
    reason: str = ""
    started: float | None = None
    elapsed: float = 0.0
    kept: bool = True
    items: int | None = None
    failed_items: Mapping[int, ErrorInfo] = field(default_factory=dict)
    inner: RunReport | None = None
    undone: str | None = None
    restored: bool = False

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; empty fields are left out."""
        shown: dict[str, Any] = {"outcome": str(self.outcome)}
        if self.outcome is StepOutcome.SUCCEEDED:
            shown |= {"value": shown_as_json(self.value)} if self.kept else {"value_dropped": True}
        if self.error is not None:
            told = shown_as_json(self.error.model_dump()).items()
            shown["error"] = {key: value for key, value in told if value not in ("", None, [], {})}
        if self.attempts:
            shown |= {
                "attempts": self.attempts,
                "started_s": _seconds(self.started),
                "elapsed_s": _seconds(self.elapsed),
            }
        for name in ("served_by", "note", "because", "reason"):
            if getattr(self, name):
                shown[name] = getattr(self, name)
        if self.degraded:
            shown |= {"degraded": True, "confidence": round(self.confidence, 3), "degraded_by": list(self.degraded_by)}
        if self.history:
            shown["history"] = [attempt.to_dict() for attempt in self.history]
        if self.items is not None:
            shown["items"] = self.items
        if self.failed_items:
            shown["failed_items"] = {
                str(item): {"error_type": error.error_type, "message": error.message}
                for item, error in self.failed_items.items()
            }
        if self.inner is not None:
            shown["inner"] = self.inner.to_dict()
        if self.restored:
            shown["restored"] = True
        if self.undone is not None:
            shown |= {"undo_failed": self.undone} if self.undone else {"undone": True}
        return shown


class StepReports(Mapping[str, StepReport]):
    """Step reports by name, in order. Each is made when it is first asked for: of a large run, few ever are.

    Args:
        steps: step name to what `make` makes its report of.
        make: makes a report; must give the same one at any time.
    """

    def __init__(self, steps: Mapping[str, Any], make: Callable[[Any], StepReport]) -> None:
        self._steps = steps
        self._make = make
        self._made: dict[str, StepReport] = {}

    def __getitem__(self, name: str) -> StepReport:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._make(self._steps[name])
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._steps)

    def __len__(self) -> int:
        return len(self._steps)

    def __contains__(self, name: object) -> bool:
        return name in self._steps

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type[dict[str, StepReport]], tuple[dict[str, StepReport]]]:
        return dict, (dict(self),)  # copies and pickles need not carry the run along


@dataclass(frozen=True, slots=True)
class RunReport:
    """What came of one run.

    Attributes:
        run_id: the run's id.
        pipeline: the pipeline's name.
        outcome: the worst of its steps (see `outcomes.combine`), or what ended the run itself.
        steps: step name to its report, in topological order.
        edges: (dependency, dependant) pairs of step names.
        elapsed: seconds from start to end.
        policy: the run's failure policy.
        reason: why the run itself ended early, "" otherwise.
        unused_inputs: names of the given inputs that no step takes.
    """

    run_id: str
    pipeline: str
    outcome: StepOutcome
    steps: Mapping[str, StepReport]
    edges: tuple[tuple[str, str], ...] = ()
    elapsed: float = 0.0
    policy: FallbackPolicy = FallbackPolicy.SKIP_AND_REPORT
    reason: str = ""
    unused_inputs: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every step that was to run succeeded."""
        return self.outcome is StepOutcome.SUCCEEDED

    @property
    def partial(self) -> bool:
        """Whether the run did not fully succeed, but some steps did."""
        return not self.ok and any(step.outcome is StepOutcome.SUCCEEDED for step in self.steps.values())

    @property
    def degraded(self) -> bool:
        """Whether any answer is second-best."""
        return any(step.degraded for step in self.steps.values())

    @property
    def outputs(self) -> dict[str, Any]:
        """Values of the steps that nothing waits for, as far as they succeeded."""
        waited_for = {dep for dep, _ in self.edges}
        return {
            name: step.value
            for name, step in self.steps.items()
            if name not in waited_for and step.outcome is StepOutcome.SUCCEEDED
        }

    def __getitem__(self, step: str) -> StepReport:
        return self.steps[step]

    def __iter__(self) -> Iterator[StepReport]:
        return iter(self.steps.values())

    def value(self, step: str) -> Any:
        """A step's output.

        Raises:
            KeyError: there is no such step, or it gave nothing that was kept.
        """
        if step not in self.steps:
            raise KeyError(f"there is no step {step!r}{did_you_mean(step, self.steps)}")
        report = self.steps[step]
        if report.outcome is not StepOutcome.SUCCEEDED or not report.kept:
            state = str(report.outcome) if report.kept else "dropped after its last reader"
            raise KeyError(f"step {step!r} has no value: {state}")
        return report.value

    def raise_for_failure(self) -> None:
        """Raises what kept the run from succeeding; does nothing when all is well.

        Raises:
            Exception: the first failed step's own exception, with a note that names the step.
            TimeoutError: no step failed, but the run reached its time limit.
            RuntimeError: no step failed, but the run was cancelled.
        """
        for step in self.steps.values():
            if step.exception is not None:
                note = f"raised by step {step.name!r} of run {self.run_id}"
                if note not in getattr(step.exception, "__notes__", ()):
                    step.exception.add_note(note)
                raise step.exception
        if self.outcome is StepOutcome.TIMED_OUT:
            raise TimeoutError(self.reason)
        if not self.ok:
            raise RuntimeError(self.reason)

    @property
    def critical_path(self) -> tuple[str, ...]:
        """The chain of steps that determined when the run ended, first to last."""
        ran = {name: step for name, step in self.steps.items() if step.started is not None}
        if not ran:
            return ()
        waits_for: dict[str, list[str]] = {}
        for dep, step in self.edges:
            waits_for.setdefault(step, []).append(dep)
        position = {step: number for number, step in enumerate(ran)}

        def latest(step: str) -> tuple[float, int]:  # of steps that ended together, the one further down the pipeline
            return (ran[step].started or 0.0) + ran[step].elapsed, position[step]

        name: str | None = max(ran, key=latest)
        path: list[str] = []
        while name is not None:
            path.append(name)
            before = [dep for dep in waits_for.get(name, ()) if dep in ran]
            name = max(before, key=latest, default=None)
        return tuple(reversed(path))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: ``{"outcome": …, "steps": {name: {"outcome": …, "value" or "error": …, …}}, …}``."""
        return {
            "run_id": self.run_id,
            "pipeline": self.pipeline,
            "outcome": str(self.outcome),
            "partial": self.partial,
            "policy": str(self.policy),
            "elapsed_s": _seconds(self.elapsed),
            "critical_path": list(self.critical_path),
            **({"reason": self.reason} if self.reason else {}),
            **({"unused_inputs": list(self.unused_inputs)} if self.unused_inputs else {}),
            "steps": {name: step.to_dict() for name, step in self.steps.items()},
        }

    def to_mermaid(self) -> str:
        """The run as a Mermaid flow chart; colours show the outcomes."""
        states = {name: (str(step.outcome), step.degraded, step.elapsed) for name, step in self.steps.items()}
        return mermaid(self.steps, self.edges, states)

    def __str__(self) -> str:
        counts: dict[StepOutcome, int] = {}
        for step in self.steps.values():
            counts[step.outcome] = counts.get(step.outcome, 0) + 1
        tally = ", ".join(f"{number} {outcome}" for outcome, number in counts.items()) or "no steps"
        lines = [
            f"{_one_line(self.pipeline)}: {self.outcome}{' (partial)' if self.partial else ''} "
            f"in {self.elapsed:.2f} s: {tally}" + (f"; {_one_line(self.reason)}" if self.reason else "")
        ]
        names = {name: _one_line(name) for name in self.steps}
        width = max(map(len, names.values()), default=0)
        lines += [
            f"  {_MARKS[step.outcome]} {names[step.name]:<{width}}  {_line(step)}".rstrip()
            for step in self.steps.values()
        ]
        if len(path := self.critical_path) > 1:
            lines.append("  critical path: " + " -> ".join(names[name] for name in path))
        if self.unused_inputs:
            lines.append("  inputs that no step takes: " + ", ".join(map(_one_line, self.unused_inputs)))
        return "\n".join(lines)


def _line(step: StepReport) -> str:
    parts = [f"{step.elapsed:.2f} s"] if step.started is not None else []
    if step.items is not None:
        parts.append(f"{step.items} item{'s' if step.items != 1 else ''}")
    elif step.attempts > 1:
        parts.append(f"{step.attempts} attempts")
    if step.degraded:
        by = f" by {step.served_by}" if step.served_by and len(step.history) > 1 else ""
        through = f" through {', '.join(step.degraded_by)}" if step.degraded_by else ""
        parts.append(f"degraded{by}{through}, confidence {step.confidence:.2f}")
    if step.note:
        parts.append(step.note)
    if step.restored:
        parts.append("from before")
    if step.undone is not None:
        parts.append(f"NOT undone: {step.undone}" if step.undone else "undone")
    if step.error is not None:
        parts.append(f"{step.error.error_type}: {step.error.message}")
    if step.reason:
        parts.append(step.reason)
    return _one_line("; ".join(parts))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _seconds(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
