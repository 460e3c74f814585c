"""Calls per second, calls at the same time, and budgets."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from toolpath.catalog import ToolCall
from toolpath.catalog.tool import RateLimit
from toolpath.orchestrator import (
    Answer,
    Budget,
    CallContext,
    Event,
    EventKind,
    Inbox,
    Limit,
    PipelineBuilder,
    Retry,
    Runtime,
    ToolStates,
    spend,
)
from toolpath.orchestrator.loop import loop_clock

from tests.orchestrator.building import Counted, catalog_of, make_tool, returning

pytestmark = pytest.mark.anyio


def times(events: list[Event], step: str = "each") -> list[float]:
    return [event.at for event in events if event.kind is EventKind.PROGRESS and event.step == step]


def calling(tool: Any, count: int, **options: Any) -> PipelineBuilder:
    runtime = Runtime(catalog_of(tool), states=ToolStates(loop_clock()), **options)

    async def one(item: int) -> Any:
        return (await runtime.call(ToolCall(tool=tool.name))).unwrap()

    return PipelineBuilder(runtime=runtime).map(one, list(range(count)), name="each")


async def test_a_tools_own_rate_limit_spaces_its_calls_and_watchers_hear_why() -> None:
    events: list[Event] = []
    tool = make_tool("search", returning("found"), rate_limit=RateLimit(calls=2, per=10))
    report = await calling(tool, 6).build().run(on_event=events.append)
    assert report.ok
    assert sorted(times(events)) == pytest.approx([0, 0, 10, 10, 20, 20], abs=0.1)
    waits = [event for event in events if event.kind is EventKind.WAITING]
    assert waits[0].message == "the rate limit of search"
    assert waits[0].wait == pytest.approx(10, abs=0.1)


async def test_a_wait_that_is_too_long_is_an_error_that_says_how_long() -> None:
    tool = make_tool("search", returning("found"), rate_limit=RateLimit(calls=1, per=3600))
    runtime = Runtime(catalog_of(tool), states=ToolStates(loop_clock()))
    assert (await runtime.call(ToolCall(tool="search"))).ok
    refused = await runtime.call(ToolCall(tool="search"))
    assert refused.error is not None
    assert refused.error.error_type == "rate_limited"
    assert refused.error.retry_after == pytest.approx(3600, abs=1)


async def test_no_more_than_so_many_at_the_same_time() -> None:
    running = most = 0

    async def slow() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(1)
        running -= 1

    report = await calling(make_tool("slow", slow), 7, limits={"*": Limit(concurrent=3)}).build().run()
    assert most == 3
    assert report.elapsed == pytest.approx(3)


async def test_a_tool_that_calls_itself_does_not_wait_for_its_own_place() -> None:
    async def down(depth: int) -> int:
        if not depth:
            return 0
        return 1 + (await runtime.call(ToolCall(tool="down", arguments={"depth": depth - 1}))).unwrap()

    tool = make_tool("down", down, {"depth": {"type": "integer"}})
    runtime = Runtime(catalog_of(tool), limits={"down": Limit(concurrent=1)})
    with anyio.fail_after(5):
        assert (await runtime.call(ToolCall(tool="down", arguments={"depth": 4}))).unwrap() == 4


async def test_a_place_is_given_back_when_a_call_is_cancelled_or_fails() -> None:
    async def bad() -> None:
        await anyio.sleep(1)
        raise ValueError("no")

    runtime = Runtime(catalog_of(make_tool("bad", bad)), limits={"bad": Limit(concurrent=1)})
    with anyio.move_on_after(0.5):
        await runtime.call(ToolCall(tool="bad"))
    for _ in range(3):
        with anyio.fail_after(5):
            assert not (await runtime.call(ToolCall(tool="bad"))).ok


async def test_a_run_has_a_limit_over_all_its_tools() -> None:
    events: list[Event] = []
    builder = calling(make_tool("search", returning(1)), 3).with_call_limit(Limit(calls=1, per=5))
    await builder.build().run(on_event=events.append)
    assert sorted(times(events)) == pytest.approx([0, 5, 10], abs=0.1)


async def test_the_call_beyond_the_budget_is_refused_and_other_steps_go_on() -> None:
    builder = calling(make_tool("search", returning(1)), 5).with_budget(Budget(calls=3)).step(returning(7), name="own")
    report = await builder.build().run()
    assert sorted(report["each"].failed_items) == [3, 4]
    error = report["each"].failed_items[3]
    assert (error.error_type, error.retry) == ("budget_exceeded", "no")
    assert "calls (3 of 3 spent)" in error.message
    assert report.value("own") == 7


async def test_tokens_and_money_count_for_every_run_around() -> None:
    async def think() -> None:
        spend(tokens=600, money=0.01)

    runtime = Runtime(catalog_of(make_tool("think", think)))
    inner = PipelineBuilder("inner", runtime=runtime).then("think", name="a").then("think", name="b")
    inner.then("think", name="c")
    report = await PipelineBuilder().step(inner.build()).with_budget(Budget(tokens=1000)).build().run()
    assert report["inner"].inner is not None
    assert [str(step.outcome) for step in report["inner"].inner] == ["succeeded", "succeeded", "failed"]
    error = report["inner"].inner["c"].error
    assert error is not None
    assert "tokens (1200 of 1000 spent)" in error.message


async def test_seconds_end_calls_too() -> None:
    tool = make_tool("search", returning(1, after=4))
    runtime = Runtime(catalog_of(tool))
    builder = PipelineBuilder(runtime=runtime).with_budget(Budget(seconds=5))
    for name in "abc":
        builder.then("search", name=name)
    report = await builder.build().run()
    assert [str(step.outcome) for step in report] == ["succeeded", "succeeded", "failed"]


async def test_who_answers_questions_may_grant_the_budget_once_more() -> None:
    inbox = Inbox(on_question=lambda question: inbox.answer(question.question_id, Answer(True)))
    builder = calling(make_tool("search", returning(1)), 4, approver=inbox).with_budget(Budget(calls=2))
    assert (await builder.build().run()).ok


async def test_policy_retries_do_not_count_as_a_loop_and_items_neither() -> None:
    failures = 2

    async def flaky() -> str:
        nonlocal failures
        if failures:
            failures -= 1
            raise ConnectionError("down")
        return "up"

    runtime = Runtime(catalog_of(make_tool("flaky", flaky), make_tool("same", Counted(lambda n: 1), {"n": {}})))
    builder = PipelineBuilder(runtime=runtime).step("flaky", retry=Retry(attempts=5, backoff=0.1))
    report = await builder.map("same", list(range(9)), name="items").build().run()
    assert report.value("flaky") == "up"
    assert report.value("items") == [1] * 9


@pytest.mark.parametrize(
    "make", [lambda: Limit(), lambda: Limit(calls=0), lambda: Limit(concurrent=0), lambda: Limit(1, per=0)]
)
async def test_limits_that_make_no_sense_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="Limit|must"):
        make()


async def test_budgets_and_spending_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="needs a limit"):
        Budget()
    with pytest.raises(ValueError, match="negative"):
        Budget(calls=-1)
    with pytest.raises(ValueError, match="negative"):
        spend(tokens=-1)
    spend(tokens=1)
    assert CallContext().user == ""
