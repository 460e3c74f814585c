"""What a failed step does to the rest, by policy, in topologies where it matters; each under limits 1, 2 and none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from toolpath.orchestrator import FallbackPolicy, Missing, PipelineBuilder, RunReport, ref

from tests.orchestrator.building import (
    CANCELLED,
    FAIL_FAST,
    FAILED,
    PARTIAL,
    SKIP,
    SKIPPED,
    SUCCEEDED,
    graph,
    make_tool,
    outcomes,
    raising,
    returning,
)

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("limit", [1, 2, None])]

BROKEN = ValueError("broken")
DIAMOND = {"top": [], "left": ["top"], "right": ["top"], "bottom": ["left", "right"]}


async def run(
    edges: Mapping[str, list[str]], steps: Mapping[str, Any], policy: FallbackPolicy, limit: int | None, **own: Any
) -> RunReport:
    return await graph(edges, steps, **own).with_error_policy(policy).build().run(limit=limit)


async def test_skip_and_report_skips_dependants_and_goes_on(limit: int | None) -> None:
    edges = {"bad": [], "child": ["bad"], "grandchild": ["child"], "other": [], "after": ["other"]}
    report = await run(edges, {"bad": raising(BROKEN)}, SKIP, limit)
    assert outcomes(report) == {
        "bad": "failed", "child": "skipped", "grandchild": "skipped", "other": "succeeded", "after": "succeeded"
    }  # fmt: skip
    assert (report["child"].because, report["child"].reason) == ("bad", "step 'bad' failed")
    assert (report["grandchild"].because, report["grandchild"].reason) == ("child", "step 'child' was skipped")
    assert report.outcome is FAILED


async def test_a_step_with_one_good_and_one_bad_dependency_is_skipped(limit: int | None) -> None:
    report = await run(DIAMOND, {"left": raising(BROKEN)}, SKIP, limit)
    assert outcomes(report) == {"top": "succeeded", "left": "failed", "right": "succeeded", "bottom": "skipped"}


async def test_continue_with_partial_hands_on_what_is_missing(limit: int | None) -> None:
    async def bottom(left: Any, right: Any) -> Any:
        return left, right

    report = await run(DIAMOND, {"left": raising(BROKEN), "bottom": bottom}, PARTIAL, limit)
    assert outcomes(report) == {"top": "succeeded", "left": "failed", "right": "succeeded", "bottom": "succeeded"}
    missing, right = report.value("bottom")
    assert missing == Missing("left", FAILED, "ValueError: broken")
    assert not missing
    assert right == "right"
    assert report.outcome is FAILED
    assert report["bottom"].degraded_by == ("left",)


async def test_fail_fast_starts_nothing_new_and_cancels_what_runs(limit: int | None) -> None:
    edges = {"bad": [], "slow": [], "child": ["bad"], "later": ["slow"]}
    report = await run(edges, {"bad": raising(BROKEN, after=1), "slow": returning(1, after=9)}, FAIL_FAST, limit)
    assert report["bad"].outcome is FAILED
    assert report["slow"].outcome is (SKIPPED if limit == 1 else CANCELLED)
    assert report["child"].outcome is report["later"].outcome is SKIPPED
    for name in ("slow", "later"):
        assert report[name].because == "bad"
        assert report[name].reason == "step 'bad' failed, and its policy is fail_fast"
    assert report.outcome is FAILED
    assert report.elapsed == pytest.approx(1)
    assert not report.partial


async def test_fail_fast_keeps_what_was_done_before(limit: int | None) -> None:
    edges = {"good": [], "bad": ["good"], "child": ["bad"]}
    report = await run(edges, {"bad": raising(BROKEN)}, FAIL_FAST, limit)
    assert outcomes(report) == {"good": "succeeded", "bad": "failed", "child": "skipped"}
    assert report.partial


async def test_fail_fast_in_the_last_step_is_a_failure(limit: int | None) -> None:
    report = await run({"good": [], "bad": ["good"]}, {"bad": raising(BROKEN)}, FAIL_FAST, limit)
    assert report.outcome is FAILED
    assert report["bad"].exception is BROKEN


async def test_a_steps_own_policy_comes_before_the_runs(limit: int | None) -> None:
    edges = {"a": [], "b": [], "use_a": ["a"], "use_b": ["b"]}
    broken = {"a": raising(BROKEN), "b": raising(BROKEN)}
    report = await run(edges, broken, SKIP, limit, b=PARTIAL)
    assert outcomes(report) == {"a": "failed", "b": "failed", "use_a": "skipped", "use_b": "succeeded"}
    report = await run(edges, broken, PARTIAL, limit, a=SKIP)
    assert outcomes(report) == {"a": "failed", "b": "failed", "use_a": "skipped", "use_b": "succeeded"}
    report = await run({"x": [], "y": ["x"]}, {"x": raising(BROKEN)}, PARTIAL, limit, x=FAIL_FAST)
    assert outcomes(report) == {"x": "failed", "y": "skipped"}


async def test_a_skipped_step_under_continue_with_partial_is_missing_to_its_dependants(limit: int | None) -> None:
    edges = {"bad": [], "middle": ["bad"], "end": ["middle"]}

    async def end(middle: Any) -> Any:
        return middle

    report = await run(edges, {"bad": raising(BROKEN), "end": end}, PARTIAL, limit, bad=SKIP)
    assert outcomes(report) == {"bad": "failed", "middle": "skipped", "end": "succeeded"}
    assert report.value("end") == Missing("middle", SKIPPED, "step 'bad' failed")


async def test_the_strongest_effect_of_several_dependencies_counts(limit: int | None) -> None:
    edges = {"partial": [], "skip": [], "fine": [], "end": ["partial", "skip", "fine"]}
    broken = {"partial": raising(BROKEN), "skip": raising(BROKEN)}
    report = await run(edges, broken, SKIP, limit, partial=PARTIAL)
    assert report["end"].outcome is SKIPPED
    assert report["end"].because == "skip"


async def test_a_handled_failure_is_final_whatever_runs_beside_it(limit: int | None) -> None:
    edges = {"bad": [], **{f"sibling{n}": [] for n in range(5)}, "end": ["bad", *(f"sibling{n}" for n in range(5))]}
    steps = {"bad": raising(BROKEN, after=2), **{f"sibling{n}": returning(n, after=n) for n in range(5)}}
    report = await run(edges, steps, PARTIAL, limit)
    assert report["end"].outcome is SUCCEEDED
    assert [step.name for step in report if step.outcome is FAILED] == ["bad"]


async def test_missing_passes_through_the_path_of_a_reference(limit: int | None) -> None:
    async def use(price: Any, listed: Any) -> Any:
        return price, listed

    price = ref("bad").field("items")[0].field("price")
    builder = PipelineBuilder().with_error_policy(PARTIAL).independent(raising(BROKEN), name="bad")
    report = await builder.then(use, bind={"price": price, "listed": [price, 1]}).build().run(limit=limit)
    missing = Missing("bad", FAILED, "ValueError: broken")
    assert report.value("use") == (missing, [missing, 1])


async def test_a_tool_that_needs_what_is_missing_says_so(limit: int | None) -> None:
    tool = make_tool("use", returning("never"), {"bad": {"type": "string"}}, required=["bad"])
    builder = PipelineBuilder().with_error_policy(PARTIAL).independent(raising(BROKEN), name="bad")
    report = await builder.then(tool).build().run(limit=limit)
    error = report["use"].error
    assert error is not None
    assert (error.error_type, error.message) == ("validation_error", "use cannot run without 'bad'")
    assert error.fields == {"bad": "nothing came from step 'bad': ValueError: broken"}
    assert report["use"].attempts == 1


async def test_a_tool_runs_without_an_optional_argument_that_is_missing(limit: int | None) -> None:
    async def handler(good: str, bad: str = "default") -> str:
        return f"{good} {bad}"

    text = {"type": "string"}
    tool = make_tool("use", handler, {"good": text, "bad": text}, required=["good"])
    builder = PipelineBuilder().with_error_policy(PARTIAL).independent(raising(BROKEN), name="bad")
    report = await builder.independent(returning("ok"), name="good").then(tool).build().run(limit=limit)
    assert report.value("use") == "ok default"
    assert report["use"].degraded_by == ("bad",)


async def test_inside_a_list_a_tool_sees_what_is_missing_as_data(limit: int | None) -> None:
    async def handler(parts: list[Any]) -> Any:
        return parts

    tool = make_tool("use", handler, {"parts": {"type": "array"}}, required=["parts"])
    builder = PipelineBuilder().with_error_policy(PARTIAL).independent(raising(BROKEN), name="bad")
    report = await builder.then(tool, bind={"parts": [ref("bad"), 1]}).build().run(limit=limit)
    assert report.value("use") == [{"step": "bad", "outcome": "failed", "reason": "ValueError: broken"}, 1]


async def test_a_fallback_prevents_the_policy(limit: int | None) -> None:
    async def instead() -> str:
        return "instead"

    builder = PipelineBuilder().with_error_policy(FAIL_FAST).then(raising(BROKEN), name="bad", fallback=[instead])
    report = await builder.then(returning(1), name="after").build().run(limit=limit)
    assert report.ok


async def test_failures_deep_in_nested_diamonds_reach_exactly_their_descendants(limit: int | None) -> None:
    edges: dict[str, list[str]] = {"s": []}
    for level in range(4):
        before = f"j{level - 1}" if level else "s"
        edges |= {f"l{level}": [before], f"r{level}": [before], f"j{level}": [f"l{level}", f"r{level}"]}
    report = await run(edges, {"l2": raising(BROKEN)}, SKIP, limit)
    below = {"j2", "l3", "r3", "j3"}
    assert {step.name for step in report if step.outcome is SKIPPED} == below
    assert {step.name for step in report if step.outcome is SUCCEEDED} == set(edges) - below - {"l2"}
    report = await run(edges, {"l2": raising(BROKEN)}, PARTIAL, limit)
    assert {step.name for step in report if step.outcome is not SUCCEEDED} == {"l2"}


async def test_a_long_chain_behind_a_failure_is_skipped_without_recursion(limit: int | None) -> None:
    edges = {"s0": [], **{f"s{n}": [f"s{n - 1}"] for n in range(1, 5000)}}
    report = await run(edges, {"s0": raising(BROKEN)}, SKIP, limit)
    assert sum(step.outcome is SKIPPED for step in report) == 4999
    assert report["s4999"].because == "s4998"
