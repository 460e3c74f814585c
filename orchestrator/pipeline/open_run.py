"""A run that is still open: steps are added while others are under way, for plans that arrive piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol, Self

import anyio
import anyio.abc

from ...catalog.errors import PipelineError, did_you_mean
from .report import RunReport, StepReport
from .run import Run, sole_exception
from .steps import StepSpec


class Steps(Protocol):
    """What has steps to add: every `PipelineBuilder`."""

    @property
    def specs(self) -> Sequence[StepSpec]:
        """The steps as they were described."""


class OpenRun:
    """What `Pipeline.open` returns; the run is under way inside the ``async with`` block, and over after it.

    Leaving the block closes the run and waits for its steps; leaving it with an exception cancels them.

    Args:
        run: held open.
        extend: checks steps against those there are, and adds them.

    Example:
        >>> async with PipelineBuilder("plan", catalog=catalog).build().open() as run:
        ...     run.add(PipelineBuilder().step("search", bind={"query": "timeout"}))
        ...     found = await run.wait_for("search")
        ...     if found.value:
        ...         run.add(PipelineBuilder().step("read", bind={"path": ref("search")[0]}))
        >>> run.report.ok
        True
    """

    def __init__(self, run: Run, extend: Callable[[Sequence[StepSpec]], None]) -> None:
        self.run = run
        self._extend = extend
        self._group: anyio.abc.TaskGroup | None = None

    @property
    def report(self) -> RunReport:
        """What came of the run so far, or in the end."""
        return self.run.report()

    def add(self, builder: Steps) -> None:
        """Adds the steps of a builder; they may wait for, and read from, any step that is in the run already.

        Everything is checked before anything is added. Names of tools are looked up in the catalog of the run's
        runtime; limits, declared inputs and the failure policy of the builder do not count, the run has its own.

        Raises:
            PipelineError: the run is over or closed; or as for `PipelineBuilder.build`.
            InputError: a step asks for a run input that was not given.
        """
        self._extend(builder.specs)

    async def wait_for(self, step: str) -> StepReport:
        """Waits for a step's outcome.

        Raises:
            PipelineError: there is no such step.
        """
        names = self.run.steps
        if step not in names:
            raise PipelineError(f"there is no step {step!r} in the run{did_you_mean(step, names)}")
        await self.run.ended(step)
        return self.run.report()[step]

    async def __aenter__(self) -> Self:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self.run.execute)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._group is not None  # it was entered
        if error is None:
            self.run.close()
        else:
            self.run.cancel(f"what added its steps failed: {error!r}" if isinstance(error, Exception) else "cancelled")
        try:
            return await self._group.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            if error is not None and len(group.exceptions) == 1 and group.exceptions[0] is error:
                return False
            raise sole_exception(group) from None
