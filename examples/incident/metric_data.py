"""Minute data of the example's services: quiet noise with the incident drawn into it."""

from __future__ import annotations

import datetime as dt
import math
import random
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .story import FACTS, at

SCHEMA = """
CREATE TABLE series (
    id INTEGER PRIMARY KEY, service TEXT NOT NULL, metric TEXT NOT NULL, unit TEXT NOT NULL, UNIQUE (service, metric)
);
CREATE TABLE points (
    series_id INTEGER NOT NULL REFERENCES series (id), at INTEGER NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (series_id, at)
) WITHOUT ROWID;
CREATE TABLE snapshot (taken_at INTEGER NOT NULL);
"""
"""`at` is in seconds since 1970 (UTC); `snapshot` has a row only in a snapshot file."""


@dataclass(frozen=True, slots=True)
class Web:
    """A service that answers requests: its normal level, and how the incident changes it at full strength."""

    requests: float
    p50: float
    p99: float
    errors: float
    cpu: float
    memory: float
    p99_in_incident: float
    errors_in_incident: float


WEB = {
    "checkout": Web(420, 85, 310, 0.2, 38, 910, 3200, 12.5),
    "cart": Web(900, 40, 160, 0.1, 31, 640, 380, 0.9),
    "payments": Web(380, 140, 420, 0.3, 24, 720, 790, 1.8),
    "inventory": Web(1100, 22, 95, 0.1, 29, 560, 210, 0.4),
    "search": Web(2600, 48, 240, 0.1, 55, 2100, 240, 0.1),
    "gateway": Web(5400, 12, 130, 0.1, 42, 380, 900, 2.2),
}
"""Errors in percent of requests, latencies in ms, memory in MB, requests per minute."""


def strength(moment: dt.datetime) -> float:
    """How far the incident has developed: 0 before its start, 1 from saturation on, a straight line between."""
    span = (FACTS.saturated - FACTS.incident_start).total_seconds()
    return min(1.0, max(0.0, (moment - FACTS.incident_start).total_seconds() / span))


def write_metrics(db: sqlite3.Connection, seed: int) -> None:
    """Fills an empty database with every series, minute by minute up to the present."""
    db.executescript(SCHEMA)
    minutes = _minutes()
    for number, (service, metric, unit, values) in enumerate(_series(minutes, seed), start=1):
        db.execute("INSERT INTO series VALUES (?, ?, ?, ?)", (number, service, metric, unit))
        db.executemany(
            "INSERT INTO points VALUES (?, ?, ?)",
            ((number, int(minute.timestamp()), round(value, 3)) for minute, value in zip(minutes, values, strict=True)),
        )


def write_snapshot(db: sqlite3.Connection, source: sqlite3.Connection) -> None:
    """Copies what the metrics gateway had seen when it wrote its last snapshot."""
    db.executescript(SCHEMA)
    taken = int(FACTS.snapshot_taken.timestamp())
    db.execute("INSERT INTO snapshot VALUES (?)", (taken,))
    db.executemany("INSERT INTO series VALUES (?, ?, ?, ?)", source.execute("SELECT * FROM series"))
    points = source.execute("SELECT * FROM points WHERE at < ?", (taken,))
    db.executemany("INSERT INTO points VALUES (?, ?, ?)", points)


def _minutes() -> list[dt.datetime]:
    count = int((FACTS.now - FACTS.first_minute).total_seconds() // 60)
    return [FACTS.first_minute + dt.timedelta(minutes=i) for i in range(count)]


def _series(minutes: list[dt.datetime], seed: int) -> Iterator[tuple[str, str, str, list[float]]]:
    """Service, metric, unit and one value per minute."""

    def noisy(name: str, level: Callable[[dt.datetime], float], spread: float) -> list[float]:
        rng = random.Random(f"{seed}/{name}")
        return [max(0.0, level(minute) * rng.gauss(1.0, spread)) for minute in minutes]

    for service, web in WEB.items():
        yield from _web_series(service, web, noisy)
    limit = float(FACTS.connection_limit)
    connections = noisy("connections", lambda t: 96 * _day(t) + 96 * strength(t), 0.025)
    yield "orders-db", "connections", "connections", [min(limit, value) for value in connections]
    yield "orders-db", "connections_limit", "connections", [limit] * len(minutes)
    yield "orders-db", "query_p95_ms", "ms", noisy("query", lambda t: 12 + 230 * strength(t), 0.06)
    yield "orders-db", "locks_waiting", "sessions", noisy("locks", lambda t: 0.6 + 37 * strength(t), 0.2)
    yield "orders-db", "cpu_percent", "%", noisy("db-cpu", lambda t: 35 * _day(t) + 27 * strength(t), 0.04)
    yield "notifications", "queue_depth", "messages", noisy("queue", _backlog, 0.03)
    yield "notifications", "sent_per_minute", "messages/min", noisy("sent", lambda t: 210 * _day(t), 0.05)


def _web_series(
    service: str, web: Web, noisy: Callable[[str, Callable[[dt.datetime], float], float], list[float]]
) -> Iterator[tuple[str, str, str, list[float]]]:
    retries = 0.15 if service == "checkout" else 0.0
    requests = noisy(f"{service}/requests", lambda t: web.requests * _day(t) * (1 + retries * strength(t)), 0.03)
    share = noisy(f"{service}/errors", lambda t: web.errors + (web.errors_in_incident - web.errors) * strength(t), 0.12)
    errors = [float(round(count * percent / 100)) for count, percent in zip(requests, share, strict=True)]
    yield service, "requests_per_minute", "requests/min", requests
    yield service, "errors_per_minute", "errors/min", errors
    yield service, "error_rate_percent", "%", [100 * e / r for e, r in zip(errors, requests, strict=True)]
    slower = web.p99_in_incident - web.p99
    hump = 680.0 if service == "search" else 0.0
    yield (
        service,
        "latency_p50_ms",
        "ms",
        noisy(f"{service}/p50", lambda t: web.p50 * (1 + slower / web.p99 * strength(t) / 3), 0.04),
    )
    yield (
        service,
        "latency_p99_ms",
        "ms",
        noisy(f"{service}/p99", lambda t: web.p99 + slower * strength(t) + hump * _after_search_release(t), 0.05),
    )
    yield service, "cpu_percent", "%", noisy(f"{service}/cpu", lambda t: web.cpu * _day(t), 0.04)
    yield service, "memory_mb", "MB", noisy(f"{service}/memory", lambda t: web.memory, 0.01)


def _day(moment: dt.datetime) -> float:
    """Traffic through the day: lowest at 04:00, highest at 16:00 UTC."""
    hours = moment.hour + moment.minute / 60
    return 1 - 0.18 * math.cos((hours - 4) / 12 * math.pi)


def _after_search_release(moment: dt.datetime) -> float:
    """A harmless hump after the release of search: full at 14:05, gone at 14:17."""
    passed = (moment - at("14:05")).total_seconds() / 60
    return 1 - passed / 12 if 0 <= passed < 12 else 0.0


def _backlog(moment: dt.datetime) -> float:
    """The mail queue, which grows slowly since 13:30 for reasons of its own."""
    return 900 + 68 * max(0.0, (moment - at("13:30")).total_seconds() / 60)
