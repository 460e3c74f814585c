"""Finds the pieces of a request that could be arguments by their form: numbers, dates, quoted texts, addresses."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from .dates import find_dates

MAX_REQUEST = 10_000
"""Mentions are looked for in this many characters."""
MAX_MENTIONS = 200

Clock = Callable[[], dt.datetime]


class Kind(StrEnum):
    """The form of a mention."""

    QUOTED = "quoted"
    EMAIL = "email"
    URL = "url"
    PATH = "path"
    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"
    NUMBER = "number"
    PERCENT = "percent"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Mention:
    """A piece of the request.

    Attributes:
        kind: its form.
        text: as written, without quotation marks.
        value: a number for numbers (5 for "5%"), an ISO text for dates and times, else the text.
        start, end: its place in the request, quotation marks included.
        quoted: whether it stands in quotation marks.
    """

    kind: Kind
    text: str
    value: Any
    start: int
    end: int
    quoted: bool = False


_QUOTED = re.compile(
    r"\"([^\"\n]{1,500})\"|“([^”\n]{1,500})”|‘([^’\n]{1,500})’|「([^」\n]{1,500})」|『([^』\n]{1,500})』|《([^》\n]{1,500})》"
    r"|`([^`\n]{1,500})`|(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w)){1,500})'(?!\w)"
)
_URL = re.compile(r"(?<![A-Za-z0-9])(?:https?|ftp|wss?)://[^\s<>\"'`，。；）】」]{1,2000}", re.IGNORECASE)
_EMAIL = re.compile(
    r"(?<![\w.+-])[A-Za-z0-9_][\w.+-]{0,63}@[A-Za-z0-9][A-Za-z0-9-]{0,62}(?:\.[A-Za-z0-9-]{1,63}){1,4}(?![\w-])",
    re.ASCII,
)
_PATH = re.compile(
    r"(?<![\w:/.])(?:~|\.{1,2})?/(?:[\w.@+-]+/){0,30}[\w.@+-]+/?"  # /var/log, ./notes/a.txt
    r"|(?<!\w)[A-Za-z]:\\(?:[\w.@ +-]+\\){0,30}[\w.@+-]*"  # C:\temp\a.txt
    r"|(?<![\w/.@-])(?:[\w-]+/){0,30}[\w-]{1,100}\.(?:txt|md|csv|tsv|json|jsonl|ya?ml|xml|html?|pdf|docx?|xlsx?|pptx?|png"
    r"|jpe?g|gif|svg|webp|bmp|mp3|mp4|wav|avi|mov|mkv|zip|tar|gz|py|js|ts|java|c|cpp|h|go|rs|sh|sql|log|ini|cfg|conf|toml"
    r"|parquet|db|ipynb|tex|bib|srt|epub)(?!\w)",
    re.ASCII | re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.#])(?<![A-Za-z0-9_][-:/])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?(?=%|[^\w]|[^\x00-\x7f]|[a-zA-Z]{1,4}\b|$)(?!\.\d)(?![:/]\d)"
)
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "万": 10**4, "亿": 10**8}
_SCALE = re.compile(r"\s?(?P<word>thousand\b|million\b|billion\b|万|亿)", re.IGNORECASE)
_MAGNITUDE = re.compile(r"[KMB]\b")
_PERCENT = re.compile(r"\s?(?:%|percent\b|per cent\b)", re.IGNORECASE)
_NUMBER_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100,
}  # fmt: skip
_NUMBER_WORD = re.compile(rf"(?<!\ba )\b(?:{'|'.join(_NUMBER_WORDS)})\b(?!-)", re.IGNORECASE)
_CODE = re.compile(
    r"#\s?\d{1,20}\b"  # "#1234"
    r"|(?<![\w.@/-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9](?:[A-Za-z0-9_-]{1,62}[A-Za-z0-9])"
    r"(?![\w@/-])"  # ORD-77, a1b2
    r"|(?<![\w.@/-])\d{2,}(?:-\d{2,}){2,}(?![\w-])",  # 555-12-1234
    re.ASCII,
)
_QUANTITY = re.compile(r"\d+(?:[a-z]{1,3}|[A-Z]|[kMGT]?(?:Hz|Wh|B|W|V|A)|st|nd|rd|th)$")
"""A number with its unit, such as 5km or 440Hz, which is no code."""


def find_mentions(request: str, clock: Clock | None = None) -> list[Mention]:
    """The mentions in `request`, in order; no two of them overlap.

    Args:
        request: the user's text.
        clock: the current local time, for words such as "tomorrow" and 明天; without it they are left alone.

    Returns:
        At most 200 mentions. Where forms compete for a piece the more specific one wins: URL, e-mail, path, date and
        time, code, number. A quotation that is of such a form as a whole has that kind and is marked as quoted.
    """
    text = request[:MAX_REQUEST]
    taken = bytearray(len(text))
    mentions: list[Mention] = []
    for mention in _all_forms(text, clock):
        if not any(taken[mention.start : mention.end]):
            taken[mention.start : mention.end] = b"x" * (mention.end - mention.start)
            mentions.append(mention)
    return sorted(mentions, key=lambda mention: mention.start)[:MAX_MENTIONS]


def _all_forms(text: str, clock: Clock | None) -> Iterator[Mention]:
    """Everything that has a form, the forms that win first; pieces may overlap."""
    for match in _QUOTED.finditer(text):
        inside = _without_stop(next(group for group in match.groups() if group is not None).strip())
        if inside and match.end() - match.start() < len(text.strip()):  # else the whole request stands in quotes
            yield _quoted(inside, match.start(), match.end(), clock)
    yield from (_plain(Kind.URL, match.group().rstrip(".,;:!?)"), match.start()) for match in _URL.finditer(text))
    yield from (_plain(Kind.EMAIL, match.group(), match.start()) for match in _EMAIL.finditer(text))
    yield from (_plain(Kind.PATH, match.group().rstrip("."), match.start()) for match in _PATH.finditer(text))
    for found in find_dates(text, clock):
        yield Mention(Kind(found.kind), text[found.start : found.end], found.iso, found.start, found.end)
    for match in _CODE.finditer(text):
        if not _QUANTITY.match(match.group()):
            yield _plain(Kind.CODE, match.group(), match.start())
    yield from _numbers(text)
    for match in _NUMBER_WORD.finditer(text):
        yield Mention(Kind.NUMBER, match.group(), _NUMBER_WORDS[match.group().lower()], match.start(), match.end())


def _plain(kind: Kind, text: str, start: int) -> Mention:
    value = text.lstrip("# ") if kind is Kind.CODE else text
    return Mention(kind, text, value, start, start + len(text))


def _numbers(text: str) -> Iterator[Mention]:
    for match in _NUMBER.finditer(text):
        if _MAGNITUDE.match(text, match.end()):
            continue  # 5K may be thousands, kelvin or a size
        scale = _SCALE.match(text, match.end())
        factor = _SCALES[scale.group("word").lower()] if scale else 1
        end = scale.end() if scale else match.end()
        percent = _PERCENT.match(text, end) is not None
        value = _value(match.group(), factor)
        yield Mention(Kind.PERCENT if percent else Kind.NUMBER, text[match.start() : end], value, match.start(), end)


def _value(digits: str, factor: int = 1) -> int | float:
    """The number, an int where it is whole as written or by its factor ("8.5 million")."""
    exact = Decimal(digits.replace(",", "")) * factor
    whole = exact == exact.to_integral_value() and (factor > 1 or re.fullmatch(r"[-+]?[\d,]+", digits) is not None)
    return int(exact) if whole else float(exact)


def _without_stop(inside: str) -> str:
    """Without the comma, or after a single word the full stop, that belongs to the sentence around the quotation."""
    if inside.endswith((",", "，")):
        return inside[:-1]
    return inside[:-1] if inside.endswith(".") and inside.count(".") == 1 and " " not in inside else inside


def _quoted(inside: str, start: int, end: int, clock: Clock | None) -> Mention:
    """A quotation; of a typed kind when its whole content is of that form."""
    for kind, pattern in ((Kind.URL, _URL), (Kind.EMAIL, _EMAIL), (Kind.PATH, _PATH)):
        if pattern.fullmatch(inside):
            return Mention(kind, inside, inside, start, end, quoted=True)
    for found in find_dates(inside, clock):
        if (found.start, found.end) == (0, len(inside)):
            return Mention(Kind(found.kind), inside, found.iso, start, end, quoted=True)
    if _CODE.fullmatch(inside):
        return Mention(Kind.CODE, inside, inside.lstrip("# "), start, end, quoted=True)
    if _NUMBER.fullmatch(inside):
        return Mention(Kind.NUMBER, inside, _value(inside), start, end, quoted=True)
    return Mention(Kind.QUOTED, inside, inside, start, end, quoted=True)
