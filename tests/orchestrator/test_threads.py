"""Threads for synchronous code: context, honesty about places, and an exit that nobody can block."""

from __future__ import annotations

import contextvars
import subprocess
import sys
import textwrap
import threading
from collections import deque

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest
from toolpath.orchestrator import threads

from tests.support.virtual_time import Gate

pytestmark = pytest.mark.anyio

_colour: contextvars.ContextVar[str] = contextvars.ContextVar("_colour", default="none")


async def test_the_result_comes_back_from_another_thread() -> None:
    assert await threads.run_in_thread(threading.get_ident) != threading.get_ident()


async def test_arguments_go_by_name_even_one_called_function() -> None:
    def pair(function: int, other: int) -> tuple[int, int]:
        return function, other

    assert await threads.run_in_thread(pair, function=1, other=2) == (1, 2)


async def test_an_exception_keeps_its_type_and_its_traceback() -> None:
    def fail() -> None:
        raise LookupError("nothing here")

    with pytest.raises(LookupError, match="nothing here") as caught:
        await threads.run_in_thread(fail)
    assert caught.traceback[-1].name == "fail"


async def test_context_variables_reach_the_thread_and_stay_there() -> None:
    def read_and_write() -> str:
        seen = _colour.get()
        _colour.set("changed in the thread")
        return seen

    _colour.set("blue")
    assert await threads.run_in_thread(read_and_write) == "blue"
    assert _colour.get() == "blue"


async def test_a_thread_may_run_an_event_loop_of_its_own() -> None:
    async def inner() -> int:
        await anyio.lowlevel.checkpoint()
        return 7

    assert await threads.run_in_thread(lambda: anyio.run(inner)) == 7


async def test_threads_are_used_again() -> None:
    idents = {await threads.run_in_thread(threading.get_ident) for _ in range(50)}
    assert len(idents) < 5


async def test_a_call_that_was_given_up_on_keeps_its_place_until_it_ends() -> None:
    gate = Gate()
    limiter = threads.thread_limiter()
    with anyio.move_on_after(1):
        await threads.run_in_thread(gate.wait)
    assert limiter.borrowed_tokens == 1
    gate.open()
    while limiter.borrowed_tokens:
        await threads.run_in_thread(lambda: None)


async def test_a_call_given_up_on_while_it_queues_never_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MAX_THREADS", 1)
    gate, ran = Gate(), threading.Event()

    async def hang() -> None:
        await threads.run_in_thread(gate.wait)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hang)
        await anyio.sleep(1)
        with anyio.move_on_after(1) as scope:
            await threads.run_in_thread(ran.set)
        gate.open()
    assert scope.cancelled_caught
    assert not ran.is_set()


async def test_a_thread_that_cannot_be_had_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "_Worker", refuse)
    monkeypatch.setattr(threads, "_idle", deque())
    with pytest.raises(RuntimeError, match="can't start new thread"):
        await threads.run_in_thread(len, obj="x")
    assert threads.thread_limiter().borrowed_tokens == 0


async def test_the_loop_can_be_called_back_with_its_token() -> None:
    token = anyio.lowlevel.current_token()
    here = threading.get_ident()
    assert await threads.run_in_thread(lambda: anyio.from_thread.run_sync(threading.get_ident, token=token)) == here


async def test_many_calls_at_once_all_come_back() -> None:
    results: list[int] = []

    async def call(number: int) -> None:
        results.append(await threads.run_in_thread(lambda: number))

    async with anyio.create_task_group() as tasks:
        for number in range(3 * threads.MAX_THREADS):
            tasks.start_soon(call, number)
    assert sorted(results) == list(range(3 * threads.MAX_THREADS))


def test_what_counts_as_async() -> None:
    class Callable:
        async def __call__(self) -> None: ...

    async def function() -> None: ...

    assert threads.runs_in_loop(function)
    assert threads.runs_in_loop(Callable())
    assert not threads.runs_in_loop(Callable)
    assert not threads.runs_in_loop(len)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_hung_thread_does_not_keep_the_process_alive(backend: str) -> None:
    program = f"""
        import threading, anyio
        from toolpath.orchestrator.threads import run_in_thread

        async def main():
            with anyio.move_on_after(0.05):
                await run_in_thread(threading.Event().wait)
            print("went on", flush=True)

        anyio.run(main, backend={backend!r})
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stdout.strip() == "went on"
