"""A built pipeline: immutable, checked, and run as often as one likes, also several times at once."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel

from ..runtime import Runtime
from .annotations import Type
from .drawing import mermaid
from .inputs import check_inputs
from .ledger import Keep
from .outcomes import FallbackPolicy
from .report import RunReport
from .scheduler import Run
from .steps import CompiledStep, Input


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

    async def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the run keeps it with a cancel scope of its own
        limit: int | None = None,
        keep: Keep = "all",
    ) -> RunReport:
        """Runs the pipeline on asyncio or trio.

        Args:
            inputs: input name to value; see `Pipeline.inputs`.
            timeout: seconds for this run; the pipeline's own by default.
            limit: steps at the same time; the pipeline's own by default.
            keep: "all" outputs stay in the report, or only those of the "leaves", the steps that nothing waits for.
                With "leaves" an output is dropped when its last reader is done.

        Raises:
            InputError: an input is missing, unknown or ill-typed; nothing has started.
        """
        return await self.prepare(inputs, timeout=timeout, limit=limit, keep=keep).execute()

    def run_sync(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
        keep: Keep = "all",
        backend: str = "asyncio",
    ) -> RunReport:
        """The same where no event loop runs.

        Raises:
            InputError: an input is missing, unknown or ill-typed; nothing has started.
            RunInterrupted: Ctrl-C; carries the partial report.
            RuntimeError: an event loop runs in this thread: await `run` instead.
        """
        with contextlib.suppress(anyio.NoEventLoopError):
            anyio.lowlevel.current_token()
            raise RuntimeError("an event loop is running in this thread: use `await pipeline.run(...)` in it")
        run = self.prepare(inputs, timeout=timeout, limit=limit, keep=keep)
        try:
            return anyio.run(run.execute, backend=backend)
        except KeyboardInterrupt:
            raise RunInterrupted(run.report()) from None

    @property
    def leaves(self) -> Mapping[str, Type]:
        """Name to output type of the steps that nothing waits for; they are what a pipeline gives as a step."""
        return {step.name: step.returns for step in self.steps if not step.dependants}

    async def run_within(self, inputs: Mapping[str, Any]) -> RunReport:
        """Runs it as a step of another run.

        Args:
            inputs: as for `run`.

        Raises:
            InputError: an input is missing or ill-typed.
        """
        return await self.prepare(inputs).execute()

    def prepare(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
        keep: Keep = "all",
    ) -> Run:
        """Checks the inputs and returns a `Run` to execute, cancel and ask for reports; arguments as in `run`.

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
        )

    def to_mermaid(self) -> str:
        """The pipeline as a Mermaid flow chart."""
        return mermaid([step.name for step in self.steps], self.edges)

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.inputs.values())) or "none"
        return f"Pipeline({self.name!r}, {len(self.steps)} steps, inputs: {inputs})"
