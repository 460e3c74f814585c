"""The loop guard: what counts as going in circles."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import ToolCall, ToolError, ToolResult
from toolpath.orchestrator import CallContext, LoopGuard, PipelineBuilder, Runtime
from toolpath.orchestrator.runtime import guards

from tests.orchestrator.building import Counted, catalog_of, make_tool, returning

pytestmark = pytest.mark.anyio


def search(**arguments: Any) -> ToolCall:
    return ToolCall(tool="search", arguments=arguments)


async def call(runtime: Runtime, proposed: ToolCall, caller: str = "agent") -> ToolResult:
    return await runtime.call(proposed, CallContext(caller=caller))


@pytest.fixture
def handler() -> Counted:
    return Counted(lambda **arguments: "found")


@pytest.fixture
def runtime(handler: Counted) -> Runtime:
    tools = (make_tool(name, handler, {"q": {}}, aliases=(f"{name}_alias",)) for name in ("search", "other"))
    return Runtime(catalog_of(*tools))


async def test_the_second_identical_call_is_warned_of_and_the_third_stopped(runtime: Runtime, handler: Counted) -> None:
    first, second, third, fourth = [await call(runtime, search(q="x")) for _ in range(4)]
    assert first.ok
    assert "warning" not in first.metadata
    assert second.ok
    assert second.metadata["warning"] == "the same call was made 2 times in a row"
    for stopped, times in ((third, 3), (fourth, 4)):
        assert stopped.error is not None
        assert (stopped.error.error_type, stopped.error.category, stopped.error.retry) == (
            "loop_detected",
            "guard",
            "no",
        )
        assert f"search was called {times} times in a row with the same arguments" in stopped.error.message
        assert stopped.error.suggestion
    assert len(handler.calls) == 2


async def test_other_arguments_start_over(runtime: Runtime) -> None:
    for q in ("x", "x", "y", "x", "x"):
        assert (await call(runtime, search(q=q))).ok


async def test_another_tool_starts_over(runtime: Runtime) -> None:
    other = ToolCall(tool="other", arguments={"q": "x"})
    for proposed in (search(q="x"), search(q="x"), other, search(q="x"), search(q="x")):
        assert (await call(runtime, proposed.model_copy(update={"call_id": str(id(proposed))}))).ok


async def test_an_alias_is_the_same_tool(runtime: Runtime) -> None:
    await call(runtime, search(q="x"))
    await call(runtime, ToolCall(tool="search_alias", arguments={"q": "x"}))
    assert not (await call(runtime, search(q="x"))).ok


async def test_the_order_of_arguments_does_not_matter(runtime: Runtime) -> None:
    runtime.catalog.replace(make_tool("search", returning(1), {"a": {}, "b": {}}))
    await call(runtime, search(a=1, b={"c": 1, "d": 2}))
    await call(runtime, search(b={"d": 2, "c": 1}, a=1))
    assert not (await call(runtime, search(a=1, b={"c": 1, "d": 2}))).ok


async def test_retries_of_one_call_do_not_count(runtime: Runtime) -> None:
    proposed = search(q="x")
    for _ in range(6):
        assert (await call(runtime, proposed)).ok
    assert (await call(runtime, search(q="x"))).ok
    assert not (await call(runtime, search(q="x"))).ok


async def test_other_callers_do_not_count(runtime: Runtime) -> None:
    for number in range(6):
        assert (await call(runtime, search(q="x"), caller=f"agent {number}")).ok


async def test_calls_without_a_caller_stand_alone(runtime: Runtime) -> None:
    for _ in range(6):
        assert (await runtime.call(search(q="x"))).ok


async def test_a_forgotten_caller_starts_over(runtime: Runtime) -> None:
    for _ in range(2):
        await call(runtime, search(q="x"))
    runtime.loop_guard.forget("agent")
    runtime.loop_guard.forget("nobody")
    assert (await call(runtime, search(q="x"))).ok


async def test_sibling_steps_with_the_same_call_do_not_count() -> None:
    tool = make_tool("search", Counted(lambda q: "found"), {"q": {}})
    builder = PipelineBuilder()
    for number in range(8):
        builder.independent(tool, name=f"s{number}", bind={"q": "x"})
    assert (await builder.build().run()).ok


async def test_running_a_pipeline_again_and_again_does_not_count() -> None:
    tool = make_tool("search", returning("found"))
    pipeline = PipelineBuilder(runtime=Runtime(catalog_of(tool))).then("search").build()
    for _ in range(5):
        assert (await pipeline.run()).ok


def test_a_guard_that_stops_every_call_is_refused() -> None:
    for repeats in (1, 0, -1):
        with pytest.raises(ValueError, match="at least 2"):
            LoopGuard(repeats)


def test_the_length_of_the_streak_may_be_chosen() -> None:
    guard = LoopGuard(max_repeats=5)
    for _ in range(4):
        guard.check("a", search())
    with pytest.raises(ToolError, match="5 times"):
        guard.check("a", search())


def test_only_so_many_callers_are_remembered_the_quietest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "MAX_CALLERS", 3)
    guard = LoopGuard()
    for caller in ("a", "b", "a", "c", "d"):  # d pushes b out
        guard.check(caller, search())
    assert guard.check("b", search()) == ""  # pushes a out
    assert guard.check("c", search()) == "the same call was made 2 times in a row"


def test_calls_from_many_threads_are_all_counted() -> None:
    guard = LoopGuard(max_repeats=10**6)

    def hammer() -> None:
        for _ in range(200):
            guard.check("a", search(q=1))

    threads = [threading.Thread(target=hammer) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert guard.check("a", search(q=1)) == "the same call was made 1601 times in a row"


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1), st.booleans()), max_size=30))
def test_the_guard_agrees_with_a_plain_count(calls: list[tuple[str, int, bool]]) -> None:
    guard = LoopGuard()
    last: dict[str, tuple[int, str, int]] = {}
    for number, (caller, argument, is_retry) in enumerate(calls):
        before = last.get(caller)
        call_id = before[1] if is_retry and before else f"call {number}"
        repeated = before is not None and before[0] == argument
        streak = before[2] + (before[1] != call_id) if before and repeated else 1
        last[caller] = argument, call_id, streak
        proposed = ToolCall(tool="search", arguments={"q": argument}, call_id=call_id)
        if streak >= 3:
            with pytest.raises(ToolError):
                guard.check(caller, proposed)
        else:
            assert bool(guard.check(caller, proposed)) == (streak == 2)


def others(*letters: str) -> list[ToolCall]:
    return [ToolCall(tool=letter) for letter in letters]


def check_all(guard: LoopGuard, calls: list[ToolCall], results: list[Any]) -> None:
    for made, result in zip(calls, results, strict=True):
        guard.check("agent", made)
        guard.record("agent", made.call_id, result)


async def test_taking_turns_without_getting_anywhere_is_a_loop_and_the_calls_are_named() -> None:
    guard = LoopGuard()
    check_all(guard, others("a", "b", "a", "b"), [1, 2, 1, 2])
    with pytest.raises(ToolError, match=r"in turns: a\(\) > b\(\) > a\(\) > b\(\)") as stopped:
        guard.check("agent", ToolCall(tool="a"))
    assert stopped.value.error_type == "loop_detected"


async def test_three_calls_in_turns_are_a_loop_too() -> None:
    guard = LoopGuard()
    check_all(guard, others("a", "b", "c", "a", "b", "c"), [1, 2, 3, 1, 2, 3])
    with pytest.raises(ToolError, match="in turns"):
        guard.check("agent", ToolCall(tool="a"))


async def test_turns_whose_results_move_on_are_none() -> None:
    guard = LoopGuard()
    for round_ in range(20):
        check_all(guard, others("edit", "test"), ["saved", f"{20 - round_} failures"])


async def test_polling_whose_answers_change_is_none() -> None:
    guard = LoopGuard()
    for percent in range(50):
        check_all(guard, others("status"), [percent])


async def test_reading_in_pieces_is_none_by_arguments_and_by_results() -> None:
    guard = LoopGuard()
    check_all(guard, [search(page=page) for page in range(50)], [f"page {page}" for page in range(50)])
    check_all(guard, others(*["read_file_next"] * 50), [f"piece {piece}" for piece in range(50)])


async def test_the_same_result_again_and_again_is_a_loop() -> None:
    guard = LoopGuard()
    check_all(guard, [search(q=str(number)) for number in range(5)], [[]] * 5)
    with pytest.raises(ToolError, match=r"same result 5 times in a row: search\(.q.:.0.\)"):
        guard.check("agent", search(q="5"))


async def test_a_forgotten_caller_starts_over_after_any_loop() -> None:
    guard = LoopGuard()
    check_all(guard, others("a", "b", "a", "b"), [1, 2, 1, 2])
    guard.forget("agent")
    guard.check("agent", ToolCall(tool="a"))
