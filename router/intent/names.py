"""Finds the tools that a request names outright: an exact name must survive every stage, a common word must not count.

``search_text`` is named by "search_text", "searchText" and "search text"; ``github.list_issues`` also by its bare
name. Spoken names are certain from three words on, two words are a perhaps, unless they are all but function words
(``do_it``). A one-word name such as ``get`` is a word of the language before it is a name, so it counts only when the
request marks it as a name: in quotation marks or backticks, as ``get(``, as "the get tool", or as the whole request.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

from ...catalog import Tool
from ..retrieval.text import STOP_WORDS, spoken_name
from .phrases import is_spaceless, joined

MAX_REQUEST = 20_000
"""Names are looked for in this many characters of a request."""
MAX_NAME_WORDS = 12
MAX_SHARERS = 5
"""A bare name that more tools than this share (``search`` on many servers) names none of them."""
MIN_SPACELESS = 4
"""Characters of a name in Chinese, Japanese or Thai that may stand unmarked in a sentence; shorter is a plain word."""

_Key = TypeVar("_Key")

_WORD = re.compile(r"\w+")
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+|[^\W_A-Za-z0-9]+")
_IDENTIFIER = re.compile(r"\w_\w|\w\.\w|[a-z][A-Z]")
"""What no word of a language looks like: an underscore, a dot or a capital letter inside."""
_OPENING, _CLOSING = "`'\"“‘「『《<", "`'\"”’」』》>"
_TOOL_WORD_BEFORE = re.compile(r"(?:\b(?:tool|function|command)s?|工具|函数)\s*[:：]?\s*$", re.IGNORECASE)
_TOOL_WORD_AFTER = re.compile(r"\s*(?:\b(?:tool|function|command|api)\b|工具|函数|接口)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A tool that the request names.

    Attributes:
        tool: its name in the catalog.
        written: the words of the request that name it.
        certain: whether they can hardly mean anything else. "air quality" may be the tool ``air_quality`` or the
            thing itself: on public training sets such two words name the wanted tool in about half of the requests.
    """

    tool: str
    written: str
    certain: bool


class _Certainty(IntEnum):
    NO = 0
    PERHAPS = 1
    CERTAIN = 2


@dataclass(frozen=True, slots=True)
class _Entry:
    tool: str
    name: str
    qualified: bool


class NameIndex:
    """All names and aliases of a catalog, by their words. Not safe for changes while it is read."""

    def __init__(self) -> None:
        self._by_words: defaultdict[tuple[str, ...], list[_Entry]] = defaultdict(list)
        self._spaceless: defaultdict[str, list[_Entry]] = defaultdict(list)
        self._longest: dict[tuple[str, ...], int] = {}
        """Words of the longest name that begins with these one or two words: most words of a request begin none."""

    def add(self, tool: Tool) -> None:
        """Enters the tool's name, bare name and aliases."""
        for entry in _entries(tool):
            words = _words(entry.name)
            self._by_words[words].append(entry)
            for head in (words[:1], words[:2]):
                self._longest[head] = max(self._longest.get(head, 1), min(len(words), MAX_NAME_WORDS))
            if is_spaceless(entry.name[0]):
                self._spaceless[entry.name.casefold()].append(entry)

    def remove(self, tool: Tool) -> None:
        """Takes out what `add` entered."""
        for entry in _entries(tool):
            _discard(self._by_words, _words(entry.name), entry)
            _discard(self._spaceless, entry.name.casefold(), entry)

    def find(self, request: str) -> list[NamedTool]:
        """The tools that the request names, in the order of their first mention."""
        text = unicodedata.normalize("NFKC", request[:MAX_REQUEST])
        pieces = [
            (part.group().casefold(), run.start() + part.start(), run.start() + part.end())
            for run in _WORD.finditer(text)
            for part in _HUMP.finditer(run.group())
        ]
        words = tuple(word for word, _, _ in pieces)
        found: dict[str, tuple[int, NamedTool]] = {}
        for first in range(len(pieces)):
            for last in range(first, min(first + self._reach(words[first : first + 2]), len(pieces))):
                entries = self._by_words.get(words[first : last + 1])
                if entries:
                    _take(entries, text, pieces[first][1], pieces[last][2], found)
        for start, end, entries in self._spaceless_hits(text):
            _take(entries, text, start, end, found)
        return [named for _, named in sorted(found.values(), key=lambda item: item[0])]

    def _reach(self, head: tuple[str, ...]) -> int:
        """How many words the longest name has that may begin with `head`, two words where there are two."""
        if head[:1] not in self._longest:
            return 0
        return self._longest.get(head, 1)

    def _spaceless_hits(self, text: str) -> list[tuple[int, int, list[_Entry]]]:
        folded = text.casefold()
        if not self._spaceless or len(folded) != len(text):
            return []
        lengths = sorted({len(name) for name in self._spaceless})
        return [
            (start, start + length, entries)
            for start in range(len(folded))
            if is_spaceless(folded[start])
            for length in lengths
            if start + length <= len(folded) and (entries := self._spaceless.get(folded[start : start + length]))
        ]


def _take(entries: list[_Entry], text: str, start: int, end: int, found: dict[str, tuple[int, NamedTool]]) -> None:
    """Enters the tools that ``text[start:end]`` names; certainty beats doubt, else the first mention stays."""
    qualified = [entry for entry in entries if entry.qualified]
    for entry in qualified or (entries if len(entries) <= MAX_SHARERS else ()):
        certainty = _names(entry, text, start, end)
        known = found.get(entry.tool)
        if certainty and (known is None or (certainty is _Certainty.CERTAIN and not known[1].certain)):
            named = NamedTool(entry.tool, text[start:end], certainty is _Certainty.CERTAIN)
            found[entry.tool] = (start, named)


def _discard(index: dict[_Key, list[_Entry]], key: _Key, entry: _Entry) -> None:
    kept = [other for other in index.get(key, ()) if other != entry]
    if kept:
        index[key] = kept
    else:
        index.pop(key, None)


def bare_name(tool: Tool) -> str:
    """The tool's own name without the prefix of its server or namespace.

    Example:
        >>> bare_name(Tool(name="github.list_issues")), bare_name(Tool(name="mcp__files__read_file"))
        ('list_issues', 'read_file')
    """
    name = tool.name
    if any(char.isspace() for char in name):
        return name
    tail = re.split(r"[./:]|__", name)[-1]
    return tail if sum(char.isalpha() for char in tail) >= 2 else name


def _entries(tool: Tool) -> list[_Entry]:
    bare = bare_name(tool)
    names = {tool.name: True} | dict.fromkeys(tool.aliases, True)
    names.setdefault(bare, False)
    return [_Entry(tool.name, unicodedata.normalize("NFKC", name), full) for name, full in names.items()]


def _words(name: str) -> tuple[str, ...]:
    return tuple(part.casefold() for run in _WORD.findall(name) for part in _HUMP.findall(run))


def _names(entry: _Entry, text: str, start: int, end: int) -> _Certainty:
    """Whether ``text[start:end]``, whose words are those of the entry, names it."""
    if joined(text[:start][-1:], text[start]) or joined(text[end - 1], text[end : end + 1]):
        return _Certainty.NO
    if _is_inside_identifier(text, start, end):
        return _Certainty.NO
    written, words = text[start:end], spoken_name(entry.name).split()
    if _is_marked(text, start, end) or (_is_quoted(text, start, end) and (entry.qualified or len(words) > 1)):
        return _Certainty.CERTAIN
    if is_spaceless(entry.name[0]):
        return _Certainty.CERTAIN if len(entry.name) >= MIN_SPACELESS else _Certainty.NO
    if _IDENTIFIER.search(written) and not any(char.isspace() for char in written):
        return _Certainty.CERTAIN
    if sum(len(word) >= 3 and word not in STOP_WORDS for word in words) < 2:
        return _Certainty.NO
    return _Certainty.CERTAIN if entry.qualified and len(words) >= 3 else _Certainty.PERHAPS


def _is_inside_identifier(text: str, start: int, end: int) -> bool:
    """Whether a longer dotted, slashed or hyphenated identifier goes on around the span: that is another name."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    goes_on_before = len(before) == 2 and before[1] in "./-:" and joined(before[0], text[start])
    goes_on_after = len(after) == 2 and after[0] in "./-:" and joined(text[end - 1], after[1])
    return goes_on_before or goes_on_after


def _is_quoted(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    return before != "" and after != "" and before in _OPENING and after in _CLOSING


def _is_marked(text: str, start: int, end: int) -> bool:
    """Whether the span is written as code, called a tool, or the whole request."""
    before, after = text[:start], text[end:]
    return (
        (before.endswith("`") and after.startswith("`"))
        or after.startswith("(")
        or (not before.strip() and not after.strip(" .!?。！？"))
        or _TOOL_WORD_BEFORE.search(before[-20:]) is not None
        or _TOOL_WORD_AFTER.match(after[:20]) is not None
    )
