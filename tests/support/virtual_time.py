"""Virtual time for asyncio and trio: when nothing can go on, the clock jumps to the next timer, and nobody sleeps.

Worker threads take part: while one computes, time stands still. A thread that is meant to hang waits at a `Gate`, and
then time goes on without it. Real sockets and processes do not take part: a test that waits for one needs real time.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import selectors
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import sniffio
import trio
import trio.abc
import trio.testing

BACKENDS = ("asyncio", "trio")
LONGEST_WAIT = 20.0
"""Real seconds that a thread waits at a gate at most, so that a broken test ends."""

Result = TypeVar("Result")


class _Threads:
    """Which calls of `anyio.to_thread.run_sync` are under way, and which of their threads stand at a gate."""

    def __init__(self) -> None:
        self._limiters: dict[object, anyio.CapacityLimiter | None] = {}
        self._lock = threading.Lock()
        self._standing = 0
        self._wake: Callable[[], object] = lambda: None

    async def run_sync(self, original: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        """`anyio.to_thread.run_sync`, counted."""
        job = object()
        self._limiters[job] = options.get("limiter")
        self._wake = _waker()
        try:
            return await original(*args, **options)
        finally:
            del self._limiters[job]

    def busy(self) -> bool:
        """Whether a thread computes or is about to: time must not jump."""
        if not self._limiters:
            return False
        limiters = {id(one): one for one in self._limiters.values() if one is not None}.values()
        queueing = sum(one.statistics().tasks_waiting for one in limiters)
        return len(self._limiters) - queueing - self._standing > 0

    def stand(self, by: int) -> None:
        with self._lock:
            self._standing += by
        with contextlib.suppress(RuntimeError):  # the loop may be gone: then nobody needs to hear of it
            self._wake()


_threads = _Threads()


class Gate:
    """Where a thread hangs until the test lets it go, without holding up virtual time."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._standing = 0
        self.reached = threading.Event()

    def wait(self) -> None:
        """Hangs. Called in a worker thread."""
        with self._lock:
            stands = not self._event.is_set()
            self._standing += stands
            if stands:
                _threads.stand(+1)
        self.reached.set()
        assert self._event.wait(LONGEST_WAIT), "the test never opened the gate"

    def open(self) -> None:
        """Lets all threads go, now and later."""
        with self._lock:
            self._event.set()
            if self._standing:
                _threads.stand(-self._standing)
            self._standing = 0


class _JumpingSelector(selectors.DefaultSelector):  # type: ignore[valid-type, misc]
    """Instead of waiting for a timer, moves the clock to it."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return list(super().select(0))
        if _threads.busy() or timeout is None:
            return list(super().select(None))  # the end of a thread, or its coming to a gate, wakes the loop
        events = list(super().select(0))
        if not events:
            self.now += timeout
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An asyncio event loop whose clock starts at 0 and jumps."""

    def __init__(self) -> None:
        self._virtual = _JumpingSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


class _StandsStillForThreads(trio.abc.Instrument):
    """Lets trio's `MockClock` jump only while no thread computes."""

    def __init__(self, clock: trio.testing.MockClock) -> None:
        self._clock = clock

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        threshold = math.inf if _threads.busy() else 0.0
        if threshold != self._clock.autojump_threshold:
            self._clock.autojump_threshold = threshold


def _waker() -> Callable[[], object]:
    """What makes the running loop look again, from any thread."""
    if sniffio.current_async_library() == "asyncio":
        return functools.partial(asyncio.get_running_loop().call_soon_threadsafe, lambda: None)
    return functools.partial(trio.lowlevel.current_trio_token().run_sync_soon, lambda: None)


@contextlib.contextmanager
def counted_threads() -> Iterator[None]:
    """While it lasts, worker threads hold up virtual time."""
    original = anyio.to_thread.run_sync
    anyio.to_thread.run_sync = functools.partial(_threads.run_sync, original)
    try:
        yield
    finally:
        anyio.to_thread.run_sync = original


def backend_options(backend: str) -> dict[str, Any]:
    """What makes anyio run `backend` in virtual time."""
    if backend == "asyncio":
        return {"loop_factory": VirtualTimeLoop}
    clock = trio.testing.MockClock(autojump_threshold=0)
    return {"clock": clock, "instruments": [_StandsStillForThreads(clock)]}


def run_virtually(backend: str, function: Callable[..., Awaitable[Result]], *args: Any) -> Result:
    """`anyio.run` in virtual time, for tests that make a loop for each example."""
    with counted_threads():
        return anyio.run(function, *args, backend=backend, backend_options=backend_options(backend))
