"""Ending a run early: from inside, from outside, and by Ctrl-C."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from typing import Any

import anyio
import pytest
from toolpath.orchestrator import PipelineBuilder, RunInterrupted

from tests.orchestrator.building import CANCELLED, SKIPPED, SUCCEEDED, graph, outcomes, raising, returning, single
from tests.support.virtual_time import Gate, run_virtually

pytestmark = pytest.mark.anyio

BACKENDS = ["asyncio", "trio"]


def slow_graph() -> Any:
    edges = {"quick": [], "slow": [], "after": ["slow"]}
    return graph(edges, {"quick": returning(1, after=1), "slow": returning(2, after=100)}).build()


async def test_a_run_cancelled_before_it_begins_starts_nothing() -> None:
    run = slow_graph().prepare()
    run.cancel("changed my mind")
    report = await run.execute()
    assert outcomes(report) == {"quick": "skipped", "slow": "skipped", "after": "skipped"}
    assert report.outcome is CANCELLED
    assert report.reason == "changed my mind"
    assert {step.reason for step in report} == {"changed my mind"}
    assert report.elapsed == 0


async def test_a_run_cancelled_while_it_runs_keeps_what_it_has() -> None:
    run = slow_graph().prepare()

    async def cancel_later() -> None:
        await anyio.sleep(5)
        run.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancel_later)
        report = await run.execute()
    assert outcomes(report) == {"quick": "succeeded", "slow": "cancelled", "after": "skipped"}
    assert report.outcome is CANCELLED
    assert report.partial
    assert report.reason == "the run was cancelled"
    assert report.elapsed == pytest.approx(5)


async def test_a_step_may_cancel_its_own_run() -> None:
    async def stop() -> None:
        run.cancel("enough")
        await anyio.sleep(10)

    run = graph({"stop": [], "after": ["stop"]}, {"stop": stop}).build().prepare()
    report = await run.execute()
    assert outcomes(report) == {"stop": "cancelled", "after": "skipped"}
    assert report.elapsed == 0


async def test_cancelling_a_run_that_is_over_changes_nothing() -> None:
    run = single(returning(1)).prepare()
    report = await run.execute()
    run.cancel()
    assert run.report().to_dict() == report.to_dict()
    assert report.ok


async def test_cancelling_twice_keeps_the_first_reason() -> None:
    run = slow_graph().prepare()
    run.cancel("first")
    run.cancel("second")
    assert (await run.execute()).reason == "first"


async def test_a_run_is_executed_once() -> None:
    run = single(returning(1)).prepare()
    await run.execute()
    with pytest.raises(RuntimeError, match="executed once: prepare another"):
        await run.execute()


async def test_cancellation_from_outside_passes_through_and_leaves_a_report() -> None:
    run = slow_graph().prepare()
    with anyio.move_on_after(5) as scope:
        await run.execute()
    assert scope.cancelled_caught
    report = run.report()
    assert outcomes(report) == {"quick": "succeeded", "slow": "cancelled", "after": "skipped"}
    assert report.reason == "the run was cancelled from outside"
    assert report.outcome is CANCELLED


def test_a_native_cancellation_passes_through_too() -> None:
    import asyncio

    async def main() -> Any:
        run = slow_graph().prepare()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await run.execute()
        return run.report()

    report = run_virtually("asyncio", main)
    assert outcomes(report) == {"quick": "succeeded", "slow": "cancelled", "after": "skipped"}


async def test_a_step_that_ends_well_although_cancelled_has_succeeded() -> None:
    async def shielded() -> str:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(10)
        return "finished"

    run = graph({"shielded": [], "after": ["shielded"]}, {"shielded": shielded}).build().prepare()
    with anyio.move_on_after(5):
        await run.execute()
    assert run.report()["shielded"].value == "finished"
    assert run.report()["after"].outcome is SKIPPED


async def test_a_step_that_fails_while_it_is_cancelled_has_failed() -> None:
    async def untidy() -> None:
        try:
            await anyio.sleep(100)
        finally:
            raise ValueError("cleaning up failed")

    run = single(untidy).prepare()
    with anyio.move_on_after(5):
        await run.execute()
    assert isinstance(run.report()["step"].exception, ValueError)


async def test_a_hung_thread_does_not_hold_up_a_cancelled_run() -> None:
    gate = Gate()
    run = graph({"stuck": []}, {"stuck": gate.wait}).build().prepare()
    with anyio.move_on_after(5):
        await run.execute()
    gate.open()
    assert run.report()["stuck"].outcome is CANCELLED
    assert run.report().elapsed == pytest.approx(5)


async def test_a_report_of_a_run_under_way_says_so() -> None:
    run = slow_graph().prepare()
    before = run.report()
    assert outcomes(before) == {}
    reports: list[Any] = []

    async def look() -> None:
        await anyio.sleep(5)
        reports.append(run.report())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look)
        await run.execute()
    (halfway,) = reports
    assert outcomes(halfway) == {"quick": "succeeded"}
    assert halfway.elapsed == pytest.approx(5)
    assert halfway.reason == "the run is not over"
    assert "the run is not over" in str(halfway)
    assert halfway.to_mermaid().startswith("flowchart TD")
    assert halfway.to_dict()["steps"].keys() == {"quick"}
    assert halfway.edges == ()
    assert outcomes(halfway) == {"quick": "succeeded"}
    assert run.report().reason == ""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("sync", [False, True])
def test_an_exit_in_a_step_ends_the_run_with_that_very_exception(
    backend: str, error: type[BaseException], sync: bool
) -> None:
    def in_thread() -> None:
        raise error("out")

    pipeline = graph(
        {"first": [], "exit": ["first"], "beside": [], "after": ["exit"]},
        {"exit": in_thread if sync else raising(error("out")), "beside": returning(1, after=1000)},
    ).build()
    run = pipeline.prepare()
    with pytest.raises(error):
        run_virtually(backend, run.execute)
    assert outcomes(run.report()) == {
        "first": "succeeded", "exit": "cancelled", "beside": "cancelled", "after": "skipped"
    }  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
def test_run_sync_turns_an_interrupt_into_one_with_the_report(backend: str) -> None:
    pipeline = graph({"first": [], "exit": ["first"]}, {"exit": raising(KeyboardInterrupt())}).build()
    with pytest.raises(RunInterrupted) as caught:
        pipeline.run_sync(backend=backend)
    assert outcomes(caught.value.report) == {"first": "succeeded", "exit": "cancelled"}
    assert isinstance(caught.value, KeyboardInterrupt)


def test_run_sync_returns_the_report() -> None:
    for backend in BACKENDS:
        report = single(returning(7)).run_sync(backend=backend)
        assert (report.value("step"), report.outcome) == (7, SUCCEEDED)


async def test_run_sync_inside_a_running_loop_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match=r"an event loop is running in this thread.*await.*run\("):
        single(returning(7)).run_sync()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("hang", ["await anyio.sleep(60)", "await anyio.sleep_forever()", "thread"])
def test_ctrl_c_ends_run_sync_within_a_second_with_the_partial_report(backend: str, hang: str) -> None:
    body = "def hang(): print('hanging', flush=True); threading.Event().wait(60)"
    if hang != "thread":
        body = f"async def hang(): print('hanging', flush=True); {hang}"
    program = f"""
        import threading, anyio
        from toolpath.orchestrator import PipelineBuilder, RunInterrupted

        async def quick(): return 1
        {body}
        async def after(): return 1

        pipeline = PipelineBuilder().then(quick).then(hang).then(after).build()
        try:
            pipeline.run_sync(backend={backend!r})
        except RunInterrupted as interrupted:
            print({{step.name: str(step.outcome) for step in interrupted.report}}, flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().strip() == "hanging"
            interrupted = time.monotonic()
            process.send_signal(2)
            output, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert output.strip() == "{'quick': 'succeeded', 'hang': 'cancelled', 'after': 'skipped'}", errors
    assert process.returncode == 0
    assert time.monotonic() - interrupted < 5  # a second on a machine that is not busy


async def test_a_failed_builder_step_leaves_no_task_behind() -> None:
    before = anyio.get_running_tasks()
    await PipelineBuilder().parallel([raising(ValueError("x"))]).build().run()
    assert len(anyio.get_running_tasks()) == len(before)
