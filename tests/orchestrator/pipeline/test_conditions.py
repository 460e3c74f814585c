"""Steps that run only when something holds."""

from __future__ import annotations

from typing import Any

import pytest
from toolpath.catalog.errors import BindingError, PipelineError, UnknownStepError
from toolpath.orchestrator import Comparison, Missing, PipelineBuilder, StepOutcome, build_definition, ref, run_input
from toolpath.orchestrator.pipeline.conditions import OPERATORS

from tests.orchestrator.building import PARTIAL, outcomes, raising, returning

pytestmark = pytest.mark.anyio

DOWN = ConnectionError("down")


def is_long(fetch: str) -> bool:
    return len(fetch) > 3


async def is_long_too(fetch: str) -> bool:
    return is_long(fetch)


def fork(text: str, condition: Any = is_long) -> PipelineBuilder:
    return (
        PipelineBuilder()
        .then(returning(text), name="fetch")
        .when(condition, [named("summarise")], otherwise=[named("quote")])
    )


def named(name: str) -> Any:
    step = returning(name)
    step.__name__ = name  # type: ignore[attr-defined]
    return step


@pytest.mark.parametrize(
    "condition", [is_long, is_long_too, Comparison(ref("fetch"), "equals", "a long text")], ids=str
)
@pytest.mark.parametrize(("text", "taken"), [("a long text", "summarise"), ("no", "quote")])
async def test_one_side_runs_and_the_other_is_skipped(condition: Any, text: str, taken: str) -> None:
    report = await fork(text, condition).build().run()
    other = {"summarise": "quote", "quote": "summarise"}[taken]
    assert outcomes(report) == {"fetch": "succeeded", taken: "succeeded", other: "skipped"}
    assert report.ok
    assert not report.partial
    assert "is_long" in (report[other].reason or "") or "equals" in (report[other].reason or "")


async def test_after_a_fork_one_goes_on_with_any() -> None:
    async def send(summarise: Any, quote: Any) -> str:
        return str(summarise or quote)

    for text, expected in (("a long text", "summarise"), ("no", "quote")):
        report = await fork(text).join(send, rule="any").build().run()
        assert report.value("send") == expected
        assert not report["send"].degraded, "what was not chosen is nothing to be sorry for"


async def test_what_needs_a_step_that_is_not_chosen_is_skipped_under_every_policy() -> None:
    builder = fork("no").then(returning(1), name="after", deps=["summarise"], policy=PARTIAL)
    report = await builder.with_error_policy(PARTIAL).build().run()
    assert outcomes(report)["after"] == "skipped"
    assert report.ok


def test_a_step_that_needs_both_sides_is_refused() -> None:
    with pytest.raises(PipelineError, match="can never run: it needs 'summarise' and 'quote'.*rule='any'|two sides"):
        fork("no").then(returning(1), name="after").build()


async def test_a_reference_holds_when_there_is_anything() -> None:
    for found, outcome in (([1], "succeeded"), ([], "skipped"), ({"hits": []}, "succeeded")):
        builder = PipelineBuilder().then(returning(found), name="found").then(returning(1), name="b", when=ref("found"))
        assert outcomes(await builder.build().run())["b"] == outcome


async def test_run_inputs_decide_as_well() -> None:
    builder = PipelineBuilder().then(returning(1), name="a", when=Comparison(run_input("mode"), "is_in", ["full"]))
    pipeline = builder.build()
    assert outcomes(await pipeline.run({"mode": "full"}))["a"] == "succeeded"
    assert outcomes(await pipeline.run({"mode": "quick"}))["a"] == "skipped"


async def test_a_condition_that_raises_fails_its_step_and_nothing_else() -> None:
    def broken(fetch: str) -> bool:
        raise KeyError(fetch)

    report = await fork("x", broken).independent(returning(1), name="beside").build().run()
    assert report["summarise"].outcome is StepOutcome.FAILED
    assert outcomes(report)["beside"] == "succeeded"


async def test_a_condition_adds_the_steps_it_looks_at_to_those_that_are_waited_for() -> None:
    builder = PipelineBuilder().step(returning("late", after=5), name="fetch").step(named("a"), when=is_long)
    report = await builder.build().run()
    assert report["a"].started == pytest.approx(5)


@pytest.mark.parametrize(
    ("operator", "value", "other", "holds"),
    [
        ("equals", 1, 1, True),
        ("not_equals", 1, 1, False),
        ("less_than", 1, 2, True),
        ("at_most", 2, 2, True),
        ("more_than", 1, 2, False),
        ("at_least", 2, 2, True),
        ("contains", "abc", "b", True),
        ("is_in", "b", ["a"], False),
        ("exists", None, True, False),
        ("exists", 0, True, True),
        ("exists", Missing("a", StepOutcome.FAILED, "x"), False, True),
        ("equals", Missing("a", StepOutcome.FAILED, "x"), 1, False),
        ("not_equals", 1, Missing("a", StepOutcome.FAILED, "x"), False),
    ],
)
def test_each_comparison(operator: str, value: Any, other: Any, holds: bool) -> None:
    assert operator in OPERATORS
    assert Comparison(ref("a"), operator, other).holds(value, other) is holds


def test_unknown_comparisons_steps_and_conditions_are_refused_by_name() -> None:
    with pytest.raises(BindingError, match=r"'equal'.*equals"):
        Comparison(ref("a"), "equal", 1)
    with pytest.raises(UnknownStepError, match="nowhere"):
        PipelineBuilder().then(returning(1), name="a", when=ref("nowhere")).build()
    with pytest.raises(BindingError, match="when takes"):
        PipelineBuilder().then(returning(1), name="a", when=True)  # type: ignore[arg-type]
    with pytest.raises(BindingError, match="put both into one function"):
        PipelineBuilder().when(is_long, [named("a")], when=is_long)


async def test_a_failed_step_is_skipped_over_before_the_condition_is_asked() -> None:
    builder = PipelineBuilder().then(raising(DOWN), name="fetch").then(named("a"), when=is_long)
    assert outcomes(await builder.build().run()) == {"fetch": "failed", "a": "skipped"}


def test_two_steps_with_a_comparison_and_its_opposite_are_one_fork() -> None:
    def definition(join: str) -> dict[str, Any]:
        small = {"ref": "number", "less_than": 10}
        return {
            "steps": {
                "number": {"value": 5},
                "a": {"value": 1, "when": small},
                "b": {"value": 2, "when": {"not": small}},
                "end": {"value": 3, "after": ["a", "b"], "join": join},
            }
        }

    with pytest.raises(PipelineError, match="step 'end' can never run: it needs 'a' and 'b'.*join: any"):
        build_definition(definition("all"))
    assert build_definition(definition("any")).run_sync().value("end") == 3
