"""Utilities for time: zones and cron expressions."""

from __future__ import annotations

import datetime as dt
from itertools import islice

from ..world import World
from .arguments import Handler, Json, invalid, iso, moment, zone
from .cron import read_cron


class TimeTools:
    """Handlers that know the world's present."""

    def __init__(self, world: World) -> None:
        self._now = world.now

    def handlers(self) -> dict[str, Handler]:
        """Tool name to handler."""
        return {"convert_timezone": convert_timezone, "explain_cron": self.explain_cron}

    def explain_cron(self, expression: str, after: str | None = None, count: int = 5, timezone: str = "UTC") -> Json:
        """The expression in words and its next runs."""
        cron = read_cron(expression)
        start = (self._now if after is None else moment(after, "after")).astimezone(zone(timezone, "timezone"))
        runs = [run.isoformat() for run in islice(cron.runs(start), count)]
        if not runs:
            raise invalid("expression", "never runs: there is no such day")
        return {"expression": expression, "meaning": cron.in_words(), "timezone": timezone, "next_runs": runs}


def convert_timezone(timestamp: str, to_timezone: str, from_timezone: str = "UTC") -> Json:
    """The same moment on the other clock.

    A local time that the clocks go through twice is taken as the first one and marked; one that they skip is refused.
    """
    source, target = zone(from_timezone, "from_timezone"), zone(to_timezone, "to_timezone")
    moment(timestamp, "timestamp")  # refuses what is no moment at all
    local = dt.datetime.fromisoformat(timestamp)
    ambiguous = False
    if local.tzinfo is None:
        local = local.replace(tzinfo=source)
        if local.astimezone(dt.UTC).astimezone(source).replace(tzinfo=None) != local.replace(tzinfo=None):
            raise invalid("timestamp", f"does not exist in {from_timezone}: the clocks skip it")
        ambiguous = local.utcoffset() != local.replace(fold=1).utcoffset()
    converted = local.astimezone(target)
    return {
        "timestamp": converted.isoformat(),
        "timezone": to_timezone,
        "abbreviation": converted.tzname(),
        "utc": iso(local),
        "offset_minutes": int((converted.utcoffset() or dt.timedelta()).total_seconds() // 60),
        "ambiguous": ambiguous,
    }
