"""The trace tool. It reads what a trace collector has written; where none is installed, it says exactly that."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

from toolpath.catalog import ToolError

from ..world import World
from .arguments import Handler, Json, iso, moment, window


class TraceTools:
    """Handlers over the spool folder of a trace collector: JSON lines, one span each.

    A span has trace_id, service, name, start (ISO 8601), duration_ms, and parent_id unless it is the root.
    """

    def __init__(self, world: World) -> None:
        self._spool = world.trace_spool

    def handlers(self) -> dict[str, Handler]:
        """Tool name to handler."""
        return {"find_slow_traces": self.find_slow_traces}

    def find_slow_traces(
        self, service: str, start: str | None = None, end: str | None = None, minimum_ms: float = 500, limit: int = 10
    ) -> Json:
        """The slowest traces that touch the service, each with the span that took longest below its root."""
        first, last = window(start, end)
        traces: dict[str, list[Json]] = {}
        for span in self._spans():
            traces.setdefault(span["trace_id"], []).append(span)
        slow = [
            shown
            for spans in traces.values()
            if any(span["service"] == service for span in spans)
            and (shown := _summary(spans)) is not None
            and shown["duration_ms"] >= minimum_ms
            and first <= moment(shown["start"], "start") < last
        ]
        slow.sort(key=lambda trace: (-trace["duration_ms"], trace["trace_id"]))
        return {"traces": slow[:limit], "matched": len(slow)}

    def _spans(self) -> list[Json]:
        if not self._spool.is_dir():
            raise ToolError(
                "no trace collector is installed here: nothing has ever written a span",
                "dependency_missing",
                suggestion="use logs and metrics; ask the observability team to install the collector",
                alternatives=("search_logs", "query_metric_range"),
            )
        return [
            _span(line, file, number)
            for file in sorted(self._spool.glob("*.jsonl"))
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        ]


def _span(line: str, file: Path, number: int) -> Json:
    try:
        span = json.loads(line)
        dt.datetime.fromisoformat(span["start"])
        return {**span, "duration_ms": float(span["duration_ms"]), "trace_id": str(span["trace_id"])}
    except (ValueError, TypeError, KeyError) as error:
        raise ToolError(f"{file.name}, line {number}: not a span ({error})", "interface_changed") from error


def _summary(spans: list[dict[str, Any]]) -> Json | None:
    """The trace by its root, or None while the root has not arrived."""
    root = next((span for span in spans if not span.get("parent_id")), None)
    if root is None:
        return None
    children = [span for span in spans if span is not root]
    slowest = max(children, key=lambda span: span["duration_ms"], default=root)
    return {
        "trace_id": root["trace_id"],
        "root": f"{root['service']} {root['name']}",
        "start": iso(moment(root["start"], "start")),
        "duration_ms": root["duration_ms"],
        "slowest_span": {key: slowest[key] for key in ("service", "name", "duration_ms")},
        "spans": len(spans),
    }
