"""Deployments, incidents and duty shifts from the records database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from toolpath.catalog import Degraded, ToolError

from examples.incident.alert_book import AlertBook
from examples.incident.alert_service import AlertService, Fault
from examples.incident.handlers import record_store
from examples.incident.handlers.alert_client import AlertClient
from examples.incident.handlers.deployments import DeploymentTools
from examples.incident.handlers.incidents import IncidentTools
from examples.incident.handlers.schedules import ScheduleTools
from examples.incident.world import World

INJECTION = "x' OR '1'='1"


def failing(call: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        call()
    return caught.value


def whole(answer: object) -> dict[str, object]:
    assert isinstance(answer, dict)
    return answer


@pytest.fixture
def deployments(world: World) -> DeploymentTools:
    return DeploymentTools(world)


@pytest.fixture
def schedules(world: World) -> ScheduleTools:
    return ScheduleTools(world)


@pytest.fixture
def incidents(own_world: World, service: AlertService) -> IncidentTools:
    return IncidentTools(own_world, AlertClient(service.url))


def test_deployments_of_the_afternoon_come_newest_first(deployments: DeploymentTools) -> None:
    answer = deployments.list_deployments(start="2025-11-18T12:00:00Z")
    assert [row["deployment_id"] for row in answer["deployments"]] == ["DEP-3071", "DEP-3070"]
    assert answer["deployments"][0]["duration_seconds"] == 420


def test_deployments_are_filtered(deployments: DeploymentTools) -> None:
    assert deployments.list_deployments(status="rolled_back")["deployments"][0]["service"] == "payments"
    assert deployments.list_deployments("checkout", limit=1)["count"] == 1
    assert deployments.list_deployments(INJECTION)["deployments"] == []


def test_a_deployment_shows_its_commits_and_configuration(deployments: DeploymentTools) -> None:
    answer = deployments.get_deployment("DEP-3071")
    assert [commit["hash"] for commit in answer["commits"]] == ["b7d2a91", "e40c77d", "51aa0be"]
    assert answer["config"]["db.pool.max_per_instance"] == "60"
    assert failing(lambda: deployments.get_deployment("DEP-3072")).error_type == "not_found"


def test_the_difference_shows_what_began_the_incident(deployments: DeploymentTools) -> None:
    answer = deployments.diff_deployments("checkout", "4.17.2", "4.18.0")
    assert answer["config"] == [
        {"name": "db.pool.max_per_instance", "before": "20", "after": "60"},
        {"name": "pricing.recheck.enabled", "before": None, "after": "true"},
    ]
    assert answer["dependencies"] == [{"name": "sqlpool", "before": "3.1.0", "after": "3.2.0"}]
    assert [commit["version"] for commit in answer["commits"]] == ["4.18.0"] * 3


def test_a_difference_spans_releases_and_knows_directions(deployments: DeploymentTools) -> None:
    spanning = deployments.diff_deployments("checkout", "4.17.1", "4.18.0")
    assert [commit["hash"] for commit in spanning["commits"]] == ["9c1f04e", "b7d2a91", "e40c77d", "51aa0be"]
    backwards = deployments.diff_deployments("checkout", "4.18.0", "4.17.2")
    assert backwards["commits"] == []
    assert backwards["config"][0] == {"name": "db.pool.max_per_instance", "before": "60", "after": "20"}
    same = deployments.diff_deployments("checkout", "4.18.0", "4.18.0")
    assert (same["config"], same["dependencies"], same["commits"]) == ([], [], [])


def test_an_unknown_version_names_those_there_are(deployments: DeploymentTools) -> None:
    error = failing(lambda: deployments.diff_deployments("checkout", "4.17.2", "4.19.0"))
    assert error.info.fields == {"to_version": "no such version of checkout"}
    assert "4.18.0" in error.info.suggestion


def test_incidents_are_filtered(incidents: IncidentTools) -> None:
    assert [row["incident_id"] for row in incidents.list_incidents("open")["incidents"]] == ["INC-204"]
    by_service = incidents.list_incidents(service="orders-db")["incidents"]
    assert [row["incident_id"] for row in by_service] == ["INC-204", "INC-187"]
    assert by_service[0]["services"] == ["checkout", "orders-db"]
    assert incidents.list_incidents(INJECTION)["incidents"] == []


def test_a_timeline_joins_people_and_machines_in_order(incidents: IncidentTools) -> None:
    entries = whole(incidents.get_incident_timeline("INC-204"))["entries"]
    assert isinstance(entries, list)
    assert [entry["at"] for entry in entries] == sorted(entry["at"] for entry in entries)
    assert [entry["kind"] for entry in entries][:4] == ["deployment", "alert", "alert", "alert"]
    assert "DEP-3071" in entries[0]["text"]
    assert any("连接数" in entry["text"] for entry in entries)


def test_a_timeline_without_changes_asks_nobody(incidents: IncidentTools, service: AlertService) -> None:
    entries = whole(incidents.get_incident_timeline("INC-204", include_changes=False))["entries"]
    assert isinstance(entries, list)
    assert {entry["kind"] for entry in entries} == {"declared", "observation", "question"}
    assert service.requests == ()


def test_a_timeline_of_the_past_leaves_out_what_came_later(incidents: IncidentTools) -> None:
    entries = whole(incidents.get_incident_timeline("INC-201"))["entries"]
    assert isinstance(entries, list)
    assert [(entry["kind"], entry["at"][:10]) for entry in entries] == [
        ("deployment", "2025-11-14"),
        ("decision", "2025-11-14"),
    ]


def test_a_timeline_without_the_alert_service_says_what_is_missing(own_world: World) -> None:
    with AlertService(AlertBook(), [Fault("/", 1)]) as service:
        answer = IncidentTools(own_world, AlertClient(service.url)).get_incident_timeline("INC-204")
    assert isinstance(answer, Degraded)
    assert answer.note.startswith("alerts are missing: the alert service answered 503")
    assert answer.confidence < 1
    assert {entry["kind"] for entry in answer.value["entries"]} >= {"deployment", "observation"}


def test_an_entry_is_written_into_the_timeline(incidents: IncidentTools) -> None:
    written = incidents.add_timeline_entry("INC-204", "'); DROP TABLE timeline; --", "lena.vogel")
    assert written["at"] == "2025-11-18T15:10:00Z"
    earlier = incidents.add_timeline_entry("INC-204", "回滚", "lena.vogel", at="2025-11-18T16:05:00+01:00")
    assert earlier["entry_id"] == written["entry_id"] + 1
    entries = whole(incidents.get_incident_timeline("INC-204"))["entries"]
    assert isinstance(entries, list)
    assert [entry["text"] for entry in entries][-2:] == ["回滚", "'); DROP TABLE timeline; --"]
    assert failing(lambda: incidents.add_timeline_entry("INC-9", "x", "y")).error_type == "not_found"


def test_similar_incidents_are_found_by_rare_words(incidents: IncidentTools) -> None:
    found = incidents.find_similar_incidents("the database ran out of connections", limit=1)["incidents"]
    assert [(row["incident_id"], bool(row["resolution"])) for row in found] == [("INC-187", True)]
    assert incidents.find_similar_incidents("zebra")["incidents"] == []


def test_the_present_engineer_is_found(schedules: ScheduleTools) -> None:
    answer = schedules.find_oncall_engineer("orders")
    assert [(row["role"], row["engineer"]) for row in answer["on_call"]] == [
        ("primary", "mei.chen"),
        ("secondary", "lena.vogel"),
    ]
    assert answer["on_call"][0]["hours_left"] == 137.8


def test_a_shift_ends_when_the_next_begins(schedules: ScheduleTools) -> None:
    before = schedules.find_oncall_engineer("payments", "2025-11-17T08:59:59Z")["on_call"]
    after = schedules.find_oncall_engineer("payments", "2025-11-17T09:00:00Z")["on_call"]
    assert [row["engineer"] for row in before] == [row["engineer"] for row in reversed(after)]


def test_the_plan_has_an_end(schedules: ScheduleTools) -> None:
    error = failing(lambda: schedules.find_oncall_engineer("orders", "2026-06-01T00:00:00Z"))
    assert error.error_type == "not_found"
    assert "nobody is planned" in str(error)
    assert "orders" in failing(lambda: schedules.find_oncall_engineer(INJECTION)).info.suggestion


def test_the_plan_is_two_weeks_unless_told_otherwise(schedules: ScheduleTools) -> None:
    shifts = schedules.list_oncall_shifts("orders")["shifts"]
    assert len(shifts) == 6  # the running week, two more, two roles each
    assert len(schedules.list_oncall_shifts("orders", end="2025-11-19T00:00:00Z")["shifts"]) == 2
    error = failing(lambda: schedules.list_oncall_shifts("orders", end="2025-11-01T00:00:00Z"))
    assert error.error_type == "validation_error"


def test_a_locked_or_absent_database_is_unavailable(own_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_store, "LOCK_SECONDS", 0.0)
    with closing(sqlite3.connect(own_world.records, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        assert failing(lambda: DeploymentTools(own_world).list_deployments()).error_type == "unavailable"
    own_world.records.unlink()
    assert failing(lambda: DeploymentTools(own_world).list_deployments()).error_type == "unavailable"
    assert not own_world.records.exists()  # asking does not make an empty database
