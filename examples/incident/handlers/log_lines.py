"""Reads log files of several formats into one record per line; a line without a time belongs to the one before."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LEVELS = ("debug", "info", "warning", "error", "fatal")
"""From harmless to worst."""

_LEVEL_NAMES = {
    "trace": "debug", "debug": "debug", "info": "info", "log": "info", "notice": "info", "warn": "warning",
    "warning": "warning", "error": "error", "err": "error", "fatal": "fatal", "critical": "fatal", "panic": "fatal",
}  # fmt: skip
_TEXT = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?)(?:Z| UTC)?\s+"
    r"(?:\[\d+\]\s+\S+\s+)?(?P<level>[A-Z]{3,8}):?\s+(?P<message>.*)"
)
_LOGFMT = re.compile(r'ts=(?P<at>\S+) level=(?P<level>\w+) msg="(?P<message>[^"]*)"')
_ACCESS = re.compile(r'\S+ \S+ \S+ \[(?P<at>[^\]]+)\] "(?P<request>[^"]*)" (?P<status>\d{3}) ')
_UNKNOWN = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log.

    Attributes:
        service: whose log it is.
        number: counted from 1.
        at: when it was written; a continuation line has the time of the line it continues.
        level: one of `LEVELS`.
        message: what it says, without time and level.
        raw: the whole line.
    """

    service: str
    number: int
    at: dt.datetime
    level: str
    message: str
    raw: str


def read_log(path: Path) -> Iterator[LogLine]:
    """The lines of one log file in order; the file's name without ending is the service."""
    at, level = _UNKNOWN, "info"
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            raw = line.rstrip("\n")
            parsed = _parse(raw)
            if parsed is None:
                yield LogLine(path.stem, number, at, level, raw.strip(), raw)
            else:
                at, level, message = parsed
                yield LogLine(path.stem, number, at, level, message, raw)


def at_least(level: str | None) -> frozenset[str]:
    """The levels that are `level` or worse; all of them for None."""
    return frozenset(LEVELS if level is None else LEVELS[LEVELS.index(level) :])


def _parse(raw: str) -> tuple[dt.datetime, str, str] | None:
    """Time, level and message of a line in any of the known formats, or None."""
    try:
        if raw.startswith("{"):
            return _from_json(json.loads(raw))
        if match := _TEXT.match(raw) or _LOGFMT.match(raw):
            return _moment(match["at"]), _level(match["level"]), match["message"]
        if match := _ACCESS.match(raw):
            at = dt.datetime.strptime(match["at"], "%d/%b/%Y:%H:%M:%S %z")
            status = int(match["status"])
            level = "error" if status >= 500 else "warning" if status >= 400 else "info"
            return at, level, f"{match['request']} answered {status}"
    except (ValueError, RecursionError):
        return None  # looks like a format without being it: then it is text
    return None


def _from_json(entry: dict[str, Any]) -> tuple[dt.datetime, str, str] | None:
    at = entry.get("ts", entry.get("time"))
    message = entry.get("msg", entry.get("message"))
    if not isinstance(message, str):
        return None
    if isinstance(at, str):
        moment = _moment(at)
    elif isinstance(at, int) and 0 <= at < 2**43:
        moment = dt.datetime.fromtimestamp(at / 1000, dt.UTC)
    else:
        return None
    return moment, _level(str(entry.get("level", entry.get("severity", "info")))), message


def _moment(text: str) -> dt.datetime:
    read = dt.datetime.fromisoformat(text.replace(",", "."))
    return read if read.tzinfo else read.replace(tzinfo=dt.UTC)


def _level(name: str) -> str:
    return _LEVEL_NAMES.get(name.lower(), "info")
