"""What the handlers share: moments and windows of time, and errors that say which argument is wrong."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from toolpath.catalog import ToolError
from toolpath.catalog.errors import did_you_mean

Handler = Callable[..., Any]
Json = dict[str, Any]

BEGINNING = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
END = dt.datetime(2201, 1, 1, tzinfo=dt.UTC)


def invalid(argument: str, problem: str) -> ToolError:
    """The error for an argument whose value cannot be used."""
    return ToolError(f"{argument} {problem}", "validation_error", fields={argument: problem})


def not_found(argument: str, value: str, what: str, known: Iterable[str]) -> ToolError:
    """The error for a name that nothing has; lists what exists, at most 20 names."""
    names = sorted(known)
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return ToolError(
        f"there is no {what} {value!r}{did_you_mean(value, names)}",
        "not_found",
        fields={argument: f"no such {what}"},
        suggestion=f"known: {shown}" if names else f"there is no {what} at all",
    )


def moment(text: str, argument: str) -> dt.datetime:
    """Reads an ISO 8601 moment; without offset it counts as UTC.

    Raises:
        ToolError: "validation_error", when the text is no such moment.
    """
    try:
        read = dt.datetime.fromisoformat(text)
        read = (read if read.tzinfo else read.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:
        raise invalid(argument, f"must be a moment in ISO 8601 such as 2025-11-18T14:20:00Z, not {text!r}") from error
    if not 1970 <= read.year <= 2200:
        raise invalid(argument, f"must lie between the years 1970 and 2200, not in {read.year}")
    return read


def window(
    start: str | None, end: str | None, names: tuple[str, str] = ("start", "end")
) -> tuple[dt.datetime, dt.datetime]:
    """Reads a half-open period of time; an absent bound is as far away as a moment may be.

    Raises:
        ToolError: "validation_error", when a bound is no moment or the period is empty.
    """
    first = BEGINNING if start is None else moment(start, names[0])
    last = END if end is None else moment(end, names[1])
    if first >= last:
        raise invalid(names[1], f"must lie after {names[0]}")
    return first, last


def iso(value: dt.datetime) -> str:
    """The moment in UTC, e.g. ``"2025-11-18T14:20:00Z"``; a fraction of a second is kept as milliseconds."""
    spec = "milliseconds" if value.microsecond else "seconds"
    return value.astimezone(dt.UTC).isoformat(timespec=spec).replace("+00:00", "Z")


def zone(name: str, argument: str) -> ZoneInfo:
    """The time zone of that IANA name.

    Raises:
        ToolError: "validation_error" for an unknown name, "dependency_missing" where no time zones are installed.
    """
    known = available_timezones()
    if not known:
        raise ToolError(
            "this machine has no time zone database", "dependency_missing", suggestion="install the package tzdata"
        )
    if name not in known:
        raise invalid(
            argument, f"must be an IANA time zone such as Europe/Berlin, not {name!r}{did_you_mean(name, known)}"
        )
    return ZoneInfo(name)
