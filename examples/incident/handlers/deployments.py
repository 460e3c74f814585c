"""Deployment tools: what was released, one release in full, and what changed between two of them."""

from __future__ import annotations

from typing import Any

from ..world import World
from .arguments import Handler, Json, iso, moment, not_found, window
from .record_store import RecordStore

LIST = """
SELECT * FROM deployments WHERE started_at >= ? AND started_at < ?
AND (? IS NULL OR service = ?) AND (? IS NULL OR status = ?) ORDER BY started_at DESC LIMIT ?
"""
VERSIONS = """
SELECT version FROM deployments WHERE service = ?1 UNION SELECT previous_version FROM deployments WHERE service = ?1
UNION SELECT version FROM release_config WHERE service = ?1
"""
CONFIG = "SELECT key AS name, value FROM release_config WHERE service = ? AND version = ? ORDER BY key"
DEPENDENCIES = """
SELECT package AS name, package_version AS value FROM release_dependencies
WHERE service = ? AND version = ? ORDER BY package
"""
COMMITS = "SELECT hash, author, subject FROM release_commits WHERE service = ? AND version = ? ORDER BY rowid"
COMMITS_BETWEEN = """
SELECT version, hash, release_commits.author, subject
FROM release_commits JOIN deployments USING (service, version)
WHERE service = ?1
AND started_at > coalesce((SELECT max(started_at) FROM deployments WHERE service = ?1 AND version = ?2), '')
AND started_at <= coalesce((SELECT max(started_at) FROM deployments WHERE service = ?1 AND version = ?3), '')
ORDER BY started_at, release_commits.rowid
"""
"""Commits of every release after the one until the other; a version without a deployment counts as before all."""


class DeploymentTools:
    """Handlers over the release tables of the records database."""

    def __init__(self, world: World) -> None:
        self._store = RecordStore(world.records)

    def handlers(self) -> dict[str, Handler]:
        """Tool name to handler."""
        return {
            "shipyard.list_deployments": self.list_deployments,
            "shipyard.get_deployment": self.get_deployment,
            "shipyard.diff_deployments": self.diff_deployments,
        }

    def list_deployments(
        self,
        service: str | None = None,
        start: str | None = None,
        end: str | None = None,
        status: str | None = None,
        limit: int = 20,
    ) -> Json:
        """Deployments that began in the period, newest first."""
        first, last = window(start, end)
        values = (first.isoformat(), last.isoformat(), service, service, status, status, limit)
        rows = self._store.rows(LIST, values)
        return {"deployments": [_shown(row) for row in rows], "count": len(rows)}

    def get_deployment(self, deployment_id: str) -> Json:
        """One deployment with its commits and the configuration it came with."""
        rows = self._store.rows("SELECT * FROM deployments WHERE id = ?", (deployment_id,))
        if not rows:
            known = self._store.rows("SELECT id FROM deployments")
            raise not_found("deployment_id", deployment_id, "deployment", (row["id"] for row in known))
        release = (rows[0]["service"], rows[0]["version"])
        return _shown(rows[0]) | {
            "commits": self._store.rows(COMMITS, release),
            "config": self._pairs(CONFIG, *release),
        }

    def diff_deployments(self, service: str, from_version: str, to_version: str) -> Json:
        """Configuration keys and dependencies that differ, and the commits that came in between."""
        known = {row["version"] for row in self._store.rows(VERSIONS, (service,))}
        for argument, version in (("from_version", from_version), ("to_version", to_version)):
            if version not in known:
                raise not_found(argument, version, f"version of {service}", known)
        return {
            "service": service,
            "from_version": from_version,
            "to_version": to_version,
            "config": _difference(*(self._pairs(CONFIG, service, v) for v in (from_version, to_version))),
            "dependencies": _difference(*(self._pairs(DEPENDENCIES, service, v) for v in (from_version, to_version))),
            "commits": self._store.rows(COMMITS_BETWEEN, (service, from_version, to_version)),
        }

    def _pairs(self, sql: str, service: str, version: str) -> dict[str, str]:
        return {row["name"]: row["value"] for row in self._store.rows(sql, (service, version))}


def _difference(before: dict[str, str], after: dict[str, str]) -> list[Json]:
    """Names whose values differ; None stands for a name that is not there."""
    return [
        {"name": name, "before": before.get(name), "after": after.get(name)}
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def _shown(row: dict[str, Any]) -> Json:
    started, finished = moment(row["started_at"], "started_at"), moment(row["finished_at"], "finished_at")
    return {
        "deployment_id": row["id"],
        **{key: row[key] for key in ("service", "version", "previous_version", "status", "author", "approved_by")},
        "summary": row["summary"],
        "started_at": iso(started),
        "finished_at": iso(finished),
        "duration_seconds": int((finished - started).total_seconds()),
    }
