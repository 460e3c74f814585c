"""What usually comes next is warmed, if it is safe, and it is counted what that was good for."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolpath.catalog import Permission, ToolCall
from toolpath.orchestrator import Cache, CallContext, Prefetch, Runtime

from tests.orchestrator.building import Counted, catalog_of, make_tool, returning

pytestmark = pytest.mark.anyio


def taught(prefetch: Prefetch, *followers: str) -> Prefetch:
    for number, follower in enumerate(followers):
        prefetch.observe(f"c{number}", "search")
        prefetch.observe(f"c{number}", follower)
    return prefetch


async def test_nothing_is_expected_before_enough_was_seen() -> None:
    prefetch = taught(Prefetch(min_seen=4), *["read"] * 3)
    prefetch.observe("agent", "search")
    assert prefetch.expected("agent") is None
    taught(prefetch, "read")
    assert prefetch.expected("agent") == "read"
    assert prefetch.expected("somebody else") is None


async def test_nothing_is_expected_when_anything_may_follow() -> None:
    prefetch = taught(Prefetch(min_seen=4), "read", "write", "read", "write")
    prefetch.observe("agent", "search")
    assert prefetch.expected("agent") is None


async def test_the_next_tool_is_warmed_and_what_that_was_good_for_is_counted() -> None:
    opened: list[str] = []

    async def connect() -> None:
        opened.append("read")

    prefetch = taught(Prefetch({"read": connect}, min_seen=2), "read", "read")
    tools = [make_tool(name, returning(1)) for name in ("search", "read", "write")]
    runtime = Runtime(catalog_of(*tools), prefetch=prefetch)
    for session, follower in (("a", "read"), ("b", "write")):
        context = CallContext(caller=session)
        await runtime.call(ToolCall(tool="search"), context)
        assert await runtime.warm_next(session) == "read"
        await runtime.call(ToolCall(tool=follower), context)
    assert opened == ["read", "read"]
    stats = prefetch.stats
    assert (stats.warmed, stats.used, stats.wasted) == (2, 1, 1)


async def test_a_safe_tool_without_arguments_is_warmed_by_calling_it_into_the_cache() -> None:
    handler = Counted(lambda: "configuration")
    settings = make_tool("settings", handler, permission=Permission.SAFE_READ, cache_ttl=60)
    prefetch = taught(Prefetch(min_seen=1), "settings")
    runtime = Runtime(catalog_of(make_tool("search", returning(1)), settings), prefetch=prefetch, cache=Cache())
    context = CallContext(caller="agent")
    await runtime.call(ToolCall(tool="search"), context)
    assert await runtime.warm_next("agent") == "settings"
    assert (await runtime.call(ToolCall(tool="settings"), context)).metadata["cached"]
    assert len(handler.calls) == 1


@pytest.mark.parametrize(
    "fields", [{"permission": Permission.HIGH_RISK_WRITE, "cache_ttl": 60}, {"permission": Permission.SAFE_READ}, {}]
)
async def test_what_is_not_safe_or_not_kept_is_never_called_ahead(fields: dict[str, object]) -> None:
    handler = Counted(lambda: 1)
    prefetch = taught(Prefetch(min_seen=1), "next")
    tools = (make_tool("search", returning(1)), make_tool("next", handler, **fields))
    runtime = Runtime(catalog_of(*tools), prefetch=prefetch, cache=Cache())
    await runtime.call(ToolCall(tool="search"), CallContext(caller="agent"))
    assert await runtime.warm_next("agent") is None
    assert handler.calls == []


async def test_warming_that_fails_harms_nobody() -> None:
    async def broken() -> None:
        raise ConnectionError("down")

    prefetch = taught(Prefetch({"read": broken}, min_seen=1), "read")
    runtime = Runtime(catalog_of(make_tool("search", returning(1)), make_tool("read", returning(1))), prefetch=prefetch)
    await runtime.call(ToolCall(tool="search"), CallContext(caller="agent"))
    assert await runtime.warm_next("agent") is None
    assert prefetch.stats.warmed == 0


async def test_without_a_prefetch_nothing_is_warmed() -> None:
    assert await Runtime(catalog_of()).warm_next("agent") is None


async def test_counts_are_kept_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "next.json"
    taught(Prefetch(min_seen=2, path=path), "läs", "läs").save()
    again = Prefetch(min_seen=2, path=path)
    again.observe("agent", "search")
    assert again.expected("agent") == "läs"
    path.write_text("[1]")
    with pytest.raises(ValueError, match="does not hold"):
        Prefetch(path=path)
    with pytest.raises(ValueError, match="path"):
        Prefetch().save()
    with pytest.raises(ValueError, match="share"):
        Prefetch(share=0.5)
