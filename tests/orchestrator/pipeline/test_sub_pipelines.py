"""A whole pipeline as one step of another."""

from __future__ import annotations

from typing import Any

import pytest
from toolpath.catalog.errors import BindingError
from toolpath.orchestrator import Pipeline, PipelineBuilder, Retry, StepOutcome

from tests.orchestrator.building import outcomes, raising, returning

pytestmark = pytest.mark.anyio

DOWN = ConnectionError("down")


async def add(left: int, right: int = 1) -> int:
    return left + right


async def double(add: int) -> int:
    return 2 * add


def inner() -> Pipeline:
    return PipelineBuilder("inner").then(add).then(double).build()


async def test_its_inputs_are_parameters_and_its_leaf_is_the_output() -> None:
    async def show(inner: int) -> str:
        return f"= {inner}"

    pipeline = PipelineBuilder().then(returning(4), name="left").then(inner()).then(show).build()
    report = await pipeline.run()
    assert report.value("inner") == 10
    assert report.value("show") == "= 10"
    assert report["inner"].inner is not None
    assert outcomes(report["inner"].inner) == {"add": "succeeded", "double": "succeeded"}


async def test_several_leaves_come_as_one_object() -> None:
    two = PipelineBuilder("two").parallel([named("a"), named("b")]).build()
    assert (await PipelineBuilder().then(two).build().run()).value("two") == {"a": "a", "b": "b"}


def named(name: str) -> Any:
    step = returning(name)
    step.__name__ = name  # type: ignore[attr-defined]
    return step


async def test_an_input_that_is_not_filled_becomes_an_input_of_the_whole() -> None:
    pipeline = PipelineBuilder().then(inner(), bind={"right": 10}).build()
    assert [*pipeline.inputs] == ["left"]
    assert (await pipeline.run({"left": 1})).value("inner") == 22


async def test_a_failure_inside_is_the_step_s_failure_with_its_own_type() -> None:
    broken = PipelineBuilder("broken").then(raising(DOWN), name="a").build()
    report = await PipelineBuilder().then(broken).build().run()
    assert report["broken"].outcome is StepOutcome.FAILED
    assert "down" in report["broken"].error.message  # type: ignore[union-attr]
    with pytest.raises(ConnectionError):
        report.raise_for_failure()


async def test_a_step_s_retry_runs_the_whole_pipeline_again() -> None:
    flaky = PipelineBuilder("flaky").then(raising(DOWN, DOWN, then=5), name="a").build()
    report = await PipelineBuilder().then(flaky, retry=Retry(attempts=3, backoff=1)).build().run()
    assert report.value("flaky") == 5
    assert report["flaky"].attempts == 3


async def test_what_is_second_best_inside_is_marked_outside() -> None:
    poor = PipelineBuilder("poor").then(raising(DOWN), name="a", fallback=[named("cached")]).build()
    step = (await PipelineBuilder().then(poor).build().run())["poor"]
    assert (step.value, step.degraded, step.confidence) == ("cached", True, pytest.approx(0.8))
    assert "in poor: a" in (step.note or "")


async def test_a_pipeline_can_be_a_fallback_and_be_mapped() -> None:
    builder = PipelineBuilder().then(raising(DOWN), name="a", fallback=[inner()], bind={"left": 1})
    report = await builder.map(inner(), [1, 2, 3], each="left", name="all", deps=[]).build().run()
    assert report.value("all") == [4, 6, 8]


async def test_its_own_timeout_ends_it_and_only_it() -> None:
    slow = PipelineBuilder("slow").then(returning(1, after=99), name="a").with_timeout(3).build()
    report = await PipelineBuilder().then(slow).independent(returning(1, after=5), name="beside").build().run()
    assert outcomes(report)["beside"] == "succeeded"
    assert report["slow"].outcome in (StepOutcome.FAILED, StepOutcome.TIMED_OUT)
    assert report.elapsed == pytest.approx(5)


async def test_cancelling_the_whole_cancels_what_is_inside() -> None:
    slow = PipelineBuilder("slow").then(returning(1, after=99), name="a").build()
    report = await PipelineBuilder().then(slow).with_timeout(3).build().run()
    assert report["slow"].outcome in (StepOutcome.CANCELLED, StepOutcome.TIMED_OUT)
    assert report.elapsed == pytest.approx(3)


def test_a_parameter_that_it_does_not_have_cannot_be_bound() -> None:
    with pytest.raises(BindingError, match="lefft"):
        PipelineBuilder().then(inner(), bind={"lefft": 1}).build()
