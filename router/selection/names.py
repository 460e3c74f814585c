"""Names of tools as providers accept them, and back: a catalog's own names may hold dots, spaces or Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...catalog.digest import digest_of_text

MAX_LENGTH = 64
"""OpenAI and Anthropic accept ``^[a-zA-Z0-9_-]{1,64}$``; Gemini wants a letter or underscore first."""

_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]+")


class SafeNames:
    """A two-way map between tool names and names that every provider accepts.

    Depends on each name alone, so that a tool is called the same in every request (prompt caches stay warm).

    Args:
        names: the tools' names, all different.
        taken: safe names that are used for something else.

    Example:
        >>> names = SafeNames(["github.list_issues", "查询天气"])
        >>> names.safe("github.list_issues")
        'github_list_issues'
        >>> names.original("github_list_issues")
        'github.list_issues'
    """

    def __init__(self, names: Iterable[str], taken: Iterable[str] = ()) -> None:
        self._original: dict[str, str] = {}
        self._safe: dict[str, str] = {}
        reserved = set(taken)
        for name in sorted(names, key=lambda name: (_plain(name) != name, name)):
            safe = _plain(name)
            if safe in self._original or safe in reserved or not safe:
                safe = f"{safe[: MAX_LENGTH - 9] or 'tool'}_{digest_of_text(name)[:8]}"
            self._original[safe], self._safe[name] = name, safe

    def safe(self, name: str) -> str:
        """The provider's name of a tool."""
        return self._safe[name]

    def original(self, safe: str) -> str | None:
        """The tool's own name, or None when no tool has that provider's name; the tool's own name is found too."""
        return self._original.get(safe) or (safe if safe in self._safe else None)


def _plain(name: str) -> str:
    """`name` with runs of unsafe characters as one underscore, cut to the allowed length; "" when nothing is left."""
    safe = _UNSAFE.sub("_", name).strip("_-") if _UNSAFE.search(name) or len(name) > MAX_LENGTH else name
    if safe and not (safe[0].isalpha() or safe[0] == "_"):
        safe = f"_{safe}"
    if len(safe) > MAX_LENGTH:
        return f"{safe[: MAX_LENGTH - 9]}_{digest_of_text(name)[:8]}"
    return safe
