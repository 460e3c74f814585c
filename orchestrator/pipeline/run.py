"""One run of a pipeline: it is executed, cancelled, watched, and asked for its report."""

from __future__ import annotations

import functools
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel

from ...catalog.errors import CheckpointError, PipelineError
from .. import threads
from ..context import Place, check_depth, heartbeat, place_now
from ..events import Event, EventKind, Listener
from ..loop import in_loop_from_anywhere, loop_clock
from ..runtime import Budget, Limit, Runtime, Spent
from ..runtime.budget import Meter
from ..runtime.limiting import Limiter
from .calling import Surroundings
from .journal import Journal
from .ledger import Keep, Ledger
from .outcomes import FallbackPolicy, StepOutcome, combine
from .report import RunReport, StepReports
from .resuming import Checkpointing, open_journal, restore
from .scheduler import Scheduler
from .steps import CompiledStep
from .undoing import undo_all

_log = logging.getLogger("toolpath")


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
        run_id: None: a new one.
        is_open: whether it goes on until `close`, and takes steps meanwhile.
        budget: what its tool calls may spend; None: no limit.
        call_limit: how often it calls tools; None: no limit.
        checkpointing: where it is kept; None: nowhere.

    Attributes:
        run_id: the run's id.
        name: the pipeline's name.
    """

    def __init__(
        self,
        name: str,
        steps: Sequence[CompiledStep],
        inputs: Mapping[str, Any],
        *,
        runtime: Runtime,
        policy: FallbackPolicy,
        limit: int | None = None,
        timeout: float | None = None,
        keep: Keep = "all",
        edges: tuple[tuple[str, str], ...] = (),
        unused_inputs: tuple[str, ...] = (),
        run_id: str | None = None,
        is_open: bool = False,
        budget: Budget | None = None,
        call_limit: Limit | None = None,
        checkpointing: Checkpointing | None = None,
    ) -> None:
        self.run_id = run_id or uuid.uuid4().hex[:12]
        self.name = name
        self._policy = policy
        self._timeout = timeout
        self._edges = edges
        self._unused = unused_inputs
        self._listeners: list[Listener] = []
        self._outer = place_now.get()
        self._place = Place("run", name, self._outer, self)
        self._budget = budget
        self._call_limit = call_limit
        self._checkpointing = checkpointing
        self._ledger = Ledger(steps, keep)
        self._is_open = is_open
        self._ledger.remaining += is_open
        self._waited: dict[str, anyio.Event] = {}
        self._around = Surroundings(self, self._ledger.values, inputs, runtime, self._now, self._place)
        self._scheduler = Scheduler(self._ledger, self._around, limit, self._failed_fast)
        self._in_loop: Callable[..., None] = _not_yet
        self._clock: Callable[[], float] = lambda: 0.0
        self._origin = 0.0
        self._elapsed: float | None = None
        self._scope: anyio.CancelScope | None = None
        self._begun = False
        self._stopped: tuple[StepOutcome, str, str] | None = None

    async def execute(self) -> RunReport:
        """Runs all steps and returns the report.

        Failures of steps are in the report. Cancellation from outside passes through.

        Raises:
            RuntimeError: the run was executed before.
            ToolError: "depth_exceeded": too many runs and tool calls are inside each other.
            CheckpointError: it cannot be kept or taken up.
        """
        if self._begun:
            raise RuntimeError("a run is executed once: prepare another one")
        self._begun = True
        self._in_loop = in_loop_from_anywhere()
        self._clock = loop_clock()
        self._origin = self._clock()
        deadline = float("inf") if self._timeout is None else self._origin + self._timeout
        if self._budget is not None:
            self._place.meter = Meter(self._budget, self._clock)
        if self._call_limit is not None:
            self._place.limiter = Limiter(f"the run {self.name}", self._call_limit, self._clock)
        self._watch()
        self.tell(EventKind.RUN_STARTED)
        token = place_now.set(self._place)
        try:
            check_depth(self._place, self._around.runtime.max_depth)
            with anyio.CancelScope(deadline=deadline) as self._scope:
                if self._stopped is not None:  # cancelled before it began
                    self._scope.cancel()
                await anyio.lowlevel.checkpoint()
                if self._checkpointing is not None:
                    await self._take_up(self._checkpointing)
                await self._scheduler.run(self._clock, deadline)
        except BaseExceptionGroup as group:
            raise sole_exception(group) from None
        finally:
            place_now.reset(token)
            self._settle()
            if self._is_abandoned():
                await undo_all(self._ledger, self.journal)
            await self._leave()
            self._finish()
        return self.report()

    def cancel(self, reason: str = "the run was cancelled") -> None:
        """Ends the run: nothing new starts, running steps are cancelled."""
        self._stop(StepOutcome.CANCELLED, "", reason)

    @property
    def steps(self) -> dict[str, CompiledStep]:
        """Step name to step."""
        return {step.name: step for step in self._ledger.steps}

    def add(self, steps: Sequence[CompiledStep], edges: tuple[tuple[str, str], ...]) -> None:
        """Adds compiled steps, which continue the run's indexes.

        Raises:
            PipelineError: the run does not take steps, or no longer.
            ValueError: a step needs an output that was dropped.
        """
        if not self._is_open or self._stopped is not None or self._elapsed is not None:
            why = "it is over" if self._stopped is not None or self._elapsed is not None else "it is closed"
            raise PipelineError(f"no steps can be added to run {self.run_id}: {why}")
        self._ledger.add(steps)
        self._edges += edges
        self._scheduler.wake()

    def close(self) -> None:
        """Ends an open run when the steps that it has are done."""
        if self._is_open:
            self._is_open = False
            self._ledger.remaining -= 1
            self._scheduler.wake()

    async def ended(self, step: str) -> None:
        """Waits until a step has its outcome."""
        if self._ledger.outcomes[self.steps[step].index] is None:
            await self._waited.setdefault(step, anyio.Event()).wait()

    def listen(self, listener: Listener) -> None:
        """Has `listener` called with every event of the run, from its first to its last.

        Raises:
            RuntimeError: the run has begun.
        """
        if self._begun:
            raise RuntimeError("listen before the run is executed, so that no event is missed")
        self._listeners.append(listener)

    def tell(self, kind: EventKind, step: str = "", /, **about: Any) -> None:
        """Tells those who listen what has happened; `about` are fields of the `Event`. From any thread."""
        if self._listeners:
            self._in_loop(self._tell, kind, step, about)

    def _tell(self, kind: EventKind, step: str, about: Mapping[str, Any]) -> None:
        self._deliver(Event(kind=kind, run_id=self.run_id, at=self._now(), step=step, **about))

    def in_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        """Calls a function in the run's event loop, from any thread."""
        self._in_loop(function, *arguments)

    def report(self) -> RunReport:
        """What came of the run so far.

        While it is under way, steps without an outcome yet are left out, and `outcome` speaks of the others only.
        """
        ledger = self._ledger
        over = self._elapsed is not None
        ended = {step.name: step for step in ledger.steps if ledger.outcomes[step.index] is not None}
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

    @property
    def journal(self) -> Journal | None:
        """What writes its outcomes down; None: nothing does."""
        return self._scheduler.journal

    async def _take_up(self, how: Checkpointing) -> None:
        ledger = self._ledger
        journal = await open_journal(self.run_id, self.name, ledger.steps, self._around.inputs, how, self._not_kept)
        self._scheduler.journal = journal
        restore(ledger, journal, self._clock, self._failed_fast)

    def _is_abandoned(self) -> bool:
        """Whether what it has done is to be taken back. A kept run that was only interrupted can go on."""
        if self._stopped is None:
            return False
        _, because, _ = self._stopped
        return self.journal is None or bool(because)

    async def _leave(self) -> None:
        """Notes in the store how the run has ended."""
        if self.journal is None:
            return
        outcome = combine(one for one in self._ledger.outcomes if one is not None)
        outcome, _, reason = self._stopped or (outcome, "", "")
        finish = functools.partial(self.journal.store.finish, self.run_id, str(outcome), reason)
        with anyio.CancelScope(shield=True):
            try:
                await threads.run_in_thread(finish)
            except CheckpointError as fault:
                self._stopped = self._stopped or (StepOutcome.FAILED, "", str(fault))

    def _not_kept(self, fault: Exception) -> None:
        self._stop(StepOutcome.FAILED, "", str(fault))

    def _failed_fast(self, step: CompiledStep) -> None:
        self._stop(StepOutcome.FAILED, step.name, f"step {step.name!r} failed, and its policy is fail_fast")

    def _stop(self, outcome: StepOutcome, because: str, reason: str) -> None:
        if self._stopped is None and self._elapsed is None:
            self._stopped = outcome, because, reason
            self._scheduler.stopped = True
            if self._scope is not None:
                self._scope.cancel()

    @property
    def spent(self) -> Spent:
        """What its tool calls have spent so far; counted only with a budget."""
        meter = self._place.meter
        return meter.spent if isinstance(meter, Meter) else Spent()

    def _settle(self) -> None:
        """Closes the books, whatever ended the run."""
        if self._is_open:
            self._is_open = False
            self._ledger.remaining -= 1
        if self._ledger.remaining:
            if self._stopped is None:
                if self._scope is not None and self._scope.cancelled_caught:
                    limit = f"the run's limit of {self._timeout:g} s was reached"
                    self._stopped = StepOutcome.TIMED_OUT, "", limit
                else:
                    self._stopped = StepOutcome.CANCELLED, "", "the run was cancelled from outside"
            outcome, because, reason = self._stopped
            cut = StepOutcome.TIMED_OUT if outcome is StepOutcome.TIMED_OUT else StepOutcome.CANCELLED
            self._ledger.settle(cut, because, reason, self._clock())

    def _finish(self) -> None:
        self._elapsed = self._now()
        if self._listeners:
            report = self.report()
            self.tell(EventKind.RUN_FINISHED, outcome=report.outcome, message=report.reason, report=report)

    def _watch(self) -> None:
        """Sees to it that those who listen hear of the steps; a run inside a step is heard by the outer one's."""
        if self._outer is None and not self._listeners and not self._is_open:
            return
        around = None if self._outer is None else next((one for one in self._outer.outward() if one.run), None)
        if around is not None and isinstance(around.run, Run) and around.run._listeners:
            self._listeners.append(functools.partial(around.run.forward, around.name))
        self._scheduler.watched = bool(self._listeners)
        self._ledger.on_ended = self._step_ended

    def forward(self, step: str, event: Event) -> None:
        """Hands on what happened in a run inside one of the steps, as seen from this run."""
        self._in_loop(self._forward, step, event)

    def _forward(self, step: str, event: Event) -> None:
        self._deliver(replace(event, path=(step, *event.path), at=self._now()))

    def _step_ended(self, step: CompiledStep) -> None:
        if self._outer is not None:
            heartbeat()  # for the step that this run is in
        if self._waited and (waited := self._waited.pop(step.name, None)) is not None:
            waited.set()
        if self._listeners:
            ledger = self._ledger
            outcome = ledger.outcomes[step.index]
            succeeded = outcome is StepOutcome.SUCCEEDED
            error, reason = ledger.failure(step)
            self.tell(
                EventKind.STEP_FINISHED,
                step.name,
                outcome=outcome,
                value=ledger.values[step.index] if succeeded else None,
                error=error,
                message=reason,
            )

    def _deliver(self, event: Event) -> None:
        for listener in [*self._listeners]:
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - it must not end the run; it is logged
                self._listeners.remove(listener)
                _log.exception("run %s: a listener failed at %s and is not called again", self.run_id, event.kind)


def _not_yet(function: Callable[..., None], *arguments: Any) -> None:
    """Before a run has its loop, everything happens where it is called."""
    function(*arguments)


def sole_exception(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What is inside a group of one (Ctrl-C in a step, say); a group of several stays a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
