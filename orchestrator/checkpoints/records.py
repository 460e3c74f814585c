"""What a store keeps of a run, and what a store is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StepRecord:
    """The outcome of one step, or of one item of a step that goes over a list.

    Attributes:
        step: its name.
        item: position of the item; None: it is the step itself.
        outcome: one of the five words, or "started": a call that must not be repeated had begun.
        value: the output, encoded.
        level: which level served, from 0.
        confidence: that its answer came with.
        note: that its answer came with.
        error: the `ErrorInfo` as JSON, "" when there is none.
        reason: why it was skipped.
        attempts: how many there were.
        elapsed: seconds it took.
    """

    step: str
    item: int | None
    outcome: str
    value: str = "null"
    level: int = 0
    confidence: float = 1.0
    note: str = ""
    error: str = ""
    reason: str = ""
    attempts: int = 1
    elapsed: float = 0.0


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as it is kept.

    Attributes:
        run_id: its id.
        pipeline: the pipeline's name.
        fingerprints: step name to a digest of what it is.
        inputs: the run inputs, encoded.
        origin: where the pipeline comes from, e.g. the file that the command line was given; "" when nobody said.
        state: "running", "ended".
        outcome: how it ended, "" while it has not.
        reason: why it ended early.
        owner: process that runs it.
        created: seconds since the epoch.
        updated: seconds since the epoch.
        done: how many steps have an outcome.
    """

    run_id: str
    pipeline: str
    fingerprints: dict[str, str] = field(default_factory=dict)
    inputs: str = "{}"
    origin: str = ""
    state: str = "running"
    outcome: str = ""
    reason: str = ""
    owner: str = ""
    created: float = 0.0
    updated: float = 0.0
    done: int = 0


Done = Callable[[Exception | None], None]
"""Called in the event loop when a record is safe, or with what went wrong."""


class Store(Protocol):
    """Where runs are kept. Every method but `submit` blocks and is called in a thread."""

    def begin(self, run: RunRecord) -> None:
        """Keeps a new run, or takes over one that is there, with `run` as its new state."""

    def submit(self, run_id: str, record: StepRecord, in_loop: Callable[..., object], done: Done) -> None:
        """Keeps an outcome, soon; does not block. `in_loop` schedules `done` on the caller's event loop."""

    def finish(self, run_id: str, outcome: str, reason: str) -> None:
        """Notes that a run has ended."""

    def load(self, run_id: str) -> tuple[RunRecord, list[StepRecord]] | None:
        """A run and the outcomes of its steps."""

    def runs(self, limit: int = 100) -> Sequence[RunRecord]:
        """Runs that are no part of another one, the newest first."""

    def delete(self, run_id: str) -> bool:
        """Forgets a run, and the runs inside it, and says whether there was one."""

    def close(self) -> None:
        """Writes what is left, and lets go of files."""
