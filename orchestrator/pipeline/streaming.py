"""The events of a run as an async iterator, which ends with the run's last event whatever happens."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque
from typing import Any, Self

import anyio
import anyio.lowlevel

from ..events import Event, EventKind
from .report import RunReport
from .run import Run

MAX_BACKLOG = 10_000
"""Events that wait for a slow reader; beyond these, PROGRESS is left out until it catches up. Nothing else ever is."""

_LEFT = "whoever watched the run has left"
_log = logging.getLogger("toolpath")


class EventStream:
    """What `Pipeline.stream` returns: the run starts when it is entered or first iterated over.

    The last event is RUN_FINISHED, with the report, also when the run failed or was cancelled. A reader who leaves
    early cancels the run: with ``async with`` it has ended when the block is left; without, it ends on its own soon.

    Args:
        run: not yet executed.

    Attributes:
        run: the run.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._channel: _Channel | None = None

    @property
    def report(self) -> RunReport:
        """What came of the run so far."""
        return self.run.report()

    @property
    def left_out(self) -> int:
        """How many PROGRESS events a slow reader has missed."""
        return 0 if self._channel is None else self._channel.left_out

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        channel = self._started()
        await anyio.lowlevel.checkpoint()
        while not channel.backlog:
            if channel.over.is_set():
                error, channel.raised = channel.raised, None
                if error is not None:
                    raise error
                raise StopAsyncIteration
            channel.news = anyio.Event()
            try:
                await channel.news.wait()
            except BaseException:
                await self.aclose()
                raise
        return channel.backlog.popleft()

    async def __aenter__(self) -> Self:
        self._started()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Cancels the run, if it is not over, and waits for its end."""
        if self._channel is not None:
            self.run.cancel(_LEFT)
            with anyio.CancelScope(shield=True):
                await self._channel.over.wait()

    def __del__(self) -> None:
        if self._channel is not None and not self._channel.over.is_set():
            self.run.in_loop(self.run.cancel, _LEFT)

    def _started(self) -> _Channel:
        if self._channel is None:
            self._channel = _Channel()
            self.run.listen(self._channel.receive)
            _in_background(self.run, self._channel)
        return self._channel


class _Channel:
    """What the run and its reader share; it does not know the reader, so that one who is gone is noticed."""

    def __init__(self) -> None:
        self.backlog: deque[Event] = deque()
        self.news = anyio.Event()
        self.over = anyio.Event()
        self.raised: BaseException | None = None
        self.left_out = 0
        self.task: Any = None

    def receive(self, event: Event) -> None:
        if event.kind is EventKind.PROGRESS and len(self.backlog) >= MAX_BACKLOG:
            self.left_out += 1
            return
        self.backlog.append(event)
        self.news.set()


async def _drive(run: Run, channel: _Channel) -> None:
    try:
        await run.execute()
    except Exception as error:  # noqa: BLE001 - the reader raises it
        channel.raised = error
    except anyio.get_cancelled_exc_class():
        raise  # the event loop ends; the report says that the run was cancelled
    except BaseException as error:  # noqa: BLE001 - such as Ctrl-C in a step: the reader raises it
        channel.raised = error
    finally:
        channel.over.set()
        channel.news.set()


def _in_background(run: Run, channel: _Channel) -> None:
    """Runs it beside the reader. The one place with a task outside a task group: an async iterator has none to live in.

    It cannot be orphaned: the reader's end, its cancellation and the loop's own end all cancel the run.
    """
    loop: Any = anyio.lowlevel.current_token().native_token
    if isinstance(loop, asyncio.AbstractEventLoop):
        channel.task = loop.create_task(_drive(run, channel))
    else:
        import trio

        trio.lowlevel.spawn_system_task(_drive, run, channel, context=contextvars.copy_context())
