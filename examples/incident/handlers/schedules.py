"""Schedule tools: who is on duty at a moment, and the plan of a team."""

from __future__ import annotations

import datetime as dt
from typing import Any

from toolpath.catalog import ToolError

from ..world import World
from .arguments import Handler, Json, invalid, iso, moment, not_found
from .record_store import RecordStore

DEFAULT_SPAN = dt.timedelta(days=14)

SHIFTS = """
SELECT shifts.*, engineers.name, engineers.timezone FROM shifts JOIN engineers ON engineers.login = shifts.engineer
WHERE team = ? AND start_at < ? AND end_at > ? ORDER BY start_at, role
"""


class ScheduleTools:
    """Handlers over the shift table of the records database."""

    def __init__(self, world: World) -> None:
        self._now = world.now
        self._store = RecordStore(world.records)

    def handlers(self) -> dict[str, Handler]:
        """Tool name to handler."""
        return {
            "rota.find_oncall_engineer": self.find_oncall_engineer,
            "rota.list_oncall_shifts": self.list_oncall_shifts,
        }

    def find_oncall_engineer(self, team: str, at: str | None = None) -> Json:
        """Primary and secondary at the moment."""
        when = self._now if at is None else moment(at, "at")
        shifts = self._shifts(team, when, when + dt.timedelta(seconds=1))
        if not shifts:
            raise ToolError(
                f"nobody is planned for {team} at {iso(when)}",
                "not_found",
                suggestion="list_oncall_shifts shows how far the plan reaches",
            )
        return {"team": team, "at": iso(when), "on_call": [_shown(shift, when) for shift in shifts]}

    def list_oncall_shifts(self, team: str, start: str | None = None, end: str | None = None) -> Json:
        """Shifts that touch the period, in order."""
        first = self._now if start is None else moment(start, "start")
        last = first + DEFAULT_SPAN if end is None else moment(end, "end")
        if first >= last:
            raise invalid("end", "must lie after start")
        return {"team": team, "shifts": [_shown(shift) for shift in self._shifts(team, first, last)]}

    def _shifts(self, team: str, first: dt.datetime, last: dt.datetime) -> list[dict[str, Any]]:
        known = {row["team"] for row in self._store.rows("SELECT DISTINCT team FROM shifts")}
        if team not in known:
            raise not_found("team", team, "team with a rotation", known)
        return self._store.rows(SHIFTS, (team, last.isoformat(), first.isoformat()))


def _shown(shift: dict[str, Any], at: dt.datetime | None = None) -> Json:
    from_, until = moment(shift["start_at"], "start_at"), moment(shift["end_at"], "end_at")
    shown = {
        "role": shift["role"],
        "engineer": shift["engineer"],
        "name": shift["name"],
        "timezone": shift["timezone"],
        "start": iso(from_),
        "end": iso(until),
    }
    return shown if at is None else shown | {"hours_left": round((until - at).total_seconds() / 3600, 1)}
