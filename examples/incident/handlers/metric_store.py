"""Reads the metrics database: read-only, with bound parameters, and honest about a locked file."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolpath.catalog import ToolError

from .arguments import not_found

LOCK_SECONDS = 0.2
"""How long a reader waits for a writer to finish before it says that the store is unavailable."""


@dataclass(frozen=True, slots=True)
class Series:
    """A piece of one time series.

    Attributes:
        unit: of the values, e.g. "ms".
        moments: seconds since 1970 (UTC), rising.
        values: as many.
    """

    unit: str
    moments: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MetricStore:
    """One SQLite file of time series, the live one or a snapshot."""

    path: Path

    def read(self, service: str, metric: str, start: dt.datetime, end: dt.datetime) -> Series:
        """The points of one series with start <= moment < end.

        Raises:
            ToolError: "not_found" for an unknown series or a period without points, "unavailable" when the
                store is locked.
        """
        found = self._rows("SELECT id, unit FROM series WHERE service = ? AND metric = ?", (service, metric))
        if not found:
            raise self._unknown(service, metric)
        number, unit = found[0]
        points = self._rows(
            "SELECT at, value FROM points WHERE series_id = ? AND at >= ? AND at < ? ORDER BY at",
            (number, _seconds(start), _seconds(end)),
        )
        if not points:
            raise ToolError(
                f"{service} {metric} has no points in that period",
                "not_found",
                suggestion="list_metrics says from when to when there is data",
            )
        return Series(unit, tuple(row[0] for row in points), tuple(row[1] for row in points))

    def by_service(self, metric: str, start: dt.datetime, end: dt.datetime) -> tuple[str, dict[str, list[float]]]:
        """The metric's unit, and each service's values in the period.

        Raises:
            ToolError: as `read`.
        """
        rows = self._rows(
            "SELECT series.service, series.unit, points.value FROM series JOIN points ON points.series_id = series.id "
            "WHERE series.metric = ? AND points.at >= ? AND points.at < ? ORDER BY series.service, points.at",
            (metric, _seconds(start), _seconds(end)),
        )
        if not rows:
            known = self._rows("SELECT DISTINCT metric FROM series", ())
            if metric in {row[0] for row in known}:
                raise ToolError(f"{metric} has no points in that period", "not_found")
            raise not_found("metric", metric, "metric", (row[0] for row in known))
        values: dict[str, list[float]] = {}
        for service, _, value in rows:
            values.setdefault(service, []).append(value)
        return rows[0][1], values

    def directory(self, service: str | None) -> list[tuple[str, str, str, int, int, int]]:
        """Service, metric, unit, number of points, first and last moment of every series.

        Raises:
            ToolError: "not_found" for a service without metrics, "unavailable" when the store is locked.
        """
        rows = self._rows(
            "SELECT service, metric, unit, count(at), min(at), max(at) FROM series JOIN points ON series_id = id "
            "WHERE ? IS NULL OR service = ? GROUP BY id ORDER BY service, metric",
            (service, service),
        )
        if not rows and service is not None:
            known = self._rows("SELECT DISTINCT service FROM series", ())
            raise not_found("service", service, "service with metrics", (row[0] for row in known))
        return rows

    def taken_at(self) -> dt.datetime:
        """When this snapshot was written.

        Raises:
            ToolError: "dependency_missing", when the file is no snapshot.
        """
        rows = self._rows("SELECT taken_at FROM snapshot", ())
        if not rows:
            raise ToolError("the snapshot file does not say when it was taken", "dependency_missing")
        return dt.datetime.fromtimestamp(rows[0][0], dt.UTC)

    def _rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        if not self.path.exists():
            raise ToolError(f"the metrics store {self.path.name} is not there", "unavailable")
        try:
            with closing(
                sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True, timeout=LOCK_SECONDS)
            ) as db:
                return db.execute(sql, values).fetchall()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise ToolError("the metrics store is locked by a writer", "unavailable") from error

    def _unknown(self, service: str, metric: str) -> ToolError:
        of_service = [row[1] for row in self.directory(service)]
        return not_found("metric", metric, f"metric of {service}", of_service)


def _seconds(moment: dt.datetime) -> int:
    """Seconds since 1970, rounded up: points lie on whole seconds and bounds are half-open."""
    return -int(-moment.timestamp() // 1)
