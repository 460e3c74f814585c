"""The same step for every item of a list that only the run knows."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from toolpath.catalog import ToolError
from toolpath.catalog.errors import BindingError
from toolpath.orchestrator import FallbackPolicy, Missing, PipelineBuilder, Retry, StepOutcome, ref, run_input

from tests.orchestrator.building import FAIL_FAST, PARTIAL, catalog_of, make_tool, outcomes, returning

pytestmark = pytest.mark.anyio


async def double(number: int) -> int:
    await anyio.sleep(10 - number)  # the last ends first
    return 2 * number


async def fussy(number: int) -> int:
    await anyio.sleep(number)
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number


def mapped(target: Any, numbers: Any, **options: Any) -> PipelineBuilder:
    return PipelineBuilder().then(returning(numbers), name="numbers").map(target, "numbers", name="map", **options)


async def test_answers_keep_the_order_of_the_items_whatever_ends_first() -> None:
    report = await mapped(double, [1, 2, 3]).build().run()
    assert report.value("map") == [2, 4, 6]
    assert report.elapsed == pytest.approx(9), "side by side"
    assert (report["map"].items, report["map"].failed_items) == (3, {})


async def test_of_no_items_there_are_no_answers() -> None:
    report = await mapped(double, []).then(returning(1), name="after").build().run()
    assert report.value("map") == []
    assert outcomes(report)["after"] == "succeeded"
    assert not report["map"].degraded


@pytest.mark.parametrize(("limit", "seconds"), [(1, 9 + 8 + 7), (2, 9 + 7), (3, 9), (99, 9)])
async def test_the_limit_bounds_the_items_at_one_time(limit: int, seconds: float) -> None:
    async def slow(number: int) -> int:
        return await double(number)

    report = await mapped(slow, [1, 2, 3], limit=limit).build().run()
    if limit == 2:
        assert 15 <= report.elapsed <= 16
    else:
        assert report.elapsed == pytest.approx(seconds)


async def test_the_run_s_own_limit_holds_for_items_too() -> None:
    running = most = 0

    async def watched(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(1)
        running -= 1
        return number

    report = await mapped(watched, range(10)).with_limit(3).build().run()
    assert report.value("map") == [*range(10)]
    assert most == 3


async def test_failed_items_are_left_out_and_the_output_says_it_is_degraded() -> None:
    report = await mapped(fussy, [1, 2, 3, 4]).build().run()
    step = report["map"]
    assert step.value == [2, 4]
    assert (step.degraded, step.confidence) == (True, 0.5)
    assert "2 of 4 items failed" in (step.note or "")
    assert {at: info.message for at, info in step.failed_items.items()} == {
        0: "ValueError: 1 is odd",
        2: "ValueError: 3 is odd",
    }


async def test_or_leave_a_missing_in_their_place() -> None:
    report = await mapped(fussy, [1, 2], items=PARTIAL).build().run()
    first, second = report.value("map")
    assert isinstance(first, Missing)
    assert (first.step, second) == ("map[0]", 2)


async def test_or_end_the_others_and_the_step() -> None:
    report = await mapped(fussy, [2, 1, 50], items=FAIL_FAST).build().run()
    assert report["map"].outcome is StepOutcome.FAILED
    assert report["map"].error.message == "ValueError: 1 is odd"  # type: ignore[union-attr]
    assert report.elapsed == pytest.approx(1), "the item of 50 s was cancelled"


async def test_when_every_item_fails_the_step_fails() -> None:
    report = await mapped(fussy, [1, 3]).build().run()
    assert report["map"].outcome is StepOutcome.FAILED
    assert set(report["map"].failed_items) == {0, 1}


async def test_retry_timeout_and_fallback_hold_for_each_item_by_itself() -> None:
    tries: dict[int, int] = {}

    async def flaky(number: int) -> int:
        tries[number] = tries.get(number, 0) + 1
        if number == 2 and tries[number] == 1:
            raise ConnectionError("reset")
        if number == 3:
            await anyio.sleep(99)
        return number

    async def guess(number: int) -> int:
        return -number

    builder = mapped(flaky, [1, 2, 3], retry=Retry(attempts=2, backoff=1), timeout=5, fallback=[guess])
    report = await builder.build().run()
    assert report.value("map") == [1, 2, -3]
    assert tries == {1: 1, 2: 2, 3: 2}
    assert report["map"].degraded
    assert {attempt.item for attempt in report["map"].history} == {0, 1, 2}


async def test_tools_are_mapped_and_other_parameters_are_the_same_for_all() -> None:
    async def search(query: str, limit: int) -> str:
        return f"{query}:{limit}"

    tool = make_tool("search", search, {"limit": {"type": "integer"}, "query": {"type": "string"}}, required=["query"])
    builder = PipelineBuilder(catalog=catalog_of(tool)).map("search", ["a", "b"], each="query", bind={"limit": 5})
    assert (await builder.build().run()).value("search") == ["a:5", "b:5"]


async def test_sync_functions_are_mapped_in_threads() -> None:
    def square(number: int) -> int:
        return number * number

    assert (await mapped(square, [1, 2, 3]).build().run()).value("map") == [1, 4, 9]


async def test_a_run_input_and_a_field_of_an_output_can_be_gone_over() -> None:
    by_input = PipelineBuilder().map(double, run_input("numbers")).build()
    assert (await by_input.run({"numbers": [1]})).value("double") == [2]
    builder = PipelineBuilder().then(returning({"rows": [5]}), name="data").map(double, ref("data")["rows"])
    assert (await builder.build().run()).value("double") == [10]


@pytest.mark.parametrize("wrong", ["text", b"bytes", {"a": 1}, 7, None])
async def test_what_is_no_list_fails_the_step_with_a_reason(wrong: Any) -> None:
    report = await mapped(double, wrong).build().run()
    error = report["map"].error
    assert error is not None
    assert error.error_type == "validation_error"
    assert f"got {type(wrong).__name__}" in error.message


async def test_a_list_that_is_missing_has_no_items() -> None:
    async def broken() -> None:
        raise ToolError("no list today", "not_found")

    builder = PipelineBuilder().then(broken, policy=PARTIAL).map(double, "broken")
    report = await builder.build().run()
    assert report.value("double") == []
    assert report["double"].degraded


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        PipelineBuilder().map(double, [1], limit=limit)


def test_a_parameter_that_there_is_not_cannot_get_the_item() -> None:
    with pytest.raises(BindingError, match="numbre"):
        PipelineBuilder().map(double, [1], each="numbre").build()


async def test_five_thousand_items_end_one_by_one_in_order() -> None:
    async def same(number: int) -> int:
        return number

    report = await mapped(same, list(range(5000))).with_limit(8).build().run()
    assert report.value("map") == list(range(5000))


async def test_an_item_that_times_out_is_said_to_have() -> None:
    async def slow(number: int) -> int:
        await anyio.sleep(number)
        return number

    report = await mapped(slow, [1, 100], timeout=5, items=FallbackPolicy.CONTINUE_WITH_PARTIAL).build().run()
    assert report.value("map")[1].outcome is StepOutcome.TIMED_OUT
