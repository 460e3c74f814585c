"""The running event loop, whichever it is: its clock, and how to reach it from any thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

import anyio.lowlevel


def loop_clock() -> Callable[[], float]:
    """The running loop's own clock, so that virtual time in tests rules here too; it also works in callbacks."""
    loop = anyio.lowlevel.current_token().native_token
    if isinstance(loop, asyncio.AbstractEventLoop):
        return loop.time
    import trio

    return trio.current_time


def loop_scheduler() -> Callable[..., object]:
    """What schedules a callback on the running loop from any thread."""
    loop: Any = anyio.lowlevel.current_token().native_token
    return loop.call_soon_threadsafe if isinstance(loop, asyncio.AbstractEventLoop) else loop.run_sync_soon


def in_loop_from_anywhere() -> Callable[..., None]:
    """What calls a function in the running loop: at once in the loop's own thread, and soon from any other one."""
    schedule, home = loop_scheduler(), threading.get_ident()

    def call(function: Callable[..., object], *arguments: object) -> None:
        if threading.get_ident() == home:
            function(*arguments)
        else:
            with contextlib.suppress(RuntimeError):  # the loop is gone: there is nobody left to tell
                schedule(function, *arguments)

    return call
