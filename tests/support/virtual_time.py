"""Virtual time for asyncio and trio: when nothing can go on, the clock jumps to the next timer, and nobody sleeps.

Worker threads take part: while one computes, time stands still. A thread that is meant to hang waits at a `Gate`, and
then time goes on without it. Real sockets and processes do not take part: what waits for one needs real time.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import math
import selectors
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
import trio
import trio.abc
import trio.testing
from toolpath.orchestrator import threads

BACKENDS = ("asyncio", "trio")
LONGEST_WAIT = 20.0
"""Real seconds that a thread waits at a gate at most, so that a broken test ends."""

Result = TypeVar("Result")
Waker = Callable[[], object]


class _Jobs:
    """The calls that are given to threads, from the moment they are awaited until they are delivered or given up."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._here = threading.local()
        self._awaited: dict[int, anyio.CapacityLimiter | None] = {}
        self._at_gates: dict[int, Waker] = {}
        self._wakers: dict[int, Waker] = {}

    async def run(
        self,
        original: Callable[..., Awaitable[Any]],
        limiter: anyio.CapacityLimiter | None,
        function: Callable[..., Any],
        /,
        *args: Any,
        **options: Any,
    ) -> Any:
        """Calls `original`, which runs `function` in a thread, and counts the job while it is awaited."""
        job = next(self._numbers)
        self._awaited[job], self._wakers[job] = limiter, _waker()

        @functools.wraps(function)
        def in_thread(*args: Any, **kwargs: Any) -> Any:
            self._here.job = job
            return function(*args, **kwargs)

        try:
            return await original(in_thread, *args, **options)
        finally:
            del self._awaited[job], self._wakers[job]

    def compute(self) -> bool:
        """Whether a thread computes or is about to: then time must not jump."""
        if not self._awaited:
            return False
        limiters = {id(one): one for one in self._awaited.values() if one is not None}.values()
        queueing = sum(one.statistics().tasks_waiting for one in limiters)
        return len(self._awaited.keys() - self._at_gates.keys()) > queueing

    def stop_at_gate(self) -> int:
        """Called in a thread whose job does not count until it goes on."""
        job: int = self._here.job
        wake = self._wakers.get(job, lambda: None)
        self._at_gates[job] = wake
        _quietly(wake)
        return job

    def go_on(self, job: int) -> None:
        _quietly(self._at_gates.pop(job))


_jobs = _Jobs()


class Gate:
    """Where threads hang until the test lets them go, without holding up virtual time."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._lock = threading.Lock()
        self._waiting: list[int] = []
        self.reached = threading.Event()

    def wait(self) -> None:
        """Hangs. Called in a worker thread."""
        with self._lock:
            if not self._opened.is_set():
                self._waiting.append(_jobs.stop_at_gate())
        self.reached.set()
        assert self._opened.wait(LONGEST_WAIT), "the test never opened the gate"

    def open(self) -> None:
        """Lets all threads go, now and later."""
        with self._lock:
            for job in self._waiting:
                _jobs.go_on(job)
            self._waiting.clear()
            self._opened.set()


class _JumpingSelector(selectors.DefaultSelector):  # type: ignore[valid-type, misc]
    """Instead of waiting for a timer, moves the clock to it."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return list(super().select(0))
        if timeout is None or _jobs.compute():
            return list(super().select(None))  # the end of a thread, or its coming to a gate, wakes the loop
        events = list(super().select(0))
        if not events:
            self.now = math.nextafter(self.now + timeout, math.inf)  # asyncio's own tolerance is lost in large numbers
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An asyncio event loop whose clock starts at 0 and jumps."""

    def __init__(self) -> None:
        self._virtual = _JumpingSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


class _StandStillForThreads(trio.abc.Instrument):
    """Lets trio's `MockClock` jump only while no thread computes."""

    def __init__(self, clock: trio.testing.MockClock) -> None:
        self._clock = clock

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        threshold = math.inf if _jobs.compute() else 0.0
        if threshold != self._clock.autojump_threshold:
            self._clock.autojump_threshold = threshold


def _waker() -> Waker:
    """What makes the running loop look again, from any thread."""
    loop: Any = anyio.lowlevel.current_token().native_token
    soon = loop.call_soon_threadsafe if isinstance(loop, asyncio.AbstractEventLoop) else loop.run_sync_soon
    return functools.partial(soon, lambda: None)


def _quietly(wake: Waker) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is gone: nobody needs to hear of it
        wake()


@contextlib.contextmanager
def counted_threads() -> Iterator[None]:
    """While it lasts, worker threads hold up virtual time."""
    anyios, ours = anyio.to_thread.run_sync, threads.run_in_thread

    async def run_sync(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return await _jobs.run(anyios, options.get("limiter"), function, *args, **options)

    async def run_in_thread(function: Callable[..., Any], /, **arguments: Any) -> Any:
        return await _jobs.run(ours, threads.thread_limiter(), function, **arguments)

    anyio.to_thread.run_sync, threads.run_in_thread = run_sync, run_in_thread
    try:
        yield
    finally:
        anyio.to_thread.run_sync, threads.run_in_thread = anyios, ours


def virtual_options(backend: str) -> dict[str, Any]:
    """What makes anyio run `backend` in virtual time."""
    if backend == "asyncio":
        return {"loop_factory": VirtualTimeLoop}
    clock = trio.testing.MockClock(autojump_threshold=0)
    return {"clock": clock, "instruments": [_StandStillForThreads(clock)]}


def run_virtually(backend: str, function: Callable[..., Awaitable[Result]], *args: Any) -> Result:
    """`anyio.run` in virtual time, for tests that make a loop for each example."""
    with counted_threads():
        return anyio.run(function, *args, backend=backend, backend_options=virtual_options(backend))


@pytest.fixture(params=BACKENDS)
def virtual_backend(request: pytest.FixtureRequest) -> Iterator[tuple[str, dict[str, Any]]]:
    """Both backends in virtual time. A folder's conftest.py takes it over with
    ``from tests.support.virtual_time import virtual_backend as anyio_backend``."""
    with counted_threads():
        yield request.param, virtual_options(request.param)
