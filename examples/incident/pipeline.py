"""The incident pipeline: from an alert's number to a report document, whatever breaks on the way."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from toolpath.catalog import Catalog
from toolpath.orchestrator import FallbackPolicy, Level, Missing, Pipeline, PipelineBuilder, Retry, ref

LOOK_BACK = dt.timedelta(minutes=30)
LOOK_AHEAD = dt.timedelta(minutes=60)
QUICK = Retry(attempts=4, backoff=0.4)
"""The services are on this machine, so the demo does not wait as long as the default (1 and 2 s) between attempts."""


def period(alert: dict[str, Any]) -> dict[str, str]:
    """The time to look at: from half an hour before the alert fired to an hour after."""
    fired = dt.datetime.fromisoformat(alert["fired_at"])
    return {"start": (fired - LOOK_BACK).isoformat(), "end": (fired + LOOK_AHEAD).isoformat()}


def compose(
    alert: dict[str, Any],
    history: dict[str, Any],
    logs: dict[str, Any],
    metrics: dict[str, Any],
    runbook: dict[str, Any],
    traces: dict[str, Any] | Missing,
) -> list[dict[str, str]]:
    """The report's sections. What is missing or stale is said where the reader would look for it."""
    peak = max(metrics["points"], key=lambda point: point["value"])
    curve = f"Peak {peak['value']:g} {metrics['unit']} at {peak['at']}."
    patterns = [f"- {one['count']} x {one['pattern']} (first {one['first']})" for one in logs["patterns"]]
    events = [f"- {event['at']}: {event['event']}" for event in history["history"]]
    return [
        {
            "heading": "Alert",
            "body": f"{alert['id']} ({alert['severity']}): {alert['summary']}\n\n" + "\n".join(events),
        },
        {"heading": "Error rate", "body": f"{curve} {metrics.get('note', '')}".strip()},
        {"heading": "What the logs repeat", "body": "\n".join(patterns) or "No errors in that period."},
        {
            "heading": "Slow traces",
            "body": f"Not available: {traces.reason}" if isinstance(traces, Missing) else json.dumps(traces),
        },
        {"heading": "Runbook", "body": runbook["markdown"]},
    ]


def incident_pipeline(catalog: Catalog) -> Pipeline:
    """Alert, then logs, metrics, traces and runbook in parallel, then a report.

    Args:
        catalog: the on-call catalog with its handlers bound.
    """
    alert = ref("alert")
    when = {"start": ref("period").field("start"), "end": ref("period").field("end")}
    service = {"service": alert.field("service")}
    return (
        PipelineBuilder("incident", catalog=catalog)
        .inputs(alert_id=str)
        .then("alertdesk.get_alert", name="alert", retry=QUICK)
        .then(period)
        .then("cluster_error_patterns", name="logs", deps=["period"], bind={**service, **when, "limit": 5})
        .then(
            "query_metric_range",
            name="metrics",
            deps=["period"],
            bind={**service, **when, "metric": "error_rate_percent", "step_seconds": 300, "aggregation": "max"},
            retry=QUICK,
            fallback=[Level("read_cached_metric_range")],
        )
        .then(
            "find_slow_traces",
            name="traces",
            deps=["period"],
            bind={**service, **when},
            policy=FallbackPolicy.CONTINUE_WITH_PARTIAL,
        )
        .then("read_runbook", name="runbook", deps=["alert"], bind={"runbook_id": alert.field("runbook_id")})
        .then("alertdesk.get_alert_history", name="history", deps=["alert"], retry=QUICK)
        .then(compose, deps=["alert", "history", "logs", "metrics", "traces", "runbook"])
        .then(
            "write_incident_report",
            name="report",
            deps=["compose"],
            bind={"title": alert.field("summary"), "sections": ref("compose"), "path": "incident.md"},
        )
        .with_error_policy(FallbackPolicy.SKIP_AND_REPORT)
        .with_timeout(30)
        .build()
    )
