"""Deployments, incidents and duty shifts of the example as SQLite tables."""

from __future__ import annotations

import datetime as dt
import sqlite3

from . import story

SCHEMA = """
CREATE TABLE deployments (
    id TEXT PRIMARY KEY, service TEXT NOT NULL, version TEXT NOT NULL, previous_version TEXT NOT NULL,
    started_at TEXT NOT NULL, finished_at TEXT NOT NULL, status TEXT NOT NULL, author TEXT NOT NULL,
    approved_by TEXT NOT NULL, summary TEXT NOT NULL
);
CREATE TABLE release_config (service TEXT, version TEXT, key TEXT, value TEXT, PRIMARY KEY (service, version, key));
CREATE TABLE release_commits (service TEXT, version TEXT, hash TEXT, author TEXT, subject TEXT);
CREATE TABLE release_dependencies (service TEXT, version TEXT, package TEXT, package_version TEXT);
CREATE TABLE incidents (
    id TEXT PRIMARY KEY, title TEXT NOT NULL, severity TEXT NOT NULL, status TEXT NOT NULL, commander TEXT NOT NULL,
    opened_at TEXT NOT NULL, closed_at TEXT, summary TEXT NOT NULL, resolution TEXT
);
CREATE TABLE incident_services (incident_id TEXT NOT NULL, service TEXT NOT NULL);
CREATE TABLE timeline (
    id INTEGER PRIMARY KEY, incident_id TEXT NOT NULL, at TEXT NOT NULL, author TEXT NOT NULL, kind TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE TABLE engineers (login TEXT PRIMARY KEY, name TEXT NOT NULL, timezone TEXT NOT NULL);
CREATE TABLE teams (service TEXT PRIMARY KEY, team TEXT NOT NULL);
CREATE TABLE shifts (
    team TEXT NOT NULL, role TEXT NOT NULL, engineer TEXT NOT NULL, start_at TEXT NOT NULL, end_at TEXT NOT NULL
);
"""
"""Moments are ISO 8601 texts in UTC with seconds, such as ``2025-11-18T14:20:00+00:00``: they sort as text."""


def write_records(db: sqlite3.Connection) -> None:
    """Fills an empty database with the story's records."""
    db.executescript(SCHEMA)
    for row in story.DEPLOYMENTS:
        db.execute("INSERT INTO deployments VALUES (?,?,?,?,?,?,?,?,?,?)", _texts(row))
    db.executemany("INSERT INTO release_config VALUES (?,?,?,?)", story.CONFIG)
    db.executemany("INSERT INTO release_commits VALUES (?,?,?,?,?)", story.COMMITS)
    db.executemany("INSERT INTO release_dependencies VALUES (?,?,?,?)", story.DEPENDENCIES)
    for *head, services, summary, resolution in story.INCIDENTS:
        db.execute("INSERT INTO incidents VALUES (?,?,?,?,?,?,?,?,?)", _texts((*head, summary, resolution)))
        touched = [(head[0], service) for service in str(services).split(",")]
        db.executemany("INSERT INTO incident_services VALUES (?,?)", touched)
    for entry in story.TIMELINE:
        db.execute("INSERT INTO timeline (incident_id, at, author, kind, text) VALUES (?,?,?,?,?)", _texts(entry))
    db.executemany("INSERT INTO engineers VALUES (?,?,?)", story.ENGINEERS)
    db.executemany("INSERT INTO teams VALUES (?,?)", story.TEAMS.items())
    db.executemany("INSERT INTO shifts VALUES (?,?,?,?,?)", _shifts())


def _shifts() -> list[tuple[str, str, str, str, str]]:
    """Weekly shifts of every rotation: who is secondary in one week is primary in the next."""
    week = dt.timedelta(weeks=1)
    rows = []
    for team, people in story.ROTATIONS.items():
        for number in range(story.SHIFT_WEEKS):
            start = story.FIRST_SHIFT + number * week
            for offset, role in enumerate(("primary", "secondary")):
                engineer = people[(number + offset) % len(people)]
                rows.append((team, role, engineer, start.isoformat(), (start + week).isoformat()))
    return rows


def _texts(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(value.isoformat() if isinstance(value, dt.datetime) else value for value in row)
