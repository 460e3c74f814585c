"""The trace tool: honest where no collector is installed, right where one has written spans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toolpath.catalog import ToolError

from examples.incident.handlers.traces import TraceTools
from examples.incident.world import World


def span(trace: str, service: str, name: str, ms: float, parent: str = "", at: str = "14:30") -> str:
    entry = {"trace_id": trace, "service": service, "name": name, "duration_ms": ms, "start": f"2025-11-18T{at}:00Z"}
    return json.dumps(entry | ({"parent_id": parent} if parent else {}))


@pytest.fixture
def spooled(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.trace_spool.mkdir()
    lines = [
        span("t1", "gateway", "POST /checkout", 3100),
        span("t1", "checkout", "acquire connection", 2000, "a"),
        span("t1", "payments", "authorise", 900, "a"),
        span("t2", "gateway", "POST /checkout", 700, at="13:00"),
        span("t2", "checkout", "price", 20, "b"),
        span("t3", "gateway", "GET /search", 9000),
        span("t4", "checkout", "orphan", 9000, "c"),
        span("t5", "checkout", "alone", 800),
    ]
    (world.trace_spool / "spans.jsonl").write_text("\n".join(lines))
    return world


def test_without_a_collector_it_says_so(world: World) -> None:
    with pytest.raises(ToolError, match="no trace collector is installed") as caught:
        TraceTools(world).find_slow_traces("checkout")
    assert caught.value.error_type == "dependency_missing"
    assert not caught.value.info.retryable


def test_the_slowest_traces_of_a_service_come_first(spooled: World) -> None:
    answer = TraceTools(spooled).find_slow_traces("checkout")
    assert [trace["trace_id"] for trace in answer["traces"]] == ["t1", "t5", "t2"]
    assert answer["traces"][0]["slowest_span"] == {
        "service": "checkout",
        "name": "acquire connection",
        "duration_ms": 2000.0,
    }
    assert answer["traces"][1]["slowest_span"]["name"] == "alone"


def test_period_limit_and_threshold_hold(spooled: World) -> None:
    tools = TraceTools(spooled)
    assert [row["trace_id"] for row in tools.find_slow_traces("checkout", end="2025-11-18T14:00:00Z")["traces"]] == [
        "t2"
    ]
    assert tools.find_slow_traces("checkout", minimum_ms=1000)["matched"] == 1
    cut = tools.find_slow_traces("checkout", limit=1)
    assert (len(cut["traces"]), cut["matched"]) == (1, 3)


@pytest.mark.parametrize(
    "line", ["not json", "[]", "{}", '{"start": 5}', '{"start": "2025-11-18", "duration_ms": "long"}']
)
def test_a_line_that_is_no_span_is_named(spooled: World, line: str) -> None:
    (spooled.trace_spool / "other.jsonl").write_text(line)
    with pytest.raises(ToolError, match=r"other\.jsonl, line 1") as caught:
        TraceTools(spooled).find_slow_traces("checkout")
    assert caught.value.error_type == "interface_changed"
