"""What serves when a step's own target fails, and what is said about it."""

from __future__ import annotations

from typing import Any

import pytest
from toolpath.catalog import ToolError
from toolpath.orchestrator import Degraded, Fallback, Level, PipelineBuilder, Retry, constant, ref

from tests.orchestrator.building import (
    FAILED,
    PARTIAL,
    SUCCEEDED,
    TIMED_OUT,
    catalog_of,
    make_tool,
    raising,
    returning,
    single,
)

pytestmark = pytest.mark.anyio

DOWN = ConnectionError("down")


async def cached() -> str:
    return "cached"


async def test_a_fallback_serves_and_the_report_says_so() -> None:
    step = (await single(raising(DOWN), fallback=[cached]).run())["step"]
    assert (step.outcome, step.value, step.served_by) == (SUCCEEDED, "cached", "cached")
    assert step.degraded
    assert step.confidence == pytest.approx(0.8)
    assert [(attempt.level, attempt.error is None) for attempt in step.history] == [("step", False), ("cached", True)]


async def test_a_fallback_that_is_not_needed_changes_nothing() -> None:
    step = (await single(returning("live"), fallback=[raising(ValueError("never"))]).run())["step"]
    assert (step.value, step.degraded, step.confidence, step.attempts) == ("live", False, 1, 1)


async def test_tools_functions_and_constants_follow_each_other() -> None:
    search = make_tool("search", raising(DOWN), {"query": {"type": "string"}}, required=["query"])
    archive = make_tool("archive", raising(DOWN), {"query": {"type": "string"}}, required=["query"])
    pipeline = (
        PipelineBuilder(catalog=catalog_of(search, archive))
        .then("search", retry=Retry(attempts=1), fallback=Fallback("archive", raising(DOWN), constant([])))
        .build()
    )
    report = await pipeline.run({"query": "x"})
    step = report["search"]
    assert step.value == []
    assert step.served_by == "constant"
    assert step.confidence == pytest.approx(0.8**3)
    assert [attempt.level for attempt in step.history] == ["search", "archive", "step", "constant"]


async def test_a_level_says_its_own_name_note_and_confidence() -> None:
    level = Level(constant("old"), name="nightly snapshot", confidence=0.3, note="from the nightly snapshot")
    report = await single(raising(DOWN), fallback=[level]).run()
    step = report["step"]
    assert (step.served_by, step.confidence, step.note) == ("nightly snapshot", 0.3, "from the nightly snapshot")
    assert "degraded by nightly snapshot, confidence 0.30; from the nightly snapshot" in str(report)
    assert report.degraded
    assert report.ok


async def test_a_level_that_is_itself_degraded_keeps_the_lower_confidence_and_its_own_note() -> None:
    async def stale() -> Degraded:
        return Degraded("x", "cached 14 minutes ago", confidence=0.2)

    step = (await single(raising(DOWN), fallback=[Level(stale, note="from the cache")]).run())["step"]
    assert (step.value, step.confidence, step.note) == ("x", 0.2, "cached 14 minutes ago")
    sure = (await single(raising(DOWN), fallback=[returning(Degraded("x", "", confidence=1.0))]).run())["step"]
    assert sure.confidence == pytest.approx(0.8)


async def test_a_step_may_call_its_own_answer_degraded() -> None:
    step = (await single(returning(Degraded("x", "cached", confidence=0.6))).run())["step"]
    assert (step.value, step.degraded, step.confidence, step.note, step.served_by) == ("x", True, 0.6, "cached", "step")


@pytest.mark.parametrize("error_type", ["permission_denied", "approval_denied", "loop_detected", "budget_exceeded"])
async def test_permission_and_guard_errors_stop_the_branch(error_type: str) -> None:
    error = ToolError("no", error_type)
    step = (await single(raising(error), fallback=[cached, constant(1)]).run())["step"]
    assert step.outcome is FAILED
    assert step.exception is error
    assert step.attempts == 1


async def test_a_permission_error_of_a_fallback_stops_the_branch_too() -> None:
    step = (await single(raising(DOWN), fallback=[raising(PermissionError("no")), constant(1)]).run())["step"]
    assert step.outcome is FAILED
    assert step.exception is DOWN
    assert [attempt.level for attempt in step.history] == ["step", "step"]


async def test_a_level_may_accept_certain_errors_only() -> None:
    for_timeouts = Level(constant("late"), on=lambda error: error.error_type == "timeout")
    for_rest = Level(constant("rest"))
    assert (await single(raising(TimeoutError()), fallback=[for_timeouts, for_rest]).run()).value("step") == "late"
    assert (await single(raising(ValueError()), fallback=[for_timeouts, for_rest]).run()).value("step") == "rest"
    denied = Level(constant("for the public"), on=lambda error: error.error_type == "permission_denied")
    assert (await single(raising(PermissionError()), fallback=[denied]).run()).value("step") == "for the public"


async def test_when_all_levels_fail_the_first_error_survives() -> None:
    first, second = KeyError("first"), ValueError("second")
    report = await single(raising(first), fallback=[raising(second), raising(RuntimeError("third"))]).run()
    step = report["step"]
    assert step.outcome is FAILED
    assert step.exception is first
    assert step.error is not None
    assert step.error.message == "KeyError: 'first'"
    assert step.served_by == ""
    assert [attempt.error.message for attempt in step.history if attempt.error] == [
        "KeyError: 'first'",
        "ValueError: second",
        "RuntimeError: third",
    ]
    with pytest.raises(KeyError, match="first"):
        report.raise_for_failure()


async def test_every_level_has_the_timeout_to_itself() -> None:
    slow = returning("slow", after=100)
    report = await single(slow, timeout=3, fallback=[slow, returning("quick", after=2)]).run()
    step = report["step"]
    assert (step.value, step.served_by) == ("quick", "step")
    assert step.elapsed == pytest.approx(8)
    only_slow = (await single(slow, timeout=3, fallback=[slow]).run())["step"]
    assert only_slow.outcome is TIMED_OUT
    assert only_slow.elapsed == pytest.approx(6)


async def test_a_sync_function_serves_as_a_fallback() -> None:
    step = (await single(raising(DOWN), fallback=[lambda: "from a thread"]).run())["step"]
    assert (step.value, step.served_by) == ("from a thread", "<lambda>")


async def test_a_fallback_may_take_other_parameters_than_the_step() -> None:
    async def search(query: str) -> str:
        raise DOWN

    async def browse(topic: str, depth: int = 2) -> str:
        return f"{topic} {depth}"

    pipeline = PipelineBuilder().then(search, fallback=[browse]).build()
    assert list(map(str, pipeline.inputs.values())) == ["query: str", "topic: str", "depth: int (optional)"]
    assert (await pipeline.run({"query": "q", "topic": "t"})).value("search") == "t 2"


async def test_degradation_flows_downstream_along_what_is_read() -> None:
    async def use(source: Any) -> Any:
        return source

    builder = (
        PipelineBuilder()
        .independent(raising(DOWN), name="source", fallback=[Level(constant("old"), confidence=0.5)])
        .then(use, name="reader", deps=["source"])
        .then(returning(1), name="waiter", deps=["source"])
        .then(use, name="second", bind={"source": ref("reader")})
        .then(returning(Degraded(1, "own", confidence=0.5)), name="own", deps=["second"])
    )
    report = await builder.build().run()
    assert [report[name].confidence for name in ("source", "reader", "second")] == [0.5, 0.5, 0.5]
    assert report["reader"].degraded_by == ("source",)
    assert report["second"].degraded_by == ("reader",)
    assert (report["waiter"].degraded, report["waiter"].confidence) == (False, 1)
    assert report["own"].degraded_by == ()
    assert "degraded through source, confidence 0.50" in str(report)


async def test_own_and_inherited_doubt_multiply() -> None:
    async def use(a: Any, b: Any) -> Degraded:
        return Degraded((a, b), "guess", confidence=0.5)

    builder = PipelineBuilder().independent(returning(Degraded(1, "", confidence=0.4)), name="a")
    builder.independent(returning(Degraded(2, "", confidence=0.9)), name="b").then(use, deps=["a", "b"])
    report = await builder.build().run()
    assert report["use"].confidence == pytest.approx(0.2)
    assert report["use"].degraded_by == ("a", "b")


async def test_an_answer_built_on_a_missing_one_is_half_as_certain() -> None:
    async def use(lost: Any) -> str:
        return "built anyway"

    builder = PipelineBuilder().independent(raising(DOWN), name="lost", policy=PARTIAL).then(use, deps=["lost"])
    report = await builder.build().run()
    assert report["use"].confidence == 0.5
    assert report["use"].degraded_by == ("lost",)


async def test_a_degraded_tool_result_is_degraded_here_too() -> None:
    tool = make_tool("fetch", returning(Degraded([1], "cached 5 minutes ago", confidence=0.7)))
    step = (await single(tool).run())["step"]
    assert (step.value, step.degraded, step.confidence, step.note) == ([1], True, 0.7, "cached 5 minutes ago")
    assert step.served_by == "fetch"


def test_confidence_must_be_between_nought_and_one() -> None:
    for build in (lambda: Level(cached, confidence=1.5), lambda: Degraded(1, "", confidence=-0.1)):
        with pytest.raises(ValueError, match="between 0 and 1"):
            build()
