"""Steps that wait for a person, and go on with the answer."""

from __future__ import annotations

import anyio
import anyio.to_thread
import pytest
from toolpath.catalog import ToolCall, ToolError
from toolpath.orchestrator import (
    Answer,
    CallContext,
    Event,
    EventKind,
    Inbox,
    PipelineBuilder,
    Question,
    Runtime,
)

from tests.orchestrator.building import catalog_of, make_tool, outcomes, returning

pytestmark = pytest.mark.anyio


def expired_until(working: list[bool]) -> object:
    async def query() -> str:
        if not working:
            raise ToolError("the token has expired", "authentication_expired")
        return "rows"

    return query


async def test_a_run_waits_for_new_credentials_while_other_steps_go_on() -> None:
    working: list[bool] = []
    inbox, events = Inbox(), list[Event]()
    runtime = Runtime(catalog_of(make_tool("query", expired_until(working))), approver=inbox)  # type: ignore[arg-type]
    pipeline = PipelineBuilder("p", runtime=runtime).step("query").step(returning(1, after=5), name="other").build()
    async with pipeline.stream() as stream:
        async for event in stream:
            events.append(event)
            if event.step == "other" and event.kind is EventKind.STEP_FINISHED:
                (question,) = inbox.pending
                assert (question.kind, question.step, question.tool) == ("credentials", "query", "query")
                working.append(True)
                inbox.answer(question.question_id, Answer(True, by="ada"))
    assert stream.report.value("query") == "rows"
    waiting = next(event for event in events if event.kind is EventKind.WAITING)
    assert waiting.step == "query"
    assert waiting.data["question"] == question.question_id


async def test_a_no_ends_the_branch_and_says_who_and_why() -> None:
    inbox = Inbox(on_question=lambda q: inbox.answer(q.question_id, Answer(False, by="ada", reason="not today")))
    runtime = Runtime(catalog_of(make_tool("query", expired_until([]))), approver=inbox)  # type: ignore[arg-type]
    result = await runtime.call(ToolCall(tool="query"))
    assert result.error is not None
    assert (result.error.error_type, result.error.retry) == ("approval_denied", "no")
    assert result.error.message == "query may not go on: denied by ada: not today"


async def test_without_anybody_to_ask_the_error_stays() -> None:
    runtime = Runtime(catalog_of(make_tool("query", expired_until([]))))  # type: ignore[arg-type]
    result = await runtime.call(ToolCall(tool="query"))
    assert result.error is not None
    assert result.error.error_type == "authentication_expired"


async def test_questions_of_parallel_steps_are_answered_in_any_order_each_once() -> None:
    inbox, got = Inbox(), dict[str, object]()

    async def wait(name: str) -> None:
        got[name] = (await inbox.ask(Question(kind="input", text=name))).value

    async with anyio.create_task_group() as group:
        for name in ("a", "b", "c"):
            group.start_soon(wait, name)
        await anyio.sleep(1)
        ids = {question.text: question.question_id for question in inbox.pending}
        for name in ("c", "a", "b"):
            inbox.answer(ids[name], Answer(True, value=name.upper()))
        with pytest.raises(KeyError, match="was answered"):
            inbox.answer(ids["a"], Answer(True))
    assert got == {"a": "A", "b": "B", "c": "C"}
    assert inbox.pending == ()


async def test_who_no_longer_waits_has_no_question_open() -> None:
    inbox = Inbox()
    with anyio.move_on_after(1):
        await inbox.ask(Question(kind="input", text="?"))
    assert inbox.pending == ()


async def test_an_answer_may_come_from_another_thread() -> None:
    inbox = Inbox()

    async def reply() -> None:
        await anyio.sleep(1)
        await anyio.to_thread.run_sync(inbox.answer, inbox.pending[0].question_id, Answer(True, value=7))

    async with anyio.create_task_group() as group:
        group.start_soon(reply)
        assert (await inbox.ask(Question(kind="input", text="?"))).value == 7


async def test_a_person_may_let_a_loop_go_on() -> None:
    inbox = Inbox(on_question=lambda question: inbox.answer(question.question_id, Answer(True)))
    runtime = Runtime(catalog_of(make_tool("poll", returning("busy"))), approver=inbox)
    for _ in range(10):
        assert (await runtime.call(ToolCall(tool="poll"), CallContext(caller="agent"))).ok


async def test_secrets_in_answers_are_not_shown() -> None:
    assert "hunter2" not in repr(Answer(True, value="hunter2"))


async def test_a_run_that_is_stopped_does_not_wait_for_its_answer() -> None:
    runtime = Runtime(catalog_of(make_tool("query", expired_until([]), timeout=None)), approver=Inbox())  # type: ignore[arg-type]
    report = await PipelineBuilder(runtime=runtime).step("query").build().run(timeout=3)
    assert outcomes(report) == {"query": "timed_out"}
    assert report.elapsed == pytest.approx(3)
