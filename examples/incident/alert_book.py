"""The alert service's memory: alerts, their states and what was done to them. Safe to use from several threads."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Mapping
from typing import Any

from . import story

MAX_SILENCE_MINUTES = 7 * 24 * 60
STATUSES = ("firing", "acknowledged", "silenced", "resolved")


class NoSuchAlert(Exception):
    """Raised when no alert has the number."""


class BadRequest(Exception):
    """Raised when a request cannot be carried out as it stands; the message says why."""


class AlertBook:
    """The story's alerts, and every change made to them.

    Args:
        now: the moment that changes are stamped with.
    """

    def __init__(self, now: dt.datetime = story.FACTS.now) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._alerts: dict[str, dict[str, Any]] = {}
        self._history: dict[str, list[dict[str, Any]]] = {}
        for number, rule, severity, service, status, fired, value, threshold, unit, runbook, summary in story.ALERTS:
            self._alerts[number] = {
                "id": number,
                "rule": rule,
                "severity": severity,
                "service": service,
                "status": status,
                "fired_at": fired.isoformat(),
                "value": value,
                "threshold": threshold,
                "unit": unit,
                "runbook_id": runbook,
                "summary": summary,
            }
            self._history[number] = [{"at": fired.isoformat(), "event": "fired", "value": value}]
            if status == "resolved":
                ended = (fired + dt.timedelta(minutes=6)).isoformat()
                self._history[number].append({"at": ended, "event": "resolved", "by": "alertdesk"})

    def find(self, query: Mapping[str, str]) -> list[dict[str, Any]]:
        """Alerts that match, newest first.

        Args:
            query: any of status (a status or "any"; default "firing"), severity, service and limit (default
                "20"), as they come from a URL.

        Raises:
            BadRequest: an unknown key or status, or a limit that is no positive number.
        """
        unknown = sorted(set(query) - {"status", "severity", "service", "limit"})
        if unknown:
            raise BadRequest(f"alerts cannot be listed by {', '.join(unknown)}")
        status, severity, service = (query.get(key, "") for key in ("status", "severity", "service"))
        status, limit = status or "firing", query.get("limit", "20")
        if status not in (*STATUSES, "any"):
            raise BadRequest(f"status must be one of {', '.join(STATUSES)} or any, not {status!r}")
        if not limit.isdecimal() or int(limit) < 1:
            raise BadRequest(f"limit must be a positive whole number, not {limit!r}")
        with self._lock:
            found = [
                dict(alert)
                for alert in self._alerts.values()
                if status in (alert["status"], "any")
                and severity in (alert["severity"], "")
                and service in (alert["service"], "")
            ]
        return sorted(found, key=lambda alert: str(alert["fired_at"]), reverse=True)[: int(limit)]

    def get(self, number: str) -> dict[str, Any]:
        """One alert.

        Raises:
            NoSuchAlert: nobody knows the number.
        """
        with self._lock:
            return dict(self._alert(number))

    def history(self, number: str) -> list[dict[str, Any]]:
        """What happened to one alert, oldest first.

        Raises:
            NoSuchAlert: nobody knows the number.
        """
        with self._lock:
            self._alert(number)
            return [dict(event) for event in self._history[number]]

    def act(self, number: str, action: str, details: dict[str, Any]) -> dict[str, Any]:
        """Carries out "acknowledge", "silence" or "resolve" and returns the alert as it is then.

        Doing the same thing twice changes nothing the second time.

        Raises:
            NoSuchAlert: nobody knows the number.
            BadRequest: the alert is resolved already, or details are missing.
        """
        with self._lock:
            alert = self._alert(number)
            event = _event(action, details, self._now)
            if alert["status"] == "resolved" and event["event"] != "resolved":
                raise BadRequest(f"{number} is resolved; only an alert that is open can be changed")
            history = self._history[number]
            if history[-1] != event:
                history.append(event)
                alert["status"] = event["event"]
                alert["changed"] = event
            return dict(alert)

    def _alert(self, number: str) -> dict[str, Any]:
        if number not in self._alerts:
            raise NoSuchAlert(f"there is no alert {number!r}")
        return self._alerts[number]


def _event(action: str, details: dict[str, Any], now: dt.datetime) -> dict[str, Any]:
    """The history's entry for an action."""
    match action, details:
        case "acknowledge", {"engineer": str(engineer)} if engineer:
            done: dict[str, Any] = {"event": "acknowledged", "by": engineer, "note": str(details.get("note", ""))}
        case "silence", {"minutes": int(minutes), "reason": str(reason)} if 0 < minutes <= MAX_SILENCE_MINUTES:
            until = now + dt.timedelta(minutes=minutes)
            done = {"event": "silenced", "until": until.isoformat(), "reason": reason}
        case "resolve", {"resolution": str(resolution)} if resolution:
            done = {"event": "resolved", "reason": resolution}
        case _:
            raise BadRequest(f"the details given do not suffice to {action} an alert")
    return {"at": now.isoformat(), **done}
