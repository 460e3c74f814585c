"""Five-field cron expressions: reads them, says them in words, and finds the next runs."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .arguments import invalid

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTH_NAMES = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_DAY_NAMES = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_PART = re.compile(r"(?P<low>\*|\w+)(?:-(?P<high>\w+))?(?:/(?P<step>\d{1,4}))?")

HORIZON = dt.timedelta(days=9 * 366)
"""Longest possible wait: 29 February across a century year that is no leap year (8 years), and some."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field.

    Attributes:
        text: as written.
        values: what it admits.
        open: it begins with ``*``: it admits everything, or every so many.
    """

    text: str
    values: frozenset[int]
    open: bool


@dataclass(frozen=True, slots=True)
class Cron:
    """A read expression. Days follow crontab(5): when day of month and day of week are both given, either suffices."""

    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field

    def admits(self, date: dt.date) -> bool:
        """Whether the job runs on that day."""
        if date.month not in self.month.values:
            return False
        by_day, by_weekday = date.day in self.day.values, date.isoweekday() % 7 in self.weekday.values
        if self.day.open or self.weekday.open:
            return by_day and by_weekday
        return by_day or by_weekday

    def runs(self, after: dt.datetime) -> Iterator[dt.datetime]:
        """Moments later than `after`, in its time zone; ends at the horizon.

        A local time that the clocks skip in spring is left out; one that they repeat in autumn counts once.
        """
        date = after.date()
        while date <= after.date() + HORIZON:
            if self.admits(date):
                for hour in sorted(self.hour.values):
                    for minute in sorted(self.minute.values):
                        run = dt.datetime.combine(date, dt.time(hour, minute), after.tzinfo)
                        back = run.astimezone(dt.UTC).astimezone(after.tzinfo)
                        if (
                            run.astimezone(dt.UTC) > after.astimezone(dt.UTC)
                            and back.hour == hour
                            and back.minute == minute
                        ):
                            yield run
            date += dt.timedelta(days=1)

    def in_words(self) -> str:
        """E.g. ``"at 03:00, on Monday"``."""
        days = [] if self.day.open and self.day.text == "*" else [f"on day {_words(self.day)} of the month"]
        weekdays = [] if self.weekday.text == "*" else [f"on {_words(self.weekday, _DAY_NAMES)}"]
        either = " or " if not (self.day.open or self.weekday.open) else " and "
        parts = [self._time(), either.join(days + weekdays)]
        if self.month.text != "*":
            parts.append(f"in {_words(self.month, ('', *_MONTH_NAMES))}")
        return ", ".join(part for part in parts if part)

    def _time(self) -> str:
        if len(self.minute.values) == 1 and len(self.hour.values) <= 4:
            minute = min(self.minute.values)
            return "at " + " and ".join(f"{hour:02d}:{minute:02d}" for hour in sorted(self.hour.values))
        hours = "" if self.hour.text == "*" else f" of hour {_words(self.hour)}"
        if self.minute.text == "*":
            return f"every minute{hours}"
        return f"at minute {_words(self.minute)}{hours or ' of every hour'}"


def read_cron(expression: str) -> Cron:
    """Reads minute, hour, day of month, month and day of week (0 and 7 are Sunday; names are allowed).

    Raises:
        ToolError: "validation_error"; says which field is wrong.
    """
    texts = expression.lower().split()
    if len(texts) != 5:
        raise invalid("expression", f"must have five fields (minute hour day month weekday), has {len(texts)}")
    minute, hour, day, month, weekday = texts
    days = _field(weekday, "day of week", 0, 7, _DAYS)
    return Cron(
        _field(minute, "minute", 0, 59),
        _field(hour, "hour", 0, 23),
        _field(day, "day of month", 1, 31),
        _field(month, "month", 1, 12, _MONTHS),
        Field(days.text, frozenset(value % 7 for value in days.values), days.open),
    )


def _field(text: str, name: str, low: int, high: int, names: tuple[str, ...] = ()) -> Field:
    values: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise invalid("expression", f"has a wrong {name}: {part!r}")
        if match["low"] == "*":
            first, last = low, high
        else:
            first = _number(match["low"], name, low, names)
            # "5/10" means from 5 on; "5" alone means 5
            last = _number(match["high"], name, low, names) if match["high"] else high if match["step"] else first
        step = int(match["step"] or 1)
        if not (low <= first <= last <= high and step >= 1) or (match["low"] == "*" and match["high"]):
            raise invalid("expression", f"has a {name} outside {low} to {high}, or a range backwards: {part!r}")
        values.update(range(first, last + 1, step))
    return Field(text, frozenset(values), text.startswith("*"))


def _number(text: str, name: str, low: int, names: tuple[str, ...]) -> int:
    if text in names:
        return names.index(text) + low
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise invalid("expression", f"has a wrong {name}: {text!r}")
    return int(text)


def _words(field: Field, names: tuple[str, ...] = ()) -> str:
    """The values as a list with runs shortened: ``"0, 15, 30"``, ``"Monday to Friday"``."""
    runs: list[list[int]] = []
    for value in sorted(field.values):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])

    def say(value: int) -> str:
        return names[value] if names else str(value)

    return ", ".join(say(run[0]) if len(run) == 1 else f"{say(run[0])} to {say(run[-1])}" for run in runs)
