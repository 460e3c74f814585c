"""Where synchronous code runs: daemon threads that the event loop can walk away from, under a limit of our own.

anyio's worker threads will not do for code that may hang: on asyncio they keep the process alive until it ends, and
a call that was given up on no longer counts as a thread in use.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import anyio
import anyio.lowlevel

from .loop import loop_scheduler

MAX_THREADS = 128
"""Threads per event loop. A thread that was given up on keeps its place until it ends, so this is
generous beside anyio's default of 40: hung tools must not starve the others."""

IDLE_SECONDS = 10.0
"""How long a thread without work is kept for the next call."""

Result = TypeVar("Result")

_notice: contextvars.ContextVar[list[object] | None] = contextvars.ContextVar("toolpath_threads_left", default=None)
_limiter: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("toolpath_thread_limiter")


def runs_in_loop(function: Callable[..., Any]) -> bool:
    """Whether `function` is async, so that it needs no thread; objects with an async ``__call__`` count."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


async def run_in_thread(function: Callable[..., Result], /, **arguments: object) -> Result:
    """Calls `function` in a thread, with the caller's context variables.

    When the waiting task is cancelled (a timeout, a stopped run), the wait ends at once and the thread goes on
    alone: Python has no way to stop it. It keeps its place among the `MAX_THREADS` until it ends, and it does not
    keep the process from ending. To call back into the loop, the function needs the loop's
    `anyio.lowlevel.current_token`, as from any thread that is not anyio's own.
    """
    limiter = thread_limiter()
    call = _Call(functools.partial(function, **arguments) if arguments else function, limiter)
    await limiter.acquire_on_behalf_of(call)
    try:
        _hand_over(call)
    except BaseException:  # no thread to be had
        limiter.release_on_behalf_of(call)
        raise
    del function, arguments
    try:
        await call.done.wait()
    except BaseException:
        if (notice := _notice.get()) is not None:
            notice.append(call)
        raise
    return call.result()


@contextlib.contextmanager
def noticing() -> Iterator[list[object]]:
    """Gives a list that holds, afterwards, the calls whose threads were left to themselves meanwhile."""
    outer = _notice.get()
    mine: list[object] = []
    token = _notice.set(mine)
    try:
        yield mine
    finally:
        _notice.reset(token)
        if outer is not None:
            outer += mine


def still_running(left: list[object]) -> str:
    """What a message about a timeout adds when a thread was left to itself."""
    return "; its thread is still running" if left else ""


def thread_limiter() -> anyio.CapacityLimiter:
    """The limit on threads of the running event loop."""
    limiter = _limiter.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(MAX_THREADS)
        _limiter.set(limiter)
    return limiter


class _Call(Generic[Result]):
    """One call on its way through a thread."""

    def __init__(self, function: Callable[[], Result], limiter: anyio.CapacityLimiter) -> None:
        self.done = anyio.Event()
        self._function: Callable[[], Result] | None = function
        self._limiter = limiter
        self._context = contextvars.copy_context()
        self._in_loop = loop_scheduler()
        self._returned: list[Result] = []
        self._raised: BaseException | None = None

    def work(self) -> None:
        """Runs the function, in the thread."""
        assert self._function is not None  # it is called once
        try:
            self._returned.append(self._context.run(_as_outside_any_loop, self._function))
        except BaseException as error:  # noqa: BLE001 - it is raised where the caller waits
            self._raised = error
        self._function = None

    def deliver(self) -> None:
        """Tells the event loop, from the thread; if the loop is gone, nobody waits for the answer."""
        with contextlib.suppress(RuntimeError):
            self._in_loop(self._finish)

    def _finish(self) -> None:
        self._limiter.release_on_behalf_of(self)
        self.done.set()

    def result(self) -> Result:
        """What the function returned; raises what it raised."""
        if self._raised is not None:
            error, self._raised = self._raised, None
            try:
                raise error
            finally:
                del error  # no circle of frame and traceback
        return self._returned.pop()


def _as_outside_any_loop(function: Callable[[], Result]) -> Result:
    """Calls `function` without the mark that sniffio, where it is installed, leaves on the loop's context."""
    try:
        from sniffio import current_async_library_cvar
    except ImportError:
        pass
    else:
        current_async_library_cvar.set(None)
    return function()


class _Worker:
    """A thread that does one call after the other."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[_Call[Any]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="toolpath worker", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                call = self.calls.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                try:
                    _idle.remove(self)
                except ValueError:  # somebody has just taken it: a call is on its way
                    continue
                return
            call.work()
            _idle.append(self)  # before the answer, so that the call that follows on it finds this thread
            call.deliver()
            del call


_idle: deque[_Worker] = deque()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # threads do not survive a fork


def _hand_over(call: _Call[Any]) -> None:
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.calls.put(call)
