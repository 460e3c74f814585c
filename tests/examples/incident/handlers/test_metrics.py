"""Metric tools against the real database: they find what the story says, and refuse what makes no sense."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from toolpath.catalog import ToolError

from examples.incident.handlers.metrics import MetricTools
from examples.incident.world import World

AROUND = ("2025-11-18T14:00:00Z", "2025-11-18T15:10:00Z")


@pytest.fixture
def tools(world: World) -> MetricTools:
    return MetricTools(world)


def failing(call: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        call()
    return caught.value


def test_a_curve_has_one_point_per_step_and_rises_with_the_incident(tools: MetricTools) -> None:
    curve = tools.query_metric_range("checkout", "latency_p99_ms", *AROUND, step_seconds=600)
    assert [point["at"][11:16] for point in curve["points"]] == [
        "14:00",
        "14:10",
        "14:20",
        "14:30",
        "14:40",
        "14:50",
        "15:00",
    ]
    assert curve["points"][0]["value"] < 400 < 3000 < curve["points"][-1]["value"]
    assert (curve["unit"], curve["stale"]) == ("ms", False)


def test_moments_with_another_offset_mean_the_same(tools: MetricTools) -> None:
    utc = tools.query_metric_range("checkout", "latency_p99_ms", *AROUND)
    shanghai = ("2025-11-18T22:00:00+08:00", "2025-11-18T23:10:00+08:00")
    assert tools.query_metric_range("checkout", "latency_p99_ms", *shanghai) == utc


def test_the_cached_curve_equals_the_live_one_up_to_the_snapshot(tools: MetricTools) -> None:
    until = "2025-11-18T14:55:00Z"
    live = tools.query_metric_range("checkout", "latency_p99_ms", AROUND[0], until)
    cached = tools.read_cached_metric_range("checkout", "latency_p99_ms", AROUND[0], until)
    assert cached.value["points"] == live["points"]
    assert cached.value["stale"] is True
    assert "missing" not in cached.note
    later = tools.read_cached_metric_range("checkout", "latency_p99_ms", *AROUND)
    assert later.value["points"][-1]["at"] == "2025-11-18T14:55:00Z"
    assert later.note.endswith("what came later is missing")


def test_one_number_per_aggregation(tools: MetricTools) -> None:
    answer = tools.aggregate_metric("orders-db", "connections", *AROUND, aggregations=["max", "count", "p50"])
    assert answer["values"]["max"] == 200
    assert answer["values"]["count"] == answer["points"] == 70


def test_a_comparison_shows_the_change_in_percent(tools: MetricTools) -> None:
    answer = tools.compare_metric_windows(
        "checkout",
        "error_rate_percent",
        "2025-11-18T13:20:00Z",
        "2025-11-18T14:10:00Z",
        "2025-11-18T14:30:00Z",
        AROUND[1],
    )
    assert answer["baseline"] < 0.5
    assert answer["current"] > 10
    assert answer["difference"] == pytest.approx(answer["current"] - answer["baseline"], abs=0.002)
    assert answer["change_percent"] > 1000


def test_a_comparison_with_zero_has_no_percentage(own_world: World) -> None:
    with closing(sqlite3.connect(own_world.metrics)) as db, db:
        db.execute("UPDATE points SET value = 0 WHERE at < ?", (own_world.facts.incident_start.timestamp(),))
    answer = MetricTools(own_world).compare_metric_windows(
        "checkout", "cpu_percent", "2025-11-18T13:00:00Z", "2025-11-18T14:00:00Z", "2025-11-18T14:30:00Z", AROUND[1]
    )
    assert answer["change_percent"] is None


def test_the_ranking_goes_both_ways_and_is_cut(tools: MetricTools) -> None:
    top = tools.rank_services_by_metric("latency_p99_ms", *AROUND, limit=2)
    assert [row["service"] for row in top["services"]] == ["checkout", "gateway"]
    low = tools.rank_services_by_metric("latency_p99_ms", *AROUND, order="lowest", limit=1)
    assert low["services"][0]["service"] == "inventory"
    assert low["compared"] == 6


def test_the_anomaly_begins_within_two_minutes_of_the_incident_and_goes_on(tools: MetricTools) -> None:
    answer = tools.detect_metric_anomalies("checkout", "latency_p99_ms", *AROUND)
    assert [interval["ongoing"] for interval in answer["intervals"]] == [True]
    assert answer["intervals"][0]["start"] in ("2025-11-18T14:20:00Z", "2025-11-18T14:21:00Z", "2025-11-18T14:22:00Z")
    assert answer["intervals"][0]["direction"] == "above"


def test_a_hump_that_passes_is_an_interval_with_an_end(tools: MetricTools) -> None:
    (hump,) = tools.detect_metric_anomalies("search", "latency_p99_ms", *AROUND, z_threshold=6)["intervals"]
    assert hump["start"] == "2025-11-18T14:05:00Z"
    assert hump["end"] <= "2025-11-18T14:18:00Z"
    assert not hump["ongoing"]


def test_a_quiet_series_has_no_anomaly(tools: MetricTools) -> None:
    assert tools.detect_metric_anomalies("orders-db", "connections_limit", *AROUND)["intervals"] == []


def test_checkout_follows_the_connections_of_the_database(tools: MetricTools) -> None:
    first, second = (
        {"service": "orders-db", "metric": "connections"},
        {"service": "checkout", "metric": "latency_p99_ms"},
    )
    answer = tools.correlate_metrics(first, second, *AROUND)
    assert answer["correlation"] > 0.9
    assert 0 <= answer["lag_minutes"] <= 3


def test_a_constant_series_correlates_with_nothing(tools: MetricTools) -> None:
    first, second = (
        {"service": "orders-db", "metric": "connections_limit"},
        {"service": "cart", "metric": "cpu_percent"},
    )
    assert failing(lambda: tools.correlate_metrics(first, second, *AROUND)).error_type == "validation_error"


def test_the_error_budget_is_counted_in_requests(tools: MetricTools) -> None:
    answer = tools.calculate_error_budget("checkout", *AROUND, objective_percent=99.0, budget_days=7)
    assert answer["error_percent"] == pytest.approx(100 * answer["errors"] / answer["requests"], abs=0.001)
    assert answer["burn_rate"] == pytest.approx(answer["error_percent"], abs=0.01)  # 1% is allowed
    assert answer["budget_used_percent"] == pytest.approx(answer["burn_rate"] * 70 / (7 * 24 * 60) * 100, abs=0.01)


@pytest.mark.parametrize(
    ("service", "metric", "start", "end", "error_type", "hint"),
    [
        ("chekout", "latency_p99_ms", *AROUND, "not_found", "did you mean 'checkout'"),
        ("checkout", "latency_p99", *AROUND, "not_found", "did you mean 'latency_p99_ms'"),
        ("checkout", "x' OR 1=1 --", *AROUND, "not_found", "no metric of checkout"),
        ("checkout", "cpu_percent", "2025-11-18T16:00:00Z", "2025-11-18T17:00:00Z", "not_found", "no points"),
        ("checkout", "cpu_percent", AROUND[1], AROUND[0], "validation_error", "must lie after start"),
        ("checkout", "cpu_percent", "yesterday", AROUND[0], "validation_error", "ISO 8601"),
        ("checkout", "cpu_percent", "0001-01-01T00:00:00+10:00", AROUND[0], "validation_error", "ISO 8601"),
        ("checkout", "cpu_percent", "1969-12-31T00:00:00Z", AROUND[0], "validation_error", "1970"),
    ],
)
def test_what_cannot_be_asked_gets_a_helpful_error(
    tools: MetricTools, service: str, metric: str, start: str, end: str, error_type: str, hint: str
) -> None:
    error = failing(lambda: tools.query_metric_range(service, metric, start, end))
    assert error.error_type == error_type
    assert hint in str(error)


def test_unknown_names_are_told_apart_everywhere(tools: MetricTools) -> None:
    assert "cpu_percent" in failing(lambda: tools.rank_services_by_metric("cpu", *AROUND)).info.suggestion
    late = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
    assert "no points" in str(failing(lambda: tools.rank_services_by_metric("cpu_percent", *late)))
    assert "orders-db" in failing(lambda: tools.list_metrics("orders")).info.suggestion
    assert failing(lambda: tools.calculate_error_budget("orders-db", *AROUND)).error_type == "not_found"


def test_too_many_points_are_refused_with_advice(own_world: World) -> None:
    with closing(sqlite3.connect(own_world.metrics)) as db, db:
        number = db.execute("SELECT id FROM series WHERE service = 'cart' AND metric = 'cpu_percent'").fetchone()[0]
        first = int(own_world.facts.now.timestamp())
        rows = ((number, first + 60 * i, 1.0) for i in range(2500))
        db.executemany("INSERT INTO points VALUES (?, ?, ?)", rows)
    tools = MetricTools(own_world)
    end = "2025-11-30T00:00:00Z"
    error = failing(lambda: tools.query_metric_range("cart", "cpu_percent", AROUND[0], end, step_seconds=60))
    assert "wider step" in str(error)
    assert len(tools.query_metric_range("cart", "cpu_percent", AROUND[0], end)["points"]) < 1000


def test_a_store_that_is_gone_is_unavailable(own_world: World) -> None:
    own_world.metrics.unlink()
    error = failing(lambda: MetricTools(own_world).list_metrics())
    assert error.error_type == "unavailable"
    assert str(own_world.folder) not in str(error)


def test_a_folder_with_strange_characters_in_its_name_can_be_read(
    world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("a?b#c %20 数据")
    (folder / "metrics.sqlite").write_bytes(world.metrics.read_bytes())
    assert MetricTools(World(folder)).list_metrics("cart")["count"] == 7
