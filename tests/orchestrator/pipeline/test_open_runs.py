"""Steps that are added to a run that has begun."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from toolpath.catalog.errors import BindingError, DuplicateStepError, InputError, PipelineError, UnknownStepError
from toolpath.orchestrator import Pipeline, PipelineBuilder, Runtime, ref, run_input

from tests.orchestrator.building import FAIL_FAST, catalog_of, make_tool, outcomes, raising, returning

pytestmark = pytest.mark.anyio


async def double(value: int) -> int:
    return 2 * value


def nothing(**options: Any) -> Pipeline:
    return PipelineBuilder("plan", **options).build()


@pytest.mark.parametrize("limit", [1, 2, None])
async def test_a_plan_that_arrives_piece_by_piece(limit: int | None) -> None:
    async with nothing().open(limit=limit) as run:
        run.add(PipelineBuilder().step(returning(3, after=2), name="a"))
        run.add(PipelineBuilder().step(double, name="b", bind={"value": ref("a")}))
        found = await run.wait_for("b")
        assert found.value == 6
        await anyio.sleep(10)  # all workers rest, and wake again
        run.add(PipelineBuilder().step(double, name="c", bind={"value": ref("b")}).step(returning(1), name="d"))
        assert (await run.wait_for("d")).value == 1
    assert run.report.ok
    assert {step.name: step.value for step in run.report} == {"a": 3, "b": 6, "c": 12, "d": 1}
    assert run.report.edges == (("a", "b"), ("b", "c"))


async def test_what_was_built_runs_as_well_and_can_be_waited_for() -> None:
    pipeline = PipelineBuilder().step(returning(1, after=5), name="first").build()
    async with pipeline.open() as run:
        run.add(PipelineBuilder().step(double, name="second", deps=["first"], bind={"value": ref("first")}))
    assert outcomes(run.report) == {"first": "succeeded", "second": "succeeded"}


async def test_what_waits_for_a_step_that_failed_before_is_skipped_at_once() -> None:
    async with nothing().open() as run:
        run.add(PipelineBuilder().step(raising(ValueError("no")), name="bad"))
        await run.wait_for("bad")
        run.add(PipelineBuilder().step(returning(1), name="b", deps=["bad"]).step(returning(1), name="c", deps=["b"]))
        assert (await run.wait_for("c")).reason == "step 'b' was skipped"
    assert outcomes(run.report) == {"bad": "failed", "b": "skipped", "c": "skipped"}


async def test_a_join_sees_what_has_ended_and_what_has_not() -> None:
    async with nothing().open() as run:
        run.add(PipelineBuilder().step(returning(1), name="a").step(returning(2, after=9), name="b"))
        await run.wait_for("a")
        run.add(PipelineBuilder().join(returning("any"), name="j", deps=["a", "b"], rule="any"))
        assert (await run.wait_for("j")).started == pytest.approx(0)


async def test_every_mistake_is_told_and_nothing_is_added() -> None:
    runtime = Runtime(catalog_of(make_tool("known", returning(1))))
    async with nothing(runtime=runtime).open({"x": 1}) as run:
        run.add(PipelineBuilder().step(returning(1), name="a"))
        with pytest.raises(DuplicateStepError, match="'a'"):
            run.add(PipelineBuilder().step(returning(2), name="a"))
        with pytest.raises(UnknownStepError, match="'nowhere'"):
            run.add(PipelineBuilder().step(returning(2), name="fine").step(returning(1), name="c", deps=["nowhere"]))
        with pytest.raises(BindingError, match="unknown_tool_name"):
            run.add(PipelineBuilder().step("unknown_tool_name"))
        with pytest.raises(InputError, match="missing"):
            run.add(PipelineBuilder().step(double, bind={"value": run_input("missing")}))
        with pytest.raises(PipelineError, match="no step 'b' in the run"):
            await run.wait_for("b")
        run.add(PipelineBuilder().step(double, bind={"value": run_input("x")}).step("known"))
    assert outcomes(run.report) == {"a": "succeeded", "double": "succeeded", "known": "succeeded"}


async def test_a_run_that_is_over_takes_no_steps() -> None:
    async with nothing().open() as run:
        pass
    with pytest.raises(PipelineError, match="it is over"):
        run.add(PipelineBuilder().step(returning(1), name="late"))
    assert run.report.ok
    assert not run.report.steps


async def test_an_exception_in_the_block_cancels_the_steps_and_comes_out_as_it_is() -> None:
    with pytest.raises(LookupError, match="mine"):
        async with nothing().open() as run:
            run.add(PipelineBuilder().step(returning(1, after=100), name="slow"))
            await anyio.sleep(1)
            raise LookupError("mine")
    assert outcomes(run.report) == {"slow": "cancelled"}
    assert run.report.elapsed == pytest.approx(1)


async def test_a_timeout_and_fail_fast_end_an_open_run() -> None:
    async with nothing().open(timeout=5) as run:
        run.add(PipelineBuilder().step(returning(1, after=100), name="slow"))
        assert (await run.wait_for("slow")).outcome == "timed_out"
        with pytest.raises(PipelineError, match="it is over"):
            run.add(PipelineBuilder().step(returning(1), name="late"))
    async with PipelineBuilder().with_error_policy(FAIL_FAST).build().open() as other:
        other.add(
            PipelineBuilder().step(raising(ValueError("no"), after=1), name="bad").step(returning(1, after=9), name="s")
        )
        await other.wait_for("s")
    assert outcomes(other.report) == {"bad": "failed", "s": "cancelled"}
