"""The formats that are checked more kindly than their standard: times without an offset are what people write."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping

_TIME = r"([01]\d|2[0-3]):[0-5]\d:(?P<second>[0-5]\d|60)(\.\d{1,12})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)?"
_TIME_ONLY = re.compile(_TIME, re.ASCII)
_DATE_TIME = re.compile(rf"(?P<date>\d{{4}}-\d\d-\d\d)[Tt ]{_TIME}", re.ASCII)


def is_time(text: str) -> bool:
    """Whether `text` is a time as in RFC 3339, section 5.6; the offset may be missing."""
    return _TIME_ONLY.fullmatch(text) is not None


def is_date_time(text: str) -> bool:
    """Whether `text` is a date and time as in RFC 3339, section 5.6; the offset may be missing."""
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        return False
    try:
        dt.date.fromisoformat(match["date"])
    except ValueError:
        return False
    return True


FORMATS: Mapping[str, Callable[[str], bool]] = {"time": is_time, "date-time": is_date_time}
"""Format name to its check, for those that replace the validator's own."""
