"""How a run is kept from its beginning, and how one that was kept goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...catalog.errors import CheckpointError
from .. import threads
from ..checkpoints import RunRecord, StepRecord, Store
from ..checkpoints.codec import encode
from .calling import Served
from .journal import UNDONE, Journal, changes, error_of, fingerprint, is_running_elsewhere, owner_now, value_of
from .ledger import Ledger
from .outcomes import Effect, StepOutcome
from .steps import CompiledStep

Changed = Literal["refuse", "map"]


@dataclass(frozen=True, slots=True)
class Checkpointing:
    """Where a run is kept, and what to do with what is there of it.

    Attributes:
        store: where.
        resume: True: it must be there. False: it must not. None: whichever.
        retry_failed: whether steps that have failed are tried again.
        changed: what to do when the pipeline has changed since.
        repeat: names of steps that may be called again although nobody knows whether they have happened.
        origin: where the pipeline comes from, for people and the command line.
    """

    store: Store
    resume: bool | None = False
    retry_failed: bool = False
    changed: Changed = "refuse"
    repeat: frozenset[str] = frozenset()
    origin: str = ""


async def open_journal(
    run_id: str,
    name: str,
    steps: Sequence[CompiledStep],
    inputs: Mapping[str, Any],
    how: Checkpointing,
    on_fault: Callable[[Exception], None],
) -> Journal:
    """Begins to keep a run, or takes up what was kept of it.

    Raises:
        CheckpointError: it is there and must not be, or the other way round; another process runs it; the pipeline
            has changed; an input cannot be kept; or the store does not work.
    """
    kept = await threads.run_in_thread(how.store.load, run_id=run_id)
    now = {step.name: fingerprint(step, steps) for step in steps}
    earlier: list[StepRecord] = []
    if kept is None:
        if how.resume:
            raise CheckpointError(f"there is no run {run_id!r} in the store")
        record = RunRecord(run_id, name, now, encode(dict(inputs), "the run inputs"), how.origin, owner=owner_now())
    else:
        record, earlier = kept
        if how.resume is False:
            raise CheckpointError(f"there is a run {run_id!r} in the store already: resume it, or give no run_id")
        if is_running_elsewhere(record):
            raise CheckpointError(f"run {run_id!r} is being run by {record.owner}: stop that process first")
        earlier = _still_valid(record, earlier, steps, now, how)
        record = RunRecord(run_id, name, now, record.inputs, record.origin, owner=owner_now())
    await threads.run_in_thread(how.store.begin, run=record)
    return Journal(how.store, run_id, on_fault, earlier, retry_failed=how.retry_failed)


def restore(ledger: Ledger, journal: Journal, clock: Callable[[], float], stop: Callable[[CompiledStep], None]) -> None:
    """Enters the outcomes that steps had before into the books of a run that has not begun.

    Args:
        ledger: the books.
        journal: knows the outcomes.
        clock: the loop's time.
        stop: called with a step whose failure ends the run.
    """
    for step in ledger.steps:
        record = journal.steps.get(step.name)
        if record is None or ledger.outcomes[step.index] is not None:
            continue
        level = step.levels[min(record.level, len(step.levels) - 1)]
        ledger.restore(step, Served(level=level, attempts=record.attempts), clock())
        if record.outcome == StepOutcome.SUCCEEDED:
            ledger.succeed(step, value_of(record), clock())
        elif record.outcome == StepOutcome.SKIPPED:
            ledger.skip(step, record.reason, clock())
        elif ledger.fail(step, error_of(record), clock(), StepOutcome(record.outcome)) is Effect.STOP:
            stop(step)
    ledger.forget_ready()


def _still_valid(
    record: RunRecord,
    earlier: Sequence[StepRecord],
    steps: Sequence[CompiledStep],
    now: Mapping[str, str],
    how: Checkpointing,
) -> list[StepRecord]:
    """The outcomes that stand: not of changed steps, of failures that are tried again, nor what was built on them.

    Raises:
        CheckpointError: the pipeline has changed, and that is to be refused.
    """
    told = changes(record, dict(now))
    if told and how.changed == "refuse":
        raise CheckpointError(
            f"the pipeline of run {record.run_id!r} has changed since: {', '.join(told[:5])}"
            + (f" and {len(told) - 5} more" if len(told) > 5 else "")
            + "; resume with changed='map' to keep the outcomes of steps that are as they were"
        )
    failures = {StepOutcome.FAILED, StepOutcome.TIMED_OUT, StepOutcome.CANCELLED}
    again = {one.step for one in earlier if one.item is None and how.retry_failed and one.outcome in failures}
    again |= {one.step for one in earlier if one.outcome == UNDONE}
    again |= {step.name for step in steps if record.fingerprints.get(step.name) != now[step.name]}
    for step in steps:  # in topological order
        if any(steps[dep].name in again for dep in step.deps):
            again.add(step.name)
    known = {step.name for step in steps}
    stands = [one for one in earlier if one.step in known and (one.step not in again or one.outcome == "started")]
    return [one for one in stands if not (one.outcome == "started" and one.step in how.repeat)]
