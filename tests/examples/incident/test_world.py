"""The world: the same every time, consistent in itself, and with the incident in it."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from examples.incident import story
from examples.incident.world import World, build_world

from .reading import dump


def values(world: World, service: str, metric: str, start: dt.datetime, end: dt.datetime) -> Sequence[float]:
    with closing(sqlite3.connect(world.metrics)) as db:
        sql = (
            "SELECT value FROM points JOIN series ON id = series_id "
            "WHERE service = ? AND metric = ? AND at >= ? AND at < ?"
        )
        return [row[0] for row in db.execute(sql, (service, metric, start.timestamp(), end.timestamp()))]


def test_two_builds_are_the_same(world: World, tmp_path: Path) -> None:
    assert dump(build_world(tmp_path)) == dump(world)


def test_building_again_restores_everything_but_keeps_reports_and_strangers(own_world: World) -> None:
    before = dump(own_world)
    (own_world.logs / "checkout.log").write_text("gone")
    (own_world.runbooks / "stray.md").write_text("stray")
    (own_world.reports / "mine.md").write_text("# Mine")
    (own_world.folder / "stranger.txt").write_text("kept")
    with closing(sqlite3.connect(own_world.records)) as db, db:
        db.execute("DELETE FROM timeline")
    build_world(own_world.folder)
    assert dump(own_world) == before
    assert (own_world.reports / "mine.md").read_text() == "# Mine"
    assert (own_world.folder / "stranger.txt").read_text() == "kept"


def test_another_seed_gives_other_noise(world: World, tmp_path: Path) -> None:
    assert dump(build_world(tmp_path, seed=7))["metrics.sqlite"] != dump(world)["metrics.sqlite"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(NotADirectoryError, match="'file' is a file"):
        build_world(file)


def test_checkout_gets_slow_and_fails_after_the_release(world: World) -> None:
    facts = world.facts
    hour = dt.timedelta(hours=1)
    for metric, factor in (("latency_p99_ms", 5), ("error_rate_percent", 20)):
        before = values(world, "checkout", metric, facts.incident_start - hour, facts.incident_start)
        during = values(world, "checkout", metric, facts.saturated, facts.now)
        assert min(during) > factor * max(before) / 2
        assert sum(during) / len(during) > factor * sum(before) / len(before)


def test_the_database_saturates_at_its_limit(world: World) -> None:
    facts = world.facts
    connections = values(world, facts.database, "connections", facts.first_minute, facts.now)
    assert max(connections) == facts.connection_limit
    calm = values(world, facts.database, "connections", facts.first_minute, facts.incident_start)
    assert max(calm) < 0.7 * facts.connection_limit
    assert min(values(world, facts.database, "connections", facts.saturated, facts.now)) > 195


def test_search_has_nothing_to_do_with_it(world: World) -> None:
    facts = world.facts
    assert max(values(world, "search", "latency_p99_ms", facts.incident_start, facts.now)) < 400


@pytest.mark.parametrize("alert", story.ALERTS, ids=lambda alert: alert[0])
def test_an_alert_shows_the_value_that_the_metrics_have(alert: tuple[str, ...], world: World) -> None:
    metrics = {
        "search-latency-p99": "latency_p99_ms",
        "notifications-queue-depth": "queue_depth",
        "checkout-latency-p99": "latency_p99_ms",
        "orders-db-connections": "connections",
        "checkout-error-rate": "error_rate_percent",
        "gateway-5xx": "error_rate_percent",
    }
    _, rule, _, service, _, fired, value, threshold, *_ = story.ALERTS[[row[0] for row in story.ALERTS].index(alert[0])]
    measured = values(world, service, metrics[rule], fired, fired + dt.timedelta(minutes=1))
    assert list(measured) == pytest.approx([value], abs=0.06)
    assert value > threshold


def test_every_alert_and_incident_names_things_that_exist(world: World) -> None:
    services = {path.stem for path in world.logs.glob("*.log")}
    runbooks = {path.stem for path in world.runbooks.glob("*.md")}
    assert services == set(story.TEAMS)
    assert len(runbooks) >= 12
    for alert in story.ALERTS:
        assert alert[3] in services
        assert alert[9] in runbooks
    engineers = {login for login, _, _ in story.ENGINEERS}
    assert {person for people in story.ROTATIONS.values() for person in people} <= engineers
    assert {person for row in story.DEPLOYMENTS for person in row[7:9]} <= engineers


def test_logs_are_in_order_and_small_enough(world: World) -> None:
    times = [json.loads(line)["ts"] for line in (world.logs / "checkout.log").read_text().splitlines()]
    assert times == sorted(times)
    assert sum(path.stat().st_size for path in world.logs.iterdir()) < 3_000_000


def test_the_snapshot_ends_where_it_was_taken(world: World) -> None:
    with closing(sqlite3.connect(world.metrics_snapshot)) as db:
        taken, last = db.execute("SELECT taken_at, (SELECT max(at) FROM points) FROM snapshot").fetchone()
    assert taken == world.facts.snapshot_taken.timestamp()
    assert last == taken - 60


def test_a_locked_store_is_free_again_afterwards(own_world: World) -> None:
    def count() -> int:
        with closing(sqlite3.connect(own_world.metrics, timeout=0)) as db:
            return int(db.execute("SELECT count(*) FROM series").fetchone()[0])

    with own_world.metrics_locked(), pytest.raises(sqlite3.OperationalError, match="locked"):
        count()
    assert count() > 40
