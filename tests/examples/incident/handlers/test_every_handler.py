"""Every handler once through the runtime, as a model would call it: validated, in a thread, shaped to JSON."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from toolpath.catalog import Catalog, ToolCall
from toolpath.orchestrator.runtime import Runtime

from examples.incident.alert_service import AlertService
from examples.incident.handlers import bind_handlers, build_handlers
from examples.incident.world import World

HOUR: dict[str, Any] = {"start": "2025-11-18T14:10:00Z", "end": "2025-11-18T15:10:00Z"}
P99 = {"service": "checkout", "metric": "latency_p99_ms"}

CALLS: dict[str, dict[str, Any]] = {
    "alertdesk.list_alerts": {"service": "checkout"},
    "alertdesk.get_alert": {"alert_id": "AL-1042"},
    "alertdesk.acknowledge_alert": {"alert_id": "AL-1042", "engineer": "mei.chen"},
    "alertdesk.silence_alert": {"alert_id": "AL-1045", "minutes": 30, "reason": "known"},
    "alertdesk.resolve_alert": {"alert_id": "AL-1041", "resolution": "queue is empty"},
    "alertdesk.get_alert_history": {"alert_id": "AL-1039"},
    "query_metric_range": P99 | HOUR,
    "read_cached_metric_range": P99 | HOUR,
    "aggregate_metric": P99 | HOUR,
    "compare_metric_windows": {
        **P99,
        "baseline_start": "2025-11-18T13:10:00Z",
        "baseline_end": "2025-11-18T14:10:00Z",
        "current_start": HOUR["start"],
        "current_end": HOUR["end"],
    },
    "rank_services_by_metric": {"metric": "cpu_percent"} | HOUR,
    "detect_metric_anomalies": P99 | HOUR,
    "list_metrics": {},
    "correlate_metrics": {"first": P99, "second": {"service": "orders-db", "metric": "connections"}} | HOUR,
    "calculate_error_budget": {"service": "checkout"} | HOUR,
    "search_logs": {"query": "pool"},
    "tail_logs": {"service": "cart"},
    "count_log_lines": {"query": ""},
    "cluster_error_patterns": {},
    "get_log_context": {"service": "orders-db", "line_number": 40},
    "search_runbooks": {"query": "数据库连接耗尽怎么处理"},
    "read_runbook": {"runbook_id": "queue-backlog"},
    "list_runbooks": {},
    "shipyard.list_deployments": {},
    "shipyard.get_deployment": {"deployment_id": "DEP-3071"},
    "shipyard.diff_deployments": {"service": "checkout", "from_version": "4.17.2", "to_version": "4.18.0"},
    "warroom.list_incidents": {},
    "warroom.get_incident_timeline": {"incident_id": "INC-204"},
    "warroom.add_timeline_entry": {"incident_id": "INC-204", "text": "回滚 4.18.0", "author": "lena.vogel"},
    "warroom.find_similar_incidents": {"description": "database out of connections"},
    "rota.find_oncall_engineer": {"team": "orders"},
    "rota.list_oncall_shifts": {"team": "payments"},
    "write_incident_report": {"title": "Checkout", "sections": [{"heading": "Now", "body": "Slow."}]},
    "list_reports": {},
    "convert_timezone": {"timestamp": "2025-11-18T14:20:00", "to_timezone": "Asia/Shanghai"},
    "hash_text": {"text": "订单"},
    "query_json": {"document": {"a": [1, 2]}, "path": "$.a[*]"},
    "explain_cron": {"expression": "0 3 * * 1"},
    "convert_units": {"value": 1536, "from_unit": "MiB", "to_unit": "GB"},
    "calculate_percentiles": {"values": [120, 95, 300, 101]},
    "decode_jwt": {"token": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0."},
    "encode_base64": {"text": "abc"},
    "diff_texts": {"before": "a", "after": "b"},
    "parse_duration": {"text": "90 min"},
    "calculate_availability": {"availability_percent": 99.95},
    "describe_subnet": {"cidr": "10.20.0.0/22"},
}

FAIL = {
    "find_slow_traces": ({"service": "checkout"}, "dependency_missing"),
    "read_report": ({"path": "nothing.md"}, "not_found"),
}
"""What cannot work in a fresh world, with the reason."""


def test_the_lists_above_name_every_handler(world: World) -> None:
    assert {*CALLS, *FAIL} == set(build_handlers(world, "http://127.0.0.1:9"))
    assert len(CALLS) >= 40


@pytest.fixture
def runtime(own_world: World, service: AlertService, catalog: Catalog) -> Runtime:
    return Runtime(bind_handlers(catalog, own_world, service.url))


@pytest.mark.anyio
async def test_each_handler_answers_in_json(runtime: Runtime) -> None:
    for name, arguments in CALLS.items():
        result = await runtime.call(ToolCall(tool=name, arguments=arguments))
        assert result.ok, f"{name}: {result.error}"
        assert isinstance(result.data, dict) and result.data, name
        assert json.loads(json.dumps(result.data, allow_nan=False)) == result.data, name
        assert result.degraded == (name == "read_cached_metric_range"), name


@pytest.mark.anyio
async def test_a_result_fits_the_schema_that_its_tool_promises(runtime: Runtime) -> None:
    promised = [name for name in CALLS if runtime.catalog.get(name).returns]
    assert promised
    for name in promised:
        result = await runtime.call(ToolCall(tool=name, arguments=CALLS[name]))
        schema = runtime.catalog.get(name).returns
        assert schema is not None
        jsonschema.validate(result.data, schema)


@pytest.mark.anyio
@pytest.mark.parametrize("name", sorted(FAIL))
async def test_what_cannot_work_says_why(name: str, runtime: Runtime) -> None:
    arguments, error_type = FAIL[name]
    result = await runtime.call(ToolCall(tool=name, arguments=arguments))
    assert result.error is not None
    assert result.error.error_type == error_type


@pytest.mark.anyio
async def test_a_tool_without_a_handler_says_so(runtime: Runtime) -> None:
    call = ToolCall(tool="cluster.list_pods", arguments={})
    result = await runtime.call(call)
    assert result.error is not None
    assert result.error.error_type == "dependency_missing"


@pytest.mark.anyio
async def test_a_call_that_the_schema_refuses_never_reaches_its_handler(
    runtime: Runtime, service: AlertService
) -> None:
    result = await runtime.call(ToolCall(tool="alertdesk.get_alert", arguments={"alert_id": "../health"}))
    assert result.error is not None
    assert result.error.error_type == "validation_error"
    assert service.requests == ()


@pytest.mark.anyio
async def test_stale_data_are_marked_with_their_age(runtime: Runtime, own_world: World) -> None:
    with own_world.metrics_locked():
        live = await runtime.call(ToolCall(tool="query_metric_range", arguments=P99 | HOUR))
        cached = await runtime.call(ToolCall(tool="read_cached_metric_range", arguments=P99 | HOUR))
    assert live.error is not None
    assert (live.error.error_type, live.error.retry) == ("unavailable", "same")
    assert cached.degraded
    assert cached.confidence < 1
    assert cached.note == "from a snapshot taken at 2025-11-18T14:56:00Z, 14 minutes ago; what came later is missing"
    assert cached.data["age_seconds"] == 14 * 60
