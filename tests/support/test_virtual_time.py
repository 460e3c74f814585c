"""Virtual time itself: it jumps over sleeps, never over threads that compute."""

from __future__ import annotations

import time

import anyio
import anyio.to_thread
import pytest
from toolpath.orchestrator import threads
from toolpath.orchestrator.threads import MAX_THREADS

from .virtual_time import BACKENDS, Gate, run_virtually
from .virtual_time import virtual_backend as anyio_backend

__all__ = ["anyio_backend"]

pytestmark = pytest.mark.anyio
A_YEAR = 365 * 86_400.0


async def test_a_year_passes_at_once() -> None:
    real, virtual = time.monotonic(), anyio.current_time()
    await anyio.sleep(A_YEAR)
    assert anyio.current_time() - virtual == pytest.approx(A_YEAR)
    assert time.monotonic() - real < 5


async def test_sleepers_wake_in_the_order_of_their_timers() -> None:
    woken: list[int] = []

    async def sleep(seconds: int) -> None:
        await anyio.sleep(seconds)
        woken.append(seconds)

    async with anyio.create_task_group() as tasks:
        for seconds in (3, 1, 2):
            tasks.start_soon(sleep, seconds)
    assert woken == [1, 2, 3]


@pytest.mark.parametrize("through", ["anyio", "ours"])
async def test_time_stands_still_while_a_thread_computes(through: str) -> None:
    def compute() -> int:
        return sum(range(300_000))

    for _ in range(20):
        with anyio.fail_after(0.001):
            result = await (anyio.to_thread.run_sync(compute) if through == "anyio" else threads.run_in_thread(compute))
        assert result == sum(range(300_000))


@pytest.mark.parametrize("through", ["anyio", "ours"])
async def test_time_goes_on_while_a_thread_hangs_at_a_gate(through: str) -> None:
    gate = Gate()
    with anyio.move_on_after(5) as scope:
        if through == "anyio":
            await anyio.to_thread.run_sync(gate.wait, abandon_on_cancel=True)
        else:
            await threads.run_in_thread(gate.wait)
    gate.open()
    assert scope.cancelled_caught


async def test_a_thread_let_through_its_gate_holds_up_time_again() -> None:
    gate, started = Gate(), anyio.current_time()

    def work() -> int:
        gate.wait()
        return sum(range(300_000))

    async def let_go_after_an_hour() -> None:
        await anyio.sleep(3600)
        gate.open()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(let_go_after_an_hour)
        with anyio.fail_after(3600.001):
            await threads.run_in_thread(work)
    assert anyio.current_time() - started == pytest.approx(3600)


async def test_calls_that_queue_for_a_thread_do_not_hold_up_time() -> None:
    gate = Gate()

    async def hang() -> None:
        await threads.run_in_thread(gate.wait)

    with anyio.move_on_after(1) as scope:
        async with anyio.create_task_group() as tasks:
            for _ in range(MAX_THREADS + 5):
                tasks.start_soon(hang)
    gate.open()
    assert scope.cancelled_caught


def test_each_run_starts_a_new_clock() -> None:
    async def elapsed() -> float:
        started = anyio.current_time()
        await anyio.sleep(10)
        return anyio.current_time() - started

    for backend in BACKENDS * 2:
        assert run_virtually(backend, elapsed) == pytest.approx(10)
