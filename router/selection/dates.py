"""Dates and times in a request: ISO, common English and Chinese forms, and relative words when there is a clock."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date or time in a text.

    Attributes:
        kind: what it holds.
        iso: "2024-03-05", "14:30" (with seconds where they are written) or "2024-03-05T14:30:00", with the offset
            when one is written.
        start, end: its place.
    """

    kind: Literal["date", "time", "datetime"]
    iso: str
    start: int
    end: int


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sept sep", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_TIME = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d{1,9})?)?)?\s?(?P<half>[ap]\.?m\b\.?)?"
_OFFSET = r"(?P<offset>Z|[+-]\d{2}:?\d{2})?"
_DATE_FORMS = (
    re.compile(r"(?<![\d-])(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})(?![\d-])"),
    re.compile(r"(?<![\d/])(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})(?![\d/])"),
    re.compile(r"(?P<year>\d{4})\s?年\s?(?P<month>\d{1,2})\s?月\s?(?P<day>\d{1,2})\s?[日号]"),
    re.compile(rf"\b(?P<name>{_MONTH})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})\b", re.IGNORECASE),
    re.compile(
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<name>{_MONTH})\.?,?\s+(?P<year>\d{{4}})\b",
        re.IGNORECASE,
    ),
)
_TIME_AFTER = re.compile(rf"(?:T|,?\s+(?:at\s+)?|\s?的?\s?)(?P<clock>{_TIME}){_OFFSET}(?![\d:/-])", re.IGNORECASE)
_TIME_ALONE = re.compile(rf"(?<![\d:.,-])(?P<clock>{_TIME})(?![\d:%])", re.IGNORECASE)

_RELATIVE_DAYS = {
    "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1, "day after tomorrow": 2, "day before yesterday": -2,
    "今天": 0, "今日": 0, "今晚": 0, "明天": 1, "明日": 1, "明晚": 1, "昨天": -1, "昨日": -1, "后天": 2, "前天": -2,
}  # fmt: skip
_RELATIVE = re.compile(
    r"\b(?:the\s+)?(?P<english>day after tomorrow|day before yesterday|today|tonight|tomorrow|yesterday)\b"
    r"|(?P<chinese>今天|今日|今晚|明天|明日|明晚|昨天|昨日|(?<!之)后天|(?<!之)前天)",
    re.IGNORECASE,
)


def find_dates(text: str, clock: Callable[[], dt.datetime] | None = None) -> Iterator[FoundDate]:
    """The dates and times in `text`.

    Only forms with one meaning count: 03/04/2024 is March in one country and April in another, so it is left alone,
    and so is a date without a year.

    Args:
        text: any text.
        clock: the current local time; turns "tomorrow" and 明天 into dates. Without it they are not found.
    """
    taken: list[tuple[int, int]] = []
    for date, start, end in _dates(text, clock):
        if any(start < other_end and other_start < end for other_start, other_end in taken):
            continue
        after = _TIME_AFTER.match(text, end)
        time = _time(after) if after and _is_surely_a_time(after) else None
        if after and time:
            offset = after.group("offset") or ""
            yield FoundDate("datetime", f"{date.isoformat()}T{time.isoformat()}{offset}", start, after.end())
            end = after.end()
        else:
            yield FoundDate("date", date.isoformat(), start, end)
        taken.append((start, end))
    for match in _TIME_ALONE.finditer(text):
        if any(match.start() < end and start < match.end() for start, end in taken):
            continue
        if _is_surely_a_time(match) and (time := _time(match)):
            iso = time.isoformat("seconds" if match.group("second") else "minutes")
            yield FoundDate("time", iso, match.start("clock"), match.end("clock"))


def _dates(text: str, clock: Callable[[], dt.datetime] | None) -> Iterator[tuple[dt.date, int, int]]:
    for form in _DATE_FORMS:
        for match in form.finditer(text):
            parts = match.groupdict()
            month = _MONTHS[parts["name"].lower()] if parts.get("name") else int(parts["month"])
            try:
                yield dt.date(int(parts["year"]), month, int(parts["day"])), match.start(), match.end()
            except ValueError:
                continue  # the 30th of February is no date
    if clock is not None:
        today = clock().date()
        for match in _RELATIVE.finditer(text):
            days = _RELATIVE_DAYS[(match.group("english") or match.group("chinese")).lower()]
            yield today + dt.timedelta(days=days), match.start(), match.end()


def _is_surely_a_time(match: re.Match[str]) -> bool:
    """ "5" is a number; "5:30" and "5 pm" are times."""
    return match.group("minute") is not None or match.group("half") is not None


def _time(match: re.Match[str]) -> dt.time | None:
    hour, minute, second = (int(match.group(part) or 0) for part in ("hour", "minute", "second"))
    half = (match.group("half") or "").lower()
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    try:
        return dt.time(hour, minute, second)
    except ValueError:
        return None
