"""Finds the pieces of a request that could be arguments by their form: numbers, dates, quoted texts, addresses."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Mention:
    """A piece of the request.

    Attributes:
        kind: its form.
        text: as written, without quotation marks.
        value: a number for numbers, an ISO text for dates and times, else the text.
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
    r"|`([^`\n]{1,500})`|(?<!\w)'([^'\n]{1,500})'(?!\w)"
)
_URL = re.compile(r"\b(?:https?|ftp|wss?)://[^\s<>\"'`，。；）】」]{1,2000}", re.IGNORECASE)
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
    r"(?<![\w.#])(?<!\w[-:/])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?(?=%|[^\w]|[^\x00-\x7f]|[a-zA-Z]{1,4}\b|$)(?!\.\d)(?![:/]\d)"
)
_NUMBER_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100,
}  # fmt: skip
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b", re.IGNORECASE)
_CODE = re.compile(
    r"#\s?\d{1,20}\b"  # "#1234"
    r"|(?<![\w.@/-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9](?:[A-Za-z0-9_-]{1,62}[A-Za-z0-9])"
    r"(?![\w@/-])"  # ORD-77, a1b2
    r"|(?<![\w.@/-])\d{2,}(?:-\d{2,}){2,}(?![\w-])",  # 555-12-1234
    re.ASCII,
)
_UNIT_ENDS = re.compile(r"^[-+]?\d+(?:\.\d+)?[a-zA-Z]{1,3}$")


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
    taken: list[Mention] = []
    for match in _QUOTED.finditer(text):
        inside = next(group for group in match.groups() if group is not None)
        taken.append(_quoted(inside.strip(), match.start(), match.end(), clock))
    for found in (
        (_plain(Kind.URL, m.group().rstrip(".,;:!?)"), m.start()) for m in _URL.finditer(text)),
        (_plain(Kind.EMAIL, m.group(), m.start()) for m in _EMAIL.finditer(text)),
        (_plain(Kind.PATH, m.group().rstrip("."), m.start()) for m in _PATH.finditer(text)),
        _dates(text, clock),
        (_plain(Kind.CODE, m.group(), m.start()) for m in _CODE.finditer(text) if not _UNIT_ENDS.match(m.group())),
        (_number(m.group(), m.start()) for m in _NUMBER.finditer(text)),
        (
            Mention(Kind.NUMBER, m.group(), _NUMBER_WORDS[m.group().lower()], m.start(), m.end())
            for m in _NUMBER_WORD.finditer(text)
        ),
    ):
        _add_free(taken, found)
    return sorted(taken, key=lambda mention: mention.start)[:MAX_MENTIONS]


def _add_free(taken: list[Mention], found: Iterable[Mention]) -> None:
    """Adds what does not overlap with what is there already."""
    for mention in list(found):
        if all(mention.end <= other.start or other.end <= mention.start for other in taken):
            taken.append(mention)


def _plain(kind: Kind, text: str, start: int) -> Mention:
    value = text.lstrip("# ") if kind is Kind.CODE else text
    return Mention(kind, text, value, start, start + len(text))


def _number(text: str, start: int) -> Mention:
    digits = text.replace(",", "")
    whole = re.fullmatch(r"[-+]?\d+", digits) is not None
    return Mention(Kind.NUMBER, text, int(digits) if whole else float(digits), start, start + len(text))


def _dates(text: str, clock: Clock | None) -> Iterable[Mention]:
    for found in find_dates(text, clock):
        yield Mention(Kind(found.kind), text[found.start : found.end], found.iso, found.start, found.end)


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
        return Mention(Kind.NUMBER, inside, _number(inside, 0).value, start, end, quoted=True)
    return Mention(Kind.QUOTED, inside, inside, start, end, quoted=True)
