"""Metric tools: curves, single numbers, comparisons, rankings, anomalies, error budgets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from toolpath.catalog import Degraded, ToolError

from ..world import World
from .arguments import BEGINNING, Handler, Json, invalid, iso, moment, window
from .metric_store import MetricStore, Series
from .series_math import aggregate, best_lag, outliers

MAX_POINTS = 2000
"""Points in one answer: more would drown a model that reads them."""

STALE_CONFIDENCE = 0.5


class MetricTools:
    """Handlers over the live metrics store, and one over the last snapshot of it."""

    def __init__(self, world: World) -> None:
        self._now = world.now
        self._live = MetricStore(world.metrics)
        self._snapshot = MetricStore(world.metrics_snapshot)

    def handlers(self) -> dict[str, Handler]:
        """Tool name to handler."""
        return {
            "query_metric_range": self.query_metric_range,
            "read_cached_metric_range": self.read_cached_metric_range,
            "aggregate_metric": self.aggregate_metric,
            "compare_metric_windows": self.compare_metric_windows,
            "rank_services_by_metric": self.rank_services_by_metric,
            "detect_metric_anomalies": self.detect_metric_anomalies,
            "list_metrics": self.list_metrics,
            "correlate_metrics": self.correlate_metrics,
            "calculate_error_budget": self.calculate_error_budget,
        }

    def query_metric_range(
        self, service: str, metric: str, start: str, end: str, step_seconds: int = 300, aggregation: str = "avg"
    ) -> Json:
        """The live curve; "unavailable" while the store is locked."""
        answer = _curve(self._live, service, metric, start, end, step_seconds, aggregation)
        return answer | {"stale": False}

    def read_cached_metric_range(
        self, service: str, metric: str, start: str, end: str, step_seconds: int = 300, aggregation: str = "avg"
    ) -> Degraded:
        """The curve as the last snapshot has it, always marked as second best."""
        taken = self._snapshot.taken_at()
        age = int((self._now - taken).total_seconds())
        last = moment(end, "end")
        note = f"from a snapshot taken at {iso(taken)}, {age // 60} minutes ago"
        if last > taken:
            note += "; what came later is missing"
        answer = _curve(self._snapshot, service, metric, start, end, step_seconds, aggregation)
        answer |= {"stale": True, "as_of": iso(taken), "age_seconds": age, "note": note}
        return Degraded(answer, note, STALE_CONFIDENCE)

    def aggregate_metric(
        self, service: str, metric: str, start: str, end: str, aggregations: Sequence[str] = ("avg", "max")
    ) -> Json:
        """One number per aggregation."""
        series = self._live.read(service, metric, *window(start, end))
        return {
            "service": service,
            "metric": metric,
            "unit": series.unit,
            "points": len(series.values),
            "values": {how: _round(aggregate(series.values, how)) for how in aggregations},
        }

    def compare_metric_windows(
        self,
        service: str,
        metric: str,
        baseline_start: str,
        baseline_end: str,
        current_start: str,
        current_end: str,
        aggregation: str = "avg",
    ) -> Json:
        """Both windows' values and how far they are apart."""
        before = window(baseline_start, baseline_end, ("baseline_start", "baseline_end"))
        after = window(current_start, current_end, ("current_start", "current_end"))
        baseline = aggregate(self._live.read(service, metric, *before).values, aggregation)
        series = self._live.read(service, metric, *after)
        current = aggregate(series.values, aggregation)
        return {
            "service": service,
            "metric": metric,
            "unit": series.unit,
            "aggregation": aggregation,
            "baseline": _round(baseline),
            "current": _round(current),
            "difference": _round(current - baseline),
            "change_percent": _round(100 * (current - baseline) / baseline) if baseline else None,
        }

    def rank_services_by_metric(
        self, metric: str, start: str, end: str, aggregation: str = "max", order: str = "highest", limit: int = 5
    ) -> Json:
        """The services at one end of the scale, with the value that put them there."""
        unit, values = self._live.by_service(metric, *window(start, end))
        sign = -1 if order == "highest" else 1
        totals = {service: aggregate(points, aggregation) for service, points in values.items()}
        ranked = sorted(totals.items(), key=lambda item: (sign * item[1], item[0]))[:limit]
        return {
            "metric": metric,
            "unit": unit,
            "aggregation": aggregation,
            "services": [{"service": service, "value": _round(value)} for service, value in ranked],
            "compared": len(totals),
        }

    def detect_metric_anomalies(
        self,
        service: str,
        metric: str,
        start: str,
        end: str,
        window_minutes: int = 30,
        z_threshold: float = 4.0,
    ) -> Json:
        """Intervals outside the band that the minutes before them span; history before `start` is used too."""
        first, last = window(start, end)
        early = max(first - dt.timedelta(minutes=window_minutes), BEGINNING)
        series = self._live.read(service, metric, early, last)
        intervals = [
            {
                "start": _iso(series.moments[run.first]),
                "end": _iso(series.moments[run.last] + 60),
                "worst_at": _iso(series.moments[run.worst]),
                "worst_value": _round(series.values[run.worst]),
                "z_score": _round(run.z),
                "direction": "above" if run.z > 0 else "below",
                "ongoing": run.last == len(series.values) - 1,
            }
            for run in outliers(series.values, window_minutes, z_threshold)
            if series.moments[run.last] >= first.timestamp()
        ]
        judged = max(0, len(series.values) - window_minutes)
        return {
            "service": service,
            "metric": metric,
            "unit": series.unit,
            "judged_points": judged,
            "intervals": intervals,
        }

    def list_metrics(self, service: str | None = None) -> Json:
        """What there is to ask for."""
        rows = self._live.directory(service)
        return {
            "metrics": [
                {"service": owner, "metric": metric, "unit": unit, "points": count, "first": _iso(lo), "last": _iso(hi)}
                for owner, metric, unit, count, lo, hi in rows
            ],
            "count": len(rows),
        }

    def correlate_metrics(
        self, first: dict[str, str], second: dict[str, str], start: str, end: str, max_lag_minutes: int = 10
    ) -> Json:
        """Pearson's r at the lag that fits best."""
        period = window(start, end)
        left = self._live.read(first["service"], first["metric"], *period)
        right = self._live.read(second["service"], second["metric"], *period)
        common = sorted(set(left.moments) & set(right.moments))
        try:
            lag, fit = best_lag(_on(left, common), _on(right, common), max_lag_minutes)
        except ValueError as error:
            raise ToolError(str(error), "validation_error", fields={"first": str(error)}) from error
        leader = (
            "both move together" if lag == 0 else f"{'second' if lag > 0 else 'first'} follows {abs(lag)} min later"
        )
        return {"correlation": _round(fit), "lag_minutes": lag, "reading": leader, "points": len(common)}

    def calculate_error_budget(
        self, service: str, start: str, end: str, objective_percent: float = 99.9, budget_days: int = 30
    ) -> Json:
        """Burn rate and share of the budget, after the "SRE Workbook" (Google 2018), chapter 5.

        The budget is expressed in time: a burn rate of 1 uses it up in exactly `budget_days`.
        """
        period = window(start, end)
        requests = self._live.read(service, "requests_per_minute", *period)
        errors = self._live.read(service, "errors_per_minute", *period)
        asked, failed = sum(requests.values), sum(errors.values)
        if not asked:
            raise ToolError(f"{service} had no requests in that period", "not_found")
        allowed = 1 - objective_percent / 100
        burn_rate = failed / asked / allowed
        minutes = len(requests.values)
        used = burn_rate * minutes / (budget_days * 24 * 60)
        return {
            "service": service,
            "objective_percent": objective_percent,
            "requests": round(asked),
            "errors": round(failed),
            "error_percent": _round(100 * failed / asked),
            "burn_rate": _round(burn_rate),
            "budget_used_percent": _round(100 * used),
            "hours_until_exhausted": _round(budget_days * 24 / burn_rate) if burn_rate else None,
        }


def _curve(
    store: MetricStore, service: str, metric: str, start: str, end: str, step_seconds: int, aggregation: str
) -> Json:
    first, last = window(start, end)
    series = store.read(service, metric, first, last)
    steps: dict[int, list[float]] = {}
    for at, value in zip(series.moments, series.values, strict=True):
        steps.setdefault(at - at % step_seconds, []).append(value)
    if len(steps) > MAX_POINTS:
        raise invalid(
            "step_seconds", f"gives {len(steps)} points; at most {MAX_POINTS} are answered, take a wider step"
        )
    return {
        "service": service,
        "metric": metric,
        "unit": series.unit,
        "step_seconds": step_seconds,
        "aggregation": aggregation,
        "points": [{"at": _iso(at), "value": _round(aggregate(values, aggregation))} for at, values in steps.items()],
    }


def _on(series: Series, moments: Sequence[int]) -> list[float]:
    """The series' values at `moments`, all of which it has."""
    values = dict(zip(series.moments, series.values, strict=True))
    return [values[at] for at in moments]


def _iso(seconds: int) -> str:
    return iso(dt.datetime.fromtimestamp(seconds, dt.UTC))


def _round(value: float) -> float:
    return round(value, 3)
