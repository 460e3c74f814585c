"""One run's part of a store: writes its outcomes down, and knows those that were written before."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

import anyio

from ...catalog import Degraded, ErrorInfo, ToolError
from ...catalog.digest import digest_of
from ..checkpoints import RunRecord, StepRecord, Store
from ..checkpoints.codec import decode, encode
from ..loop import loop_scheduler
from ..runtime import classify
from .calling import Served
from .outcomes import StepOutcome
from .steps import CompiledStep

MAX_QUEUED = 10_000
"""Outcomes of one run that wait for their commit; more wait for their turn."""

UNDONE = "undone"
"""Outcome of a step that was taken back: when the run is resumed, it is done again."""

STARTED = "started"
"""Outcome of a call that must not be repeated, from its start until there is a real one."""


class Journal:
    """What a run asks of its store. To be made in the run's event loop.

    Args:
        store: where it is kept.
        run_id: the run's id.
        on_fault: see below.
        earlier: what was written before, of a run that is resumed.
        retry_failed: whether its failures are tried again, also in pipelines inside.

    Attributes:
        store: where it is kept.
        steps: step name to its outcome, of those that have one.
        on_fault: called when the store does not work; the outcome that could not be written down stands in this run.
        unknown: (step, item) of calls that must not be repeated, and of which nobody knows how they ended.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        on_fault: Callable[[Exception], None],
        earlier: Sequence[StepRecord] = (),
        *,
        retry_failed: bool = False,
    ) -> None:
        self.store = store
        self.retry_failed = retry_failed
        self.on_fault = on_fault
        self._run_id = run_id
        self._in_loop: Callable[..., object] = loop_scheduler()
        self._room = anyio.Semaphore(MAX_QUEUED, fast_acquire=True)
        self._items: dict[str, dict[int, StepRecord]] = {}
        self.steps: dict[str, StepRecord] = {}
        self.unknown: set[tuple[str, int | None]] = set()
        for record in earlier:
            if record.outcome == STARTED:
                self.unknown.add((record.step, record.item))
            elif record.item is None:
                self.steps[record.step] = record
            else:
                self._items.setdefault(record.step, {})[record.item] = record

    def items(self, step: str) -> dict[int, Any]:
        """Position to answer, of the items of a step that succeeded before."""
        done = self._items.get(step, {})
        return {item: value_of(record) for item, record in done.items() if record.outcome == StepOutcome.SUCCEEDED}

    def check_known(self, step: str, item: int | None) -> None:
        """Refuses to call what may have happened already.

        Raises:
            ToolError: "side_effect_blocked".
        """
        if (step, item) in self.unknown:
            where = step if item is None else f"{step}[{item}]"
            raise ToolError(
                f"{where} had started when the run was cut off, nobody knows whether it has happened, and it must not "
                f"happen twice",
                "side_effect_blocked",
                suggestion=f"find out, and resume the run with repeat=[{step!r}] if it has not happened",
            )

    async def started(self, step: str, item: int | None) -> None:
        """Notes that a call begins that must not be repeated."""
        await self._write(StepRecord(step, item, STARTED))

    async def succeeded(self, step: CompiledStep, value: Any, served: Served | None, item: int | None = None) -> None:
        """Notes an output.

        Raises:
            CheckpointError: it cannot be kept.
        """
        where = step.name if item is None else f"{step.name}[{item}]"
        confidence, note = 1.0, ""
        if type(value) is Degraded:
            value, confidence, note = value.value, value.confidence, value.note
        record = StepRecord(
            step=step.name,
            item=item,
            outcome=str(StepOutcome.SUCCEEDED),
            value=encode(value, f"the output of step {where!r}"),
            level=_position(step, served),
            confidence=confidence,
            note=note,
            attempts=1 if served is None else max(served.attempts, 1),
        )
        await self._write(record)

    async def failed(
        self, step: CompiledStep, error: Exception, outcome: StepOutcome, served: Served | None, item: int | None = None
    ) -> None:
        """Notes a failure."""
        info = classify(error)
        if outcome is StepOutcome.FAILED and info.error_type == "timeout":
            outcome = StepOutcome.TIMED_OUT
        attempts = 1 if served is None else max(served.attempts, 1)
        record = StepRecord(
            step.name, item, str(outcome), error=_error_text(info), level=_position(step, served), attempts=attempts
        )
        await self._write(record)

    async def skipped(self, step: CompiledStep, reason: str) -> None:
        """Notes that a step's condition does not hold."""
        await self._write(StepRecord(step.name, None, str(StepOutcome.SKIPPED), reason=reason))

    async def undone(self, step: CompiledStep) -> None:
        """Notes that what a step has done was taken back."""
        await self._write(StepRecord(step.name, None, UNDONE))

    async def _write(self, record: StepRecord) -> None:
        safe = anyio.Event()
        faults: list[Exception | None] = []

        def done(fault: Exception | None) -> None:
            faults.append(fault)
            safe.set()

        async with self._room:
            self.store.submit(self._run_id, record, self._in_loop, done)
            await safe.wait()
        if faults[0] is not None:
            self.on_fault(faults[0])


def value_of(record: StepRecord) -> Any:
    """The output of a record, marked as second-best when it was."""
    value = decode(record.value)
    return Degraded(value, record.note, record.confidence) if record.note or record.confidence < 1 else value


def error_of(record: StepRecord) -> ToolError:
    """The failure of a record, as an exception."""
    if not record.error:
        return ToolError(f"step {record.step!r} failed in an earlier part of the run")
    return ToolError.from_info(ErrorInfo.model_validate_json(record.error))


def _error_text(info: ErrorInfo) -> str:
    return info.model_dump_json(exclude={"category", "retry", "retryable"})


def _position(step: CompiledStep, served: Served | None) -> int:
    if served is None or served.level is None:
        return 0
    return next((index for index, level in enumerate(step.levels) if level is served.level), 0)


def fingerprint(step: CompiledStep, steps: Sequence[CompiledStep]) -> str:
    """A digest of what a step is: what it waits for, what it runs, and how."""
    levels = [[level.name, level.kind.name, [name for name, _ in level.bindings]] for level in step.levels]
    deps = sorted(steps[dep].name for dep in step.deps)
    return digest_of([deps, levels, step.form.name, str(step.join), step.spread is not None])[:16]


def changes(record: RunRecord, now: dict[str, str]) -> list[str]:
    """What is different about a pipeline since a run of it was kept, in words."""
    then = record.fingerprints
    told = [f"{name!r} is gone" for name in then if name not in now]
    told += [f"{name!r} is new" for name in now if name not in then]
    told += [f"{name!r} has changed" for name in now if name in then and now[name] != then[name]]
    return told


def owner_now() -> str:
    """This process, so that others see who runs a run."""
    return f"{socket.gethostname()}:{os.getpid()}"


def is_running_elsewhere(record: RunRecord) -> bool:
    """Whether another process of this machine seems to run it still."""
    host, _, pid = record.owner.rpartition(":")
    if record.state != "running" or host != socket.gethostname() or not pid.isdigit() or int(pid) == os.getpid():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
