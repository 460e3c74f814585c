"""What those who watch a run are told, and how a stream of events ends."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from toolpath.orchestrator import (
    Event,
    EventKind,
    PipelineBuilder,
    Retry,
    StepOutcome,
    constant,
    progress,
)
from toolpath.orchestrator.pipeline import streaming

from tests.orchestrator.building import FAIL_FAST, graph, make_tool, raising, returning, single
from tests.support.virtual_time import Gate

pytestmark = pytest.mark.anyio

DOWN = ConnectionError("down")


def told(events: list[Event]) -> list[str]:
    return [" ".join(filter(None, [str(event.kind), event.where])) for event in events]


async def read(pipeline: Any, **options: Any) -> list[Event]:
    async with pipeline.stream(**options) as stream:
        return [event async for event in stream]


async def test_a_chain_is_told_from_its_start_to_its_report() -> None:
    events = await read(graph({"a": [], "b": ["a"]}).build())
    assert told(events) == [
        "run_started",
        "step_started a",
        "step_finished a",
        "step_started b",
        "step_finished b",
        "run_finished",
    ]
    assert events[2].value == "a"
    assert events[-1].report is not None
    assert events[-1].report.value("b") == "b"
    assert events[-1].outcome is StepOutcome.SUCCEEDED


async def test_retries_and_fallbacks_are_told_with_their_waits_and_errors() -> None:
    step = single(raising(DOWN), retry=Retry(attempts=2, backoff=3, jitter=0), fallback=[constant("old")])
    events = await read(step)
    assert told(events)[1:-1] == ["step_started step", "retrying step", "fallback step", "step_finished step"]
    retrying, fallback = events[2], events[3]
    assert (retrying.attempt, retrying.wait) == (2, 3)
    assert fallback.level == "constant"
    assert fallback.error is not None
    assert fallback.error.error_type == "unavailable"
    assert events[4].at == pytest.approx(3)


async def test_steps_that_are_skipped_are_told_with_the_reason() -> None:
    events = await read(graph({"a": [], "b": ["a"]}, {"a": raising(DOWN)}).build())
    skipped = next(event for event in events if event.where == "b")
    assert (skipped.kind, skipped.outcome) == (EventKind.STEP_FINISHED, StepOutcome.SKIPPED)
    assert skipped.message == "step 'a' failed"
    assert "step_started b" not in told(events)


async def test_each_step_gets_one_outcome_also_in_a_run_that_stops() -> None:
    edges: dict[str, list[str]] = {"bad": [], "slow": [], "after": ["slow"]}
    pipeline = graph(edges, {"bad": raising(DOWN, after=1), "slow": returning(1, after=9)}, bad=FAIL_FAST).build()
    events = await read(pipeline)
    finished = {event.step: str(event.outcome) for event in events if event.kind is EventKind.STEP_FINISHED}
    assert finished == {"bad": "failed", "slow": "cancelled", "after": "skipped"}
    assert len([event for event in events if event.kind is EventKind.STEP_FINISHED]) == 3
    assert events[-1].kind is EventKind.RUN_FINISHED


async def test_progress_comes_from_async_code_threads_tools_and_items() -> None:
    async def careful() -> None:
        progress("half way", fraction=0.5, rows=7)

    def threaded() -> None:
        progress("in a thread")

    builder = PipelineBuilder().step(careful).step(threaded).step(make_tool("tool", threaded))
    events = await read(builder.map(returning_item, [1, 2], name="each").build())
    notes = {event.step: event for event in events if event.kind is EventKind.PROGRESS and event.item is None}
    assert (notes["careful"].message, notes["careful"].fraction, notes["careful"].data) == (
        "half way",
        0.5,
        {"rows": 7},
    )
    assert notes["threaded"].message == notes["tool"].message == "in a thread"
    items = [event for event in events if event.item is not None]
    assert [(event.item, event.fraction) for event in items] == [(0, 0.5), (1, 1.0)]


async def returning_item(item: int) -> int:
    return item


async def test_a_pipeline_inside_another_is_heard_with_its_path() -> None:
    inner = graph({"x": [], "y": ["x"]}).build()
    events = await read(PipelineBuilder().step(inner, name="sub").build())
    assert told(events) == [
        "run_started",
        "step_started sub",
        "run_started sub",
        "step_started sub > x",
        "step_finished sub > x",
        "step_started sub > y",
        "step_finished sub > y",
        "run_finished sub",
        "step_finished sub",
        "run_finished",
    ]


async def test_a_plain_loop_over_the_stream_reads_to_the_end() -> None:
    seen = [event.kind async for event in single(returning(1)).stream()]
    assert seen[0] is EventKind.RUN_STARTED
    assert seen[-1] is EventKind.RUN_FINISHED


async def test_who_leaves_the_block_early_has_ended_the_run() -> None:
    async with graph({"slow": []}, {"slow": returning(1, after=100)}).build().stream() as stream:
        async for event in stream:
            if event.kind is EventKind.STEP_STARTED:
                break
    report = stream.report
    assert report["slow"].outcome is StepOutcome.CANCELLED
    assert report.reason == "whoever watched the run has left"
    assert report.elapsed < 1


async def test_who_drops_the_stream_without_a_block_has_cancelled_the_run() -> None:
    cancelled = anyio.Event()

    async def slow() -> None:
        try:
            await anyio.sleep(1000)
        finally:
            cancelled.set()

    async for event in single(slow).stream():
        if event.kind is EventKind.STEP_STARTED:
            break
    del event
    with anyio.fail_after(1):
        await cancelled.wait()


async def test_a_reader_that_is_cancelled_takes_the_run_with_it() -> None:
    ended = []

    async def slow() -> None:
        try:
            await anyio.sleep(1000)
        finally:
            ended.append(True)

    with anyio.move_on_after(5):
        async for _ in single(slow).stream():
            pass
    assert ended == [True]


async def test_what_is_no_exception_reaches_the_reader_after_the_last_event() -> None:
    kinds: list[EventKind] = []

    class Halt(BaseException):
        pass

    with pytest.raises(Halt):
        async for event in single(raising(Halt())).stream():
            kinds.append(event.kind)
    assert kinds[-1] is EventKind.RUN_FINISHED


async def test_a_slow_reader_misses_progress_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "MAX_BACKLOG", 5)

    async def chatty() -> None:
        for number in range(100):
            progress(str(number))

    async with single(chatty).stream() as stream:
        await anyio.sleep(1)
        kinds = [event.kind async for event in stream]
    assert stream.left_out == 97
    assert [kind for kind in kinds if kind is not EventKind.PROGRESS] == [
        EventKind.RUN_STARTED,
        EventKind.STEP_STARTED,
        EventKind.STEP_FINISHED,
        EventKind.RUN_FINISHED,
    ]


async def test_a_listener_that_raises_is_logged_once_and_the_run_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_event: Event) -> None:
        raise RuntimeError("the screen is gone")

    report = await graph({"a": [], "b": ["a"]}).build().run(on_event=broken)
    assert report.ok
    assert [record.message.split(": ", 1)[1] for record in caplog.records] == [
        "a listener failed at run_started and is not called again"
    ]


async def test_events_are_json_and_one_line() -> None:
    events = await read(single(raising(DOWN), retry=Retry(attempts=2, backoff=3, jitter=0)))
    for event in events:
        assert json.loads(json.dumps(event.to_dict()))["event"] == event.kind
        assert "\n" not in str(event)
    assert events[2].to_dict() == {
        "event": "retrying",
        "run_id": events[0].run_id,
        "at_s": 0.0,
        "step": "step",
        "level": "step",
        "wait": 3,
        "attempt": 2,
        "error": {"error_type": "unavailable", "message": "ConnectionError: down"},
    }


async def test_a_stuck_thread_does_not_hold_up_the_last_event() -> None:
    gate = Gate()
    events = await read(single(gate.wait, timeout=2))
    gate.open()
    assert events[-1].kind is EventKind.RUN_FINISHED
    assert events[-1].report is not None
    assert events[-1].report["step"].history[0].still_running
