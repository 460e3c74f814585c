"""What code inside a step knows of where it is, and how deep calls may be inside each other."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest
from toolpath.catalog import Tool, ToolCall
from toolpath.orchestrator import (
    PipelineBuilder,
    Retry,
    Runtime,
    StepContext,
    constant,
    current_step,
    heartbeat,
    progress,
    ref,
)

from tests.orchestrator.building import catalog_of, make_tool, raising, single

pytestmark = pytest.mark.anyio

QUICK = Retry(attempts=3, backoff=0.01, jitter=0)


async def where() -> StepContext | None:
    await anyio.lowlevel.checkpoint()
    return current_step()


async def test_outside_of_a_run_there_is_no_step_and_signs_of_life_do_nothing() -> None:
    assert current_step() is None
    heartbeat()
    progress("half", fraction=0.5)


async def test_every_kind_of_step_knows_its_own_place() -> None:
    builder = PipelineBuilder("outer").step(where, name="plain").step(where, name="timed", timeout=5)
    builder.step(lambda: current_step(), name="thread").step(make_tool("look", where), name="tool", retry=QUICK)
    report = await builder.build().run()
    for name in ("plain", "timed", "thread"):
        here = report.value(name)
        assert (here.pipeline, here.step, here.item, here.attempt) == ("outer", name, None, 1)
        assert here.idempotency_key == f"{report.run_id}:{name}"
        assert here.stack == ("outer", name)
    assert report.value("tool")["stack"] == ["outer", "tool", "look"]


async def test_steps_that_wait_at_the_same_time_are_not_mixed_up() -> None:
    async def look(seconds: float) -> str:
        await anyio.sleep(seconds)
        here = current_step()
        assert here is not None
        return here.step

    builder = PipelineBuilder()
    for number in range(30):
        builder.step(look, name=f"s{number}", bind={"seconds": (number * 7) % 30})
    report = await builder.build().run()
    assert all(step.value == step.name for step in report)


@pytest.mark.parametrize("retry", [None, QUICK], ids=["plain", "with policies"])
async def test_items_have_keys_of_their_own(retry: Retry | None) -> None:
    async def key(item: int) -> str:
        await anyio.sleep(item % 3)
        here = current_step()
        assert here is not None
        assert here.item == item
        return here.idempotency_key

    report = await PipelineBuilder().map(key, [0, 1, 2, 3], name="m", retry=retry).build().run()
    assert report.value("m") == [f"{report.run_id}:m:{item}" for item in range(4)]


async def test_attempts_share_the_key_and_are_counted() -> None:
    seen: list[tuple[int, str]] = []
    fails = raising(ConnectionError("down"), ConnectionError("down"), then="up")

    async def step() -> object:
        here = current_step()
        assert here is not None
        seen.append((here.attempt, here.idempotency_key))
        return await fails()

    report = await single(step, retry=QUICK).run()
    assert [attempt for attempt, _ in seen] == [1, 2, 3]
    assert {key for _, key in seen} == {f"{report.run_id}:step"}


async def test_a_pipeline_inside_another_extends_the_stack_and_the_key() -> None:
    inner = PipelineBuilder("inner").step(where).build()
    report = await PipelineBuilder("outer").step(inner, name="sub").build().run()
    here = report.value("sub")
    assert here.stack == ("outer", "sub", "inner", "where")
    assert here.idempotency_key == f"{report.run_id}:sub:where"


async def test_a_run_inside_a_thread_of_a_step_belongs_to_it() -> None:
    inner = PipelineBuilder("inner").step(where).build()
    report = await PipelineBuilder("outer").step(lambda: inner.run_sync().value("where"), name="sync").build().run()
    assert report.value("sync").stack == ("outer", "sync", "inner", "where")


async def test_a_tool_that_calls_itself_is_stopped_at_depth_ten_and_the_calls_are_named() -> None:
    depth = 0

    async def dig() -> object:
        nonlocal depth
        depth += 1
        return (await runtime.call(ToolCall(tool="dig"))).unwrap()

    runtime = Runtime(catalog_of(make_tool("dig", dig)))
    result = await runtime.call(ToolCall(tool="dig"))
    assert depth == 10
    assert result.error is not None
    assert result.error.error_type == "depth_exceeded"
    assert "dig > dig > dig" in result.error.message


async def test_pipelines_inside_each_other_count_too_and_a_fallback_does_not_hide_it() -> None:
    runtime = Runtime(catalog_of(), max_depth=4)

    async def again() -> object:
        report = await PipelineBuilder("p", runtime=runtime).step(again, fallback=[constant(0)]).build().run()
        report.raise_for_failure()
        return report.value("again")

    report = await PipelineBuilder("p", runtime=runtime).step(again).build().run()
    error = report["again"].error
    assert error is not None
    assert error.error_type == "depth_exceeded"
    assert "p > again > p > again > p" in error.message


async def test_reading_in_pieces_from_one_step_is_not_deep() -> None:
    async def read(page: int) -> str:
        return f"page {page}"

    runtime = Runtime(catalog_of(Tool.model_validate(make_tool("read", read, {"page": {"type": "integer"}}))))

    async def all_pages() -> list[str]:
        return [(await runtime.call(ToolCall(tool="read", arguments={"page": n}))).unwrap() for n in range(50)]

    builder = PipelineBuilder(runtime=runtime).step(all_pages).step(len, name="n", bind={"obj": ref("all_pages")})
    report = await builder.build().run()
    assert len(report.value("all_pages")) == 50


async def test_progress_refuses_what_is_no_fraction() -> None:
    with pytest.raises(ValueError, match="between 0 and 1, got 50"):
        progress(fraction=50)
