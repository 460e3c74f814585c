"""Incident tools: list, compare, and the timeline, which joins what people wrote with what machines did."""

from __future__ import annotations

import datetime as dt
from typing import Any

from toolpath.catalog import Degraded, ErrorCategory, ToolError

from ..world import World
from .alert_client import AlertClient
from .arguments import Handler, Json, iso, moment, not_found
from .record_store import RecordStore
from .text_search import bm25, tokens

LEAD = dt.timedelta(hours=1)
"""How far before an incident was declared its timeline looks for deployments and alerts."""

INCOMPLETE_CONFIDENCE = 0.7

LIST = """
SELECT incidents.*, group_concat(service, ',') AS services
FROM incidents JOIN incident_services ON incident_id = id
WHERE (? = 'any' OR status = ?) GROUP BY id ORDER BY opened_at DESC
"""
CHANGES = """
SELECT id, deployments.service, version, started_at, finished_at, status, author FROM deployments
JOIN incident_services ON incident_services.service = deployments.service
WHERE incident_id = ? AND started_at >= ? AND started_at < ?
"""


class IncidentTools:
    """Handlers over the incident tables, and over the alert service for timelines."""

    def __init__(self, world: World, client: AlertClient) -> None:
        self._now = world.now
        self._store = RecordStore(world.records)
        self._client = client

    def handlers(self) -> dict[str, Handler]:
        """Tool name to handler."""
        return {
            "warroom.list_incidents": self.list_incidents,
            "warroom.get_incident_timeline": self.get_incident_timeline,
            "warroom.add_timeline_entry": self.add_timeline_entry,
            "warroom.find_similar_incidents": self.find_similar_incidents,
        }

    def list_incidents(self, status: str = "any", service: str | None = None, limit: int = 10) -> Json:
        """Incidents that match, newest first."""
        rows = [_shown(row) for row in self._store.rows(LIST, (status, status))]
        matching = [row for row in rows if service is None or service in row["services"]][:limit]
        return {"incidents": matching, "count": len(matching)}

    def get_incident_timeline(self, incident_id: str, include_changes: bool = True) -> Json | Degraded:
        """Everything about the incident in order; second best when the alert service does not answer."""
        incident = self._incident(incident_id)
        entries = [
            {"at": iso(moment(row["at"], "at")), "kind": row["kind"], "by": row["author"], "text": row["text"]}
            for row in self._store.rows(
                "SELECT at, kind, author, text FROM timeline WHERE incident_id = ?", (incident_id,)
            )
        ]
        problem = ""
        if include_changes:
            entries += self._deployments(incident)
            try:
                entries += self._alerts(incident)
            except ToolError as error:
                if error.info.category is not ErrorCategory.TRANSIENT:
                    raise
                problem = f"alerts are missing: {error.info.message}"
        answer = {"incident": incident, "entries": sorted(entries, key=lambda entry: entry["at"])}
        return Degraded(answer, problem, INCOMPLETE_CONFIDENCE) if problem else answer

    def add_timeline_entry(self, incident_id: str, text: str, author: str, at: str | None = None) -> Json:
        """The entry as it was written."""
        self._incident(incident_id)
        when = self._now if at is None else moment(at, "at")
        number = self._store.insert(
            "INSERT INTO timeline (incident_id, at, author, kind, text) VALUES (?, ?, ?, 'note', ?)",
            (incident_id, when.isoformat(), author, text),
        )
        return {"entry_id": number, "incident_id": incident_id, "at": iso(when), "by": author, "text": text}

    def find_similar_incidents(self, description: str, limit: int = 3) -> Json:
        """Incidents by how many rare words they share with the description."""
        rows = [_shown(row) for row in self._store.rows(LIST, ("any", "any"))]
        notes: dict[str, str] = {}
        for row in self._store.rows("SELECT incident_id, text FROM timeline"):
            notes[row["incident_id"]] = notes.get(row["incident_id"], "") + " " + row["text"]
        texts = [tokens(f"{row['title']} {row['summary']} {notes.get(row['incident_id'], '')}") for row in rows]
        scored = sorted(zip(bm25(tokens(description), texts), rows, strict=True), key=lambda pair: -pair[0])
        return {"incidents": [{**row, "score": round(score, 3)} for score, row in scored[:limit] if score > 0]}

    def _incident(self, incident_id: str) -> Json:
        rows = {row["id"]: row for row in self._store.rows(LIST, ("any", "any"))}
        if incident_id not in rows:
            raise not_found("incident_id", incident_id, "incident", rows)
        return _shown(rows[incident_id])

    def _deployments(self, incident: Json) -> list[Json]:
        first, last = self._period(incident)
        rows = self._store.rows(CHANGES, (incident["incident_id"], first.isoformat(), last.isoformat()))
        return [
            {
                "at": iso(moment(row["finished_at"], "finished_at")),
                "kind": "deployment",
                "by": row["author"],
                "text": f"{row['id']}: {row['service']} {row['version']} {row['status']}",
            }
            for row in rows
        ]

    def _alerts(self, incident: Json) -> list[Json]:
        first, last = self._period(incident)
        fired = []
        for service in incident["services"]:
            for alert in self._client.get("alerts", query={"status": "any", "service": service, "limit": 100})[
                "alerts"
            ]:
                at = moment(alert["fired_at"], "fired_at")
                if first <= at < last:
                    text = f"{alert['id']} ({alert['severity']}): {alert['summary']}"
                    fired.append({"at": iso(at), "kind": "alert", "by": "alertdesk", "text": text})
        return fired

    def _period(self, incident: Json) -> tuple[dt.datetime, dt.datetime]:
        closed = incident["closed_at"]
        return moment(incident["opened_at"], "opened_at") - LEAD, moment(closed, "closed_at") if closed else self._now


def _shown(row: dict[str, Any]) -> Json:
    return {
        "incident_id": row["id"],
        **{key: row[key] for key in ("title", "severity", "status", "commander", "summary", "resolution")},
        "services": sorted(row["services"].split(",")),
        "opened_at": iso(moment(row["opened_at"], "opened_at")),
        "closed_at": iso(moment(row["closed_at"], "closed_at")) if row["closed_at"] else None,
    }
