"""The incident pipeline finishes its report while a service stumbles, a store is locked and a collector is missing."""

from collections.abc import Iterator

import pytest
from toolpath.catalog import Catalog, load_catalog
from toolpath.orchestrator import RunReport, StepOutcome

from examples.incident.__main__ import CATALOG, goes_down_after_its_first_answer
from examples.incident.alert_book import AlertBook
from examples.incident.alert_service import AlertService, Fault
from examples.incident.handlers import bind_handlers
from examples.incident.pipeline import incident_pipeline
from examples.incident.world import World, build_world

pytestmark = pytest.mark.integration  # real outages take real time


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def catalog() -> Catalog:
    return load_catalog(CATALOG)


@pytest.fixture
def troubled(world: World, catalog: Catalog) -> Iterator[RunReport]:
    faults = [Fault(f"/alerts/{world.facts.alert_id}", times=2)]
    with AlertService(AlertBook(), faults) as service, world.metrics_locked():
        bind_handlers(catalog, world, service.url)
        goes_down_after_its_first_answer(service, catalog)
        yield incident_pipeline(catalog).run_sync({"alert_id": world.facts.alert_id})


def test_a_retry_succeeds_a_fallback_is_stale_and_says_so_and_a_failure_stops_nothing(
    troubled: RunReport, world: World
) -> None:
    assert troubled["alert"].attempts == 3
    assert troubled["history"].attempts > 1
    metrics = troubled["metrics"]
    assert metrics.served_by == "read_cached_metric_range"
    assert metrics.degraded
    assert "minutes ago" in metrics.note
    traces = troubled["traces"]
    assert traces.outcome is StepOutcome.FAILED
    assert traces.error is not None
    assert traces.error.error_type == "dependency_missing"
    assert troubled["report"].outcome is StepOutcome.SUCCEEDED
    assert set(troubled["compose"].degraded_by) == {"metrics", "traces"}
    assert troubled.partial
    document = (world.reports / troubled.value("report")["path"]).read_text(encoding="utf-8")
    assert "Not available" in document
    assert "minutes ago" in document


def test_without_trouble_only_the_missing_collector_fails(world: World, catalog: Catalog) -> None:
    with AlertService(AlertBook()) as service:
        bind_handlers(catalog, world, service.url)
        report = incident_pipeline(catalog).run_sync({"alert_id": world.facts.alert_id})
    assert {step.name for step in report if step.outcome is not StepOutcome.SUCCEEDED} == {"traces"}
    assert report["compose"].degraded_by == ("traces",)


def test_an_unknown_alert_skips_what_needs_it_and_says_why(world: World, catalog: Catalog) -> None:
    with AlertService(AlertBook()) as service:
        bind_handlers(catalog, world, service.url)
        report = incident_pipeline(catalog).run_sync({"alert_id": "AL-9"})
    assert report["alert"].error is not None
    assert report["alert"].error.error_type == "not_found"
    assert all(step.because for step in report if step.name != "alert")
