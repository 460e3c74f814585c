"""Results that are used again: for how long, for whom, and what makes them outdated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from toolpath.catalog import Degraded, Permission, SideEffect, ToolCall, ToolResult
from toolpath.catalog.errors import BindingError
from toolpath.orchestrator import (
    Cache,
    CallContext,
    Level,
    MemoryStore,
    PipelineBuilder,
    Retry,
    Runtime,
    SQLiteCacheStore,
    constant,
    stale,
)
from toolpath.orchestrator.runtime.caching import age_text

from tests.orchestrator.building import Counted, catalog_of, make_tool, returning

pytestmark = pytest.mark.anyio

ONCE = Retry(attempts=1)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def cache(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Cache:
    return Cache(MemoryStore() if request.param == "memory" else SQLiteCacheStore(tmp_path / "c.sqlite"), clock)


@pytest.fixture
def handler() -> Counted:
    answers = iter(range(100))
    return Counted(lambda **arguments: {"number": next(answers), "ü": arguments})


def weather(handler: Any, **fields: Any) -> Any:
    return make_tool("weather", handler, {"city": {"type": "string"}}, **({"cache_ttl": 60} | fields))


async def call(runtime: Runtime, user: str = "", tool: str = "weather", **arguments: Any) -> ToolResult:
    return await runtime.call(ToolCall(tool=tool, arguments=arguments), CallContext(user=user))


async def test_an_equal_call_gets_the_kept_result_until_its_time_is_over(
    cache: Cache, handler: Counted, clock: Clock
) -> None:
    runtime = Runtime(catalog_of(weather(handler)), cache=cache)
    first = await call(runtime, city="Ulm")
    clock.now += 60
    second = await call(runtime, city="Ulm")
    assert second.data == first.data
    assert second.metadata["cached"] is True
    assert second.metadata["age_s"] == 60
    assert not second.degraded
    clock.now += 0.1
    assert (await call(runtime, city="Ulm")).data["number"] == 1


async def test_other_arguments_versions_and_tools_without_a_time_are_called(cache: Cache, handler: Counted) -> None:
    runtime = Runtime(catalog_of(weather(handler), make_tool("other", handler)), cache=cache)
    await call(runtime, city="Ulm")
    assert (await call(runtime, city="Bonn")).data["number"] == 1
    runtime.catalog.replace(weather(handler, version="2"))
    assert (await call(runtime, city="Ulm")).data["number"] == 2
    assert (await call(runtime, tool="other")).data["number"] == 3
    assert (await call(runtime, tool="other")).data["number"] == 4


async def test_sensitive_results_are_kept_for_one_user_and_for_nobody_not_at_all(
    cache: Cache, handler: Counted
) -> None:
    runtime = Runtime(catalog_of(weather(handler, permission=Permission.SENSITIVE_READ)), cache=cache)
    assert [(await call(runtime, user, city="Ulm")).data["number"] for user in ("ada", "ada", "bob", "", "")] == [
        0,
        0,
        1,
        2,
        3,
    ]


async def test_errors_second_best_results_and_writes_are_never_kept(cache: Cache) -> None:
    answers: list[Any] = [Degraded(1, "old", 0.5), 2]
    second_best = weather(Counted(lambda **_: answers.pop(0)))
    writes = make_tool("write", Counted(lambda: 1), cache_ttl=60, side_effect=SideEffect.WRITE)

    async def fails(city: str) -> None:
        raise ValueError("no")

    runtime = Runtime(catalog_of(second_best, writes, make_tool("bad", fails, {"city": {}}, cache_ttl=60)), cache=cache)
    assert (await call(runtime, city="Ulm")).degraded
    assert (await call(runtime, city="Ulm")).data == 2
    for _ in range(2):
        assert "cached" not in (await call(runtime, tool="write")).metadata
        assert not (await call(runtime, tool="bad", city="x")).ok


async def test_a_write_tool_outdates_what_it_touches_once_it_has_succeeded(cache: Cache, handler: Counted) -> None:
    working = False

    async def save() -> None:
        if not working:
            raise ValueError("disk full")

    write = make_tool("save", save, touches=("forecasts",))
    runtime = Runtime(catalog_of(weather(handler, tags=("forecasts",)), write), cache=cache)
    await call(runtime, city="Ulm")
    await call(runtime, tool="save")
    assert (await call(runtime, city="Ulm")).data["number"] == 0
    working = True
    await call(runtime, tool="save")
    assert (await call(runtime, city="Ulm")).data["number"] == 1


async def test_identical_calls_at_the_same_time_are_made_once(cache: Cache) -> None:
    slow = Counted(returning_slowly)
    runtime = Runtime(catalog_of(weather(slow)), cache=cache)
    results: list[ToolResult] = []

    async def one() -> None:
        results.append(await call(runtime, city="Ulm"))

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(one)
    assert len(slow.calls) == 1
    assert len({result.call_id for result in results}) == 20
    assert sum("shared" in result.metadata for result in results) == 19


async def returning_slowly(**_arguments: Any) -> str:
    await anyio.sleep(5)
    return "sun"


async def test_when_the_one_who_calls_is_cancelled_another_one_does_it(cache: Cache) -> None:
    slow = Counted(returning_slowly)
    runtime = Runtime(catalog_of(weather(slow)), cache=cache)
    results: list[ToolResult] = []

    async def one() -> None:
        results.append(await call(runtime, city="Ulm"))

    async with anyio.create_task_group() as group:
        with anyio.move_on_after(1):
            async with anyio.create_task_group() as first:
                first.start_soon(one)
                await anyio.sleep(0.5)
                group.start_soon(one)
                await anyio.sleep(9)
    assert [result.data for result in results] == ["sun"]
    assert len(slow.calls) == 2


async def test_a_kept_result_serves_as_a_fallback_and_says_how_old_it_is(cache: Cache, clock: Clock) -> None:
    up = True

    async def service(city: str) -> str:
        if not up:
            raise ConnectionError("down")
        return f"sun in {city}"

    runtime = Runtime(catalog_of(weather(service)), cache=cache)
    builder = PipelineBuilder(runtime=runtime)
    pipeline = builder.step("weather", retry=ONCE, fallback=[stale(3600), constant("unknown")]).build()
    assert not (await pipeline.run({"city": "Ulm"})).degraded
    up = False
    clock.now += 14 * 60
    report = await pipeline.run({"city": "Ulm"})
    assert report.value("weather") == "sun in Ulm"
    assert report["weather"].note == "kept from 14 minutes ago"
    assert report["weather"].degraded
    assert report["weather"].confidence == 0.5
    assert report["weather"].served_by == "weather (kept)"
    clock.now += 3600
    assert (await pipeline.run({"city": "Ulm"})).value("weather") == "unknown"
    assert (await pipeline.run({"city": "Bonn"})).value("weather") == "unknown"


async def test_a_kept_result_needs_a_tool_before_it() -> None:
    with pytest.raises(BindingError, match="needs a tool before it"):
        PipelineBuilder().step(returning(1), name="x", fallback=[Level(stale())]).build()
    with pytest.raises(BindingError, match="level of a fallback chain"):
        PipelineBuilder().step(stale(), name="x").build()
    with pytest.raises(ValueError, match="max_age"):
        stale(0)


async def test_results_in_a_file_outlive_the_process_and_can_be_pruned(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "c.sqlite"
    store = SQLiteCacheStore(path)
    await call(Runtime(catalog_of(weather(Counted(lambda **_: 1))), cache=Cache(store, clock)), city="Ulm")
    store.close()
    again = SQLiteCacheStore(path)
    runtime = Runtime(catalog_of(weather(Counted(lambda **_: 2))), cache=Cache(again, clock))
    assert (await call(runtime, city="Ulm")).data == 1
    assert again.prune(older_than=clock.now + 1) == 1
    assert (await call(runtime, city="Ulm")).data == 2


async def test_the_least_used_result_goes_first() -> None:
    handler = Counted(lambda city: city)
    runtime = Runtime(catalog_of(weather(handler)), cache=Cache(MemoryStore(2)))
    for city in ("a", "b", "a", "c", "a", "b"):
        await call(runtime, city=city)
    assert [made["city"] for made in handler.calls] == ["a", "b", "c", "b"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 seconds"), (1, "1 second"), (60, "1 minute"), (840, "14 minutes"), (7200, "2 hours"), (90_000, "1 day")],
)
async def test_ages_for_people(seconds: float, text: str) -> None:
    assert age_text(seconds) == text
