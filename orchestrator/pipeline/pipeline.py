"""A built pipeline: immutable, checked, and run as often as one likes, also several times at once."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel

from ...catalog.errors import CheckpointError
from .. import threads
from ..checkpoints import Store
from ..checkpoints.codec import decode
from ..context import place_now
from ..events import Listener
from ..runtime import Budget, Limit, Runtime
from .annotations import Type
from .drawing import mermaid
from .extending import extend_run
from .inputs import check_inputs
from .ledger import Keep
from .open_run import OpenRun
from .outcomes import FallbackPolicy
from .report import RunReport
from .resuming import Changed, Checkpointing
from .run import Run
from .steps import CompiledStep, Input
from .streaming import EventStream


def run_to_end(run: Run, backend: str = "asyncio") -> RunReport:
    """Executes a run where no event loop runs.

    Raises:
        RunInterrupted: Ctrl-C; carries the partial report.
        RuntimeError: an event loop runs in this thread.
    """
    with contextlib.suppress(anyio.NoEventLoopError):
        anyio.lowlevel.current_token()
        raise RuntimeError("an event loop is running in this thread: use `await pipeline.run(...)` in it")
    try:
        return anyio.run(run.execute, backend=backend)
    except KeyboardInterrupt:
        raise RunInterrupted(run.report()) from None


def _keeping(store: Store | None) -> Checkpointing | None:
    return None if store is None else Checkpointing(store)


class RunInterrupted(KeyboardInterrupt):
    """Raised by `run_sync` after Ctrl-C.

    Attributes:
        report: what the run had come to.
    """

    def __init__(self, report: RunReport) -> None:
        super().__init__("the run was interrupted")
        self.report = report


@dataclass(frozen=True, slots=True, repr=False)
class Pipeline:
    """Made by `PipelineBuilder.build()`.

    Attributes:
        name: for reports.
        steps: compiled steps in topological order.
        edges: (dependency, dependant) pairs of step names.
        inputs: name to what a run must or may give.
        inputs_declared: whether the author declared the inputs.
        runtime: runs the tools.
        policy: what a failed step does to the rest.
        limit: steps that run at the same time, at most; None: no limit.
        timeout: seconds for a whole run; None: no limit.
        budget: what the tool calls of a run may spend; None: no limit.
        call_limit: how often a run calls tools; None: no limit.
    """

    name: str
    steps: tuple[CompiledStep, ...]
    edges: tuple[tuple[str, str], ...]
    inputs: Mapping[str, Input]
    inputs_declared: bool
    runtime: Runtime
    policy: FallbackPolicy
    limit: int | None
    timeout: float | None
    budget: Budget | None = None
    call_limit: Limit | None = None

    async def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the run keeps it with a cancel scope of its own
        limit: int | None = None,
        keep: Keep = "all",
        on_event: Listener | None = None,
        store: Store | None = None,
        run_id: str | None = None,
    ) -> RunReport:
        """Runs the pipeline on asyncio or trio.

        Args:
            inputs: input name to value; see `Pipeline.inputs`.
            timeout: seconds for this run; the pipeline's own by default.
            limit: steps at the same time; the pipeline's own by default.
            keep: "all" outputs stay in the report, or only those of the "leaves", the steps that nothing waits for.
                With "leaves" an output is dropped when its last reader is done.
            on_event: called with each `Event` of the run, in the event loop; it should be quick.
            store: keeps the outcome of each step, so that the run can be resumed. Default: nothing is kept.
            run_id: the run's id; a new one by default.

        Raises:
            InputError: an input is missing, unknown or ill-typed; nothing has started.
            CheckpointError: the store has a run of that id, or does not work.
        """
        run = self.prepare(
            inputs, timeout=timeout, limit=limit, keep=keep, run_id=run_id, checkpointing=_keeping(store)
        )
        if on_event is not None:
            run.listen(on_event)
        return await run.execute()

    async def resume(
        self,
        run_id: str,
        *,
        store: Store,
        retry_failed: bool = False,
        changed: Changed = "refuse",
        repeat: Iterable[str] = (),
        timeout: float | None = None,  # noqa: ASYNC109 - the run keeps it with a cancel scope of its own
        limit: int | None = None,
        on_event: Listener | None = None,
    ) -> RunReport:
        """Goes on with a run that was kept, wherever it was cut off: no step whose outcome was written down runs again.

        A step that was under way runs again, with the same idempotency key. A tool that must not be repeated (it has
        side effects, and is not said to be idempotent) fails with "side_effect_blocked" instead: somebody has to find
        out whether it has happened.

        Args:
            run_id: the run's id.
            store: where it was kept.
            retry_failed: whether steps that have failed are tried again, and what was built on them is done again.
            changed: when the pipeline is no longer the same: "refuse", or "map": outcomes of steps that are as they
                were stand, the others and what was built on them are done again.
            repeat: names of steps that are called again although nobody knows whether they have happened.
            timeout: as in `run`, for the rest.
            limit: as in `run`.
            on_event: as in `run`.

        Raises:
            CheckpointError: there is no such run, another process runs it, the pipeline has changed, a kept value
                cannot be read, or the store does not work.
        """
        how = Checkpointing(store, True, retry_failed, changed, frozenset(repeat))
        run = await self.prepare_to_resume(run_id, how, timeout=timeout, limit=limit)
        if on_event is not None:
            run.listen(on_event)
        return await run.execute()

    async def prepare_to_resume(
        self,
        run_id: str,
        how: Checkpointing,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the run keeps it with a cancel scope of its own
        limit: int | None = None,
    ) -> Run:
        """Returns a `Run` that goes on with a kept one; arguments and errors as in `resume`."""
        kept = await threads.run_in_thread(how.store.load, run_id=run_id)
        if kept is None:
            raise CheckpointError(f"there is no run {run_id!r} in the store")
        inputs = decode(kept[0].inputs)
        return self.prepare(inputs, timeout=timeout, limit=limit, run_id=run_id, checkpointing=how)

    def stream(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
        keep: Keep = "all",
        store: Store | None = None,
        run_id: str | None = None,
    ) -> EventStream:
        """Runs the pipeline and gives its events as they happen; arguments as in `run`.

        The last event is RUN_FINISHED and has the report. Who stops reading cancels the run.

        Raises:
            InputError: an input is missing, unknown or ill-typed; nothing has started.
            CheckpointError: raised by the stream: the store has a run of that id, or does not work.

        Example:
            >>> async with pipeline.stream({"query": "timeout"}) as events:
            ...     async for event in events:
            ...         print(event)
            >>> events.report.ok
            True
        """
        keeping = _keeping(store)
        run = self.prepare(inputs, timeout=timeout, limit=limit, keep=keep, run_id=run_id, checkpointing=keeping)
        return EventStream(run)

    def open(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
        on_event: Listener | None = None,
    ) -> OpenRun:
        """Runs the pipeline and lets steps be added meanwhile; see `OpenRun`. Arguments as in `run`.

        Every output is kept, so that later steps can use it.

        Raises:
            InputError: an input is missing, unknown or ill-typed; nothing has started.
        """
        run = self.prepare(inputs, timeout=timeout, limit=limit, is_open=True)
        if on_event is not None:
            run.listen(on_event)

        extend = functools.partial(extend_run, run, given=inputs or {}, runtime=self.runtime, policy=self.policy)
        return OpenRun(run, extend)

    def run_sync(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
        keep: Keep = "all",
        on_event: Listener | None = None,
        store: Store | None = None,
        run_id: str | None = None,
        backend: str = "asyncio",
    ) -> RunReport:
        """The same where no event loop runs.

        Raises:
            InputError: an input is missing, unknown or ill-typed; nothing has started.
            RunInterrupted: Ctrl-C; carries the partial report.
            RuntimeError: an event loop runs in this thread: await `run` instead.
        """
        run = self.prepare(
            inputs, timeout=timeout, limit=limit, keep=keep, run_id=run_id, checkpointing=_keeping(store)
        )
        if on_event is not None:
            run.listen(on_event)
        return run_to_end(run, backend)

    @property
    def leaves(self) -> Mapping[str, Type]:
        """Name to output type of the steps that nothing waits for; they are what a pipeline gives as a step."""
        return {step.name: step.returns for step in self.steps if not step.dependants}

    async def run_within(self, inputs: Mapping[str, Any]) -> RunReport:
        """Runs it as a step of another run, with an id that is the same for each attempt of that step.

        Args:
            inputs: as for `run`.

        Raises:
            InputError: an input is missing or ill-typed.
        """
        around = place_now.get()
        journal = None if around is None or around.run is None else around.run.journal
        keeping = None
        if journal is not None:
            again = journal.retry_failed or (around is not None and around.attempt > 1)
            keeping = Checkpointing(journal.store, resume=None, retry_failed=again, changed="map")
        run_id = None if around is None else around.key
        return await self.prepare(inputs, run_id=run_id, checkpointing=keeping).execute()

    def prepare(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
        keep: Keep = "all",
        is_open: bool = False,
        run_id: str | None = None,
        checkpointing: Checkpointing | None = None,
    ) -> Run:
        """Checks the inputs and returns a `Run` to execute, cancel and ask for reports; arguments as in `run`.

        Args:
            is_open: whether it goes on until it is closed, and takes steps meanwhile.
            run_id: None: a new one.
            checkpointing: where it is kept; None: nowhere.

        Raises:
            InputError: an input is missing, unknown or ill-typed.
            ValueError: `timeout`, `limit` or `keep` is out of range.
        """
        if keep not in ("all", "leaves"):
            raise ValueError(f"keep must be 'all' or 'leaves', got {keep!r}")
        if limit is not None and limit < 1:
            raise ValueError(f"limit must be at least 1, got {limit!r}")
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout must be positive, got {timeout!r}")
        given = dict(inputs or {})
        unused = check_inputs(self.inputs, given, declared=self.inputs_declared)
        return Run(
            self.name,
            self.steps,
            given,
            runtime=self.runtime,
            policy=self.policy,
            limit=self.limit if limit is None else limit,
            timeout=self.timeout if timeout is None else timeout,
            keep=keep,
            edges=self.edges,
            unused_inputs=unused,
            is_open=is_open,
            run_id=run_id,
            budget=self.budget,
            checkpointing=checkpointing,
            call_limit=self.call_limit,
        )

    def to_mermaid(self) -> str:
        """The pipeline as a Mermaid flow chart."""
        return mermaid([step.name for step in self.steps], self.edges)

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.inputs.values())) or "none"
        return f"Pipeline({self.name!r}, {len(self.steps)} steps, inputs: {inputs})"
