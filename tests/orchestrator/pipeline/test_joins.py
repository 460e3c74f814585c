"""Steps that need only some of those they wait for."""

from __future__ import annotations

from typing import Any

import pytest
from toolpath.catalog.errors import BindingError
from toolpath.orchestrator import Missing, PipelineBuilder, StepOutcome, at_least

from tests.orchestrator.building import PARTIAL, outcomes, raising, returning

pytestmark = pytest.mark.anyio

DOWN = ConnectionError("down")


def seen(**parts: Any) -> dict[str, Any]:
    return {name: "missing" if isinstance(part, Missing) else part for name, part in parts.items()}


def joined(rule: Any, **steps: Any) -> PipelineBuilder:
    builder = PipelineBuilder()
    for name, step in steps.items():
        builder.step(step, name=name)

    async def end(a: Any = None, b: Any = None, c: Any = None) -> dict[str, Any]:
        given = {"a": a, "b": b, "c": c}
        return seen(**{name: given[name] for name in steps})

    return builder.join(end, rule=rule, deps=[*steps])


async def test_any_starts_with_the_first_success_and_lets_the_others_go_on() -> None:
    report = await joined("any", a=returning(1, after=9), b=returning(2, after=1), c=raising(DOWN)).build().run()
    assert report.value("end") == {"a": "missing", "b": 2, "c": "missing"}
    assert report["end"].started == pytest.approx(1)
    assert (report["a"].outcome, report["a"].value) == (StepOutcome.SUCCEEDED, 1)
    assert report.elapsed == pytest.approx(9)


async def test_at_least_two_waits_for_the_second_success() -> None:
    pipeline = joined(at_least(2), a=returning(1, after=9), b=returning(2, after=1), c=returning(3, after=4)).build()
    report = await pipeline.run()
    assert report.value("end") == {"a": "missing", "b": 2, "c": 3}
    assert report["end"].started == pytest.approx(4)


async def test_it_is_skipped_as_soon_as_its_number_is_out_of_reach() -> None:
    pipeline = joined(at_least(2), a=returning(1, after=50), b=raising(DOWN), c=raising(DOWN)).build()
    report = await pipeline.run()
    assert outcomes(report) == {"a": "succeeded", "b": "failed", "c": "failed", "end": "skipped"}
    assert "b" in (report["end"].reason or "") or "c" in (report["end"].reason or "")


async def test_all_done_starts_when_all_have_ended_however() -> None:
    report = await joined("all_done", a=raising(DOWN), b=raising(DOWN, after=3)).build().run()
    assert report.value("end") == {"a": "missing", "b": "missing"}
    assert report["end"].started == pytest.approx(3)


async def test_what_is_built_on_a_failed_part_is_marked_as_degraded() -> None:
    report = await joined("all_done", a=raising(DOWN), b=returning(1)).build().run()
    assert report["end"].degraded
    assert report["end"].confidence == pytest.approx(0.5)


async def test_all_is_what_steps_do_anyway() -> None:
    report = await joined("all", a=raising(DOWN), b=returning(1)).build().run()
    assert outcomes(report)["end"] == "skipped"


async def test_a_join_still_passes_on_what_continues_with_partial() -> None:
    builder = PipelineBuilder().step(raising(DOWN), name="a", policy=PARTIAL).step(returning(1), name="b")

    async def end(a: Any, b: Any) -> dict[str, Any]:
        return seen(a=a, b=b)

    assert (await builder.join(end, deps=["a", "b"]).build().run()).value("end") == {"a": "missing", "b": 1}


@pytest.mark.parametrize("rule", ["most", "", 2, None])
def test_another_rule_is_refused(rule: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="a join is 'all', 'any', 'all_done' or at_least"):
        PipelineBuilder().step(returning(1), name="a").join(returning(2), name="b", rule=rule)


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "2"])
def test_at_least_takes_a_number_from_one_on(number: Any) -> None:
    with pytest.raises(ValueError, match="number of 1 or more"):
        at_least(number)


def test_more_than_there_are_is_refused() -> None:
    builder = PipelineBuilder().step(returning(1), name="a").join(returning(2), name="b", rule=at_least(2))
    with pytest.raises(BindingError, match="needs 2 of the steps that it waits for, and waits for 1"):
        builder.build()
