"""Where synchronous code runs: a thread that the event loop can walk away from, under a limit of our own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

MAX_THREADS = 128
"""Threads per event loop. A thread that was given up on keeps its place until it ends, so this is
generous beside anyio's default of 40: hung tools must not starve the others."""

Result = TypeVar("Result")

_limiter: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("toolpath_thread_limiter")


async def run_in_thread(function: Callable[..., Result], /, **arguments: object) -> Result:
    """Calls `function` in a worker thread, with the caller's context variables.

    When the waiting task is cancelled (a timeout, a stopped run), the wait ends at once and the thread goes on
    alone: Python has no way to stop it.
    """
    limiter = _limiter.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(MAX_THREADS)
        _limiter.set(limiter)
    call = functools.partial(function, **arguments) if arguments else function
    return await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=limiter)
