"""The catalog by what its tools give: which tools give a value of some name, find some thing, or are called so.

Filled tool by tool as the catalog changes; nothing of it depends on two tools, so a change costs one tool's work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from ...catalog import Tool
from .fields import Gift, gifts_of, needs_of
from .words import FINDERS, MAKERS, READERS, Key, Naming, base, is_specific, key_of, naming_of

Held = TypeVar("Held")

MAX_NAME_WORDS = 8
_CUE = re.compile(
    r"\b(?:from|by|via|using|use|call|calling|with|see|of)\s+(?:the\s+|a\s+|an\s+)?(?=(?P<said>[\w.`'\"\- ]{3,80}))",
    re.IGNORECASE,
)
"""What comes before the name of a tool in a text that says where a value comes from."""
_QUOTED = re.compile(r"`([^`\n]{3,80})`|\b(\w+(?:[_.]\w+)+)\b")
_MAX_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class _Entry:
    """A tool, and the keys under which it is entered."""

    tool: Tool
    naming: Naming
    given: tuple[Key, ...]
    silent: tuple[Key, ...]
    called: tuple[Key, ...]


class GiftIndex:
    """Tools by what they give and by what they are called. Not safe for changes while it is read."""

    def __init__(self) -> None:
        self._gifts: dict[Key, dict[str, list[Gift]]] = {}
        self._silent: dict[Key, dict[str, None]] = {}
        self._called: dict[Key, dict[str, None]] = {}
        self._entries: dict[str, _Entry] = {}
        self._required: dict[str, frozenset[Key]] = {}

    def put(self, tool: Tool) -> None:
        """Enters `tool`, in the place of the one with its name."""
        self.remove(tool.name)
        naming = naming_of(tool)
        given: dict[Key, None] = {}
        for gift in gifts_of(tool, naming):
            for key in filter(is_specific, gift.keys):
                given[key] = None
                self._gifts.setdefault(key, {}).setdefault(tool.name, []).append(gift)
        leads = not tool.returns and naming.thing and naming.verbs & (FINDERS | MAKERS)
        silent = (naming.thing,) if leads else ()
        called = _names(tool, naming)
        for table, keys in ((self._silent, silent), (self._called, called)):
            for key in keys:
                table.setdefault(key, {})[tool.name] = None
        self._entries[tool.name] = _Entry(tool, naming, tuple(given), silent, called)

    def remove(self, name: str) -> None:
        """Forgets the tool called `name`, if it is there."""
        self._required.pop(name, None)
        entry = self._entries.pop(name, None)
        if entry is not None:
            _drop(self._gifts, entry.given, name)
            _drop(self._silent, entry.silent, name)
            _drop(self._called, entry.called, name)

    def naming(self, name: str) -> Naming:
        """What the tool called `name` says by its name."""
        return self._entries[name].naming

    def required(self, name: str) -> frozenset[Key]:
        """What the tool called `name` requires, as keys."""
        known = self._required.get(name)
        if known is None:
            entry = self._entries[name]
            known = self._required[name] = frozenset(need.key for need in needs_of(entry.tool, entry.naming))
        return known

    def giving(self, key: Key) -> Iterator[tuple[str, Gift]]:
        """The tools that give a value under the name `key`, or under an ending of it of two words or more."""
        seen: set[tuple[str, str]] = set()
        for start in range(max(1, len(key) - 1)):
            for name, gifts in self._gifts.get(key[start:], {}).items():
                for gift in gifts:
                    if (name, gift.path) not in seen:
                        seen.add((name, gift.path))
                        yield name, gift

    def leading_to(self, thing: Key) -> list[str]:
        """The tools without a described result that find or make a thing."""
        return list(self._silent.get(thing, ()))

    def named_in(self, text: str) -> list[str]:
        """The tools that a parameter's description names as where the value comes from, in the order of the text.

        An identifier counts wherever it stands, a name in words only behind "from", "by", "using" and the like.
        """
        text = text[:_MAX_TEXT]
        found: dict[str, None] = {}
        for match in _QUOTED.finditer(text):
            for name in self._called.get(key_of(match.group(1) or match.group(2)), ()):
                found[name] = None
        for match in _CUE.finditer(text):
            words = key_of(match.group("said"))
            for length in range(min(MAX_NAME_WORDS, len(words)), 1, -1):
                if named := self._called.get(words[:length]):
                    found.update(named)
                    break
        return list(found)


def _drop(table: dict[Key, dict[str, Held]], keys: Iterable[Key], name: str) -> None:
    for key in keys:
        holders = table[key]
        del holders[name]
        if not holders:
            del table[key]


def _names(tool: Tool, naming: Naming) -> tuple[Key, ...]:
    """The word sequences that name a tool: its whole name, and what remains of it behind a provider's name.

    ``TripadvisorSearchLocation`` is "the Search Location API" in its provider's own texts.
    """
    words = naming.words
    starts = [0] + [place for place in range(1, len(words) - 1) if words[place] in _FIRST_WORDS]
    names = [words[start:] for start in starts if 2 <= len(words[start:]) <= MAX_NAME_WORDS]
    names += [key for alias in tool.aliases if 2 <= len(key := key_of(alias)) <= MAX_NAME_WORDS]
    return tuple(dict.fromkeys(names))


_FIRST_WORDS = frozenset(map(base, FINDERS | MAKERS | READERS))
