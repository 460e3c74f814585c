"""Results that may be used again: by which key, for how long, and where they are kept."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import cachetools

from ...catalog import Permission, SideEffect, Tool
from ...catalog.digest import digest_of

MAX_ENTRIES = 10_000
"""Results that `MemoryStore` keeps; the one that was not used for longest goes first."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One result.

    Attributes:
        tool: the tool's name.
        data: what it gave, JSON-like.
        stored: when, in seconds since the epoch.
    """

    tool: str
    data: Any
    stored: float


class CacheStore(Protocol):
    """Where results are kept. Called from threads, one call at a time."""

    def get(self, key: str) -> Entry | None:
        """The result of that key, however old."""

    def put(self, key: str, entry: Entry) -> None:
        """Keeps a result."""

    def drop(self, tools: Iterable[str]) -> None:
        """Forgets every result of these tools."""


class MemoryStore:
    """Results in this process.

    Args:
        entries: how many; the one that was not used for longest goes first.
    """

    in_memory = True

    def __init__(self, entries: int = MAX_ENTRIES) -> None:
        self._entries: cachetools.LRUCache[str, Entry] = cachetools.LRUCache(maxsize=entries)

    def get(self, key: str) -> Entry | None:
        """The result of that key, however old."""
        return self._entries.get(key)

    def put(self, key: str, entry: Entry) -> None:
        """Keeps a result."""
        self._entries[key] = entry

    def drop(self, tools: Iterable[str]) -> None:
        """Forgets every result of these tools."""
        gone = frozenset(tools)
        for key in [key for key, entry in self._entries.items() if entry.tool in gone]:
            del self._entries[key]


class SQLiteCacheStore:
    """Results in a file, which survive the process and may be shared by several.

    Args:
        path: of the file; made when it does not exist.
    """

    in_memory = False

    def __init__(self, path: str | Path) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, tool TEXT NOT NULL, data TEXT NOT NULL, "
            "stored REAL NOT NULL) WITHOUT ROWID"
        )
        self._db.execute("CREATE INDEX IF NOT EXISTS results_tool ON results (tool)")

    def get(self, key: str) -> Entry | None:
        """The result of that key, however old."""
        row = self._db.execute("SELECT tool, data, stored FROM results WHERE key = ?", (key,)).fetchone()
        return None if row is None else Entry(row[0], json.loads(row[1]), row[2])

    def put(self, key: str, entry: Entry) -> None:
        """Keeps a result."""
        data = json.dumps(entry.data, ensure_ascii=False)
        self._db.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?)", (key, entry.tool, data, entry.stored))

    def drop(self, tools: Iterable[str]) -> None:
        """Forgets every result of these tools."""
        self._db.executemany("DELETE FROM results WHERE tool = ?", [(tool,) for tool in tools])

    def prune(self, older_than: float) -> int:
        """Forgets results stored before that many seconds since the epoch, and says how many."""
        return self._db.execute("DELETE FROM results WHERE stored < ?", (older_than,)).rowcount

    def close(self) -> None:
        """Closes the file."""
        self._db.close()


class Cache:
    """Results of tools that allow it (`Tool.cache_ttl`, in seconds), reused for equal calls.

    Usual times: weather 1,800, prices 60, configuration 86,400, static documents ``float("inf")`` is not JSON, so a
    year: 31,536,000. Never reused: errors, second-best results, what a write tool gives, and results of tools for
    sensitive data when nobody says which user asks. A write tool that says what it `touches` makes the results of
    those tools outdated.

    Args:
        store: where they are kept; in this process by default.
        clock: seconds since the epoch.

    Example:
        >>> runtime = Runtime(catalog, cache=Cache(SQLiteCacheStore("results.sqlite")))
    """

    def __init__(self, store: CacheStore | None = None, clock: Callable[[], float] = time.time) -> None:
        self._store = MemoryStore() if store is None else store
        self._clock = clock
        self._lock = threading.Lock()
        self.needs_thread = not getattr(self._store, "in_memory", False)

    def key(self, tool: Tool, arguments: dict[str, Any], user: str) -> str | None:
        """Under what the call's result is kept; None: it is not.

        The same tool, version, arguments and, for sensitive data, user give the same key. Arguments that JSON has no
        form for have none.
        """
        if not tool.cache_ttl or is_write(tool):
            return None
        private = tool.permission is Permission.SENSITIVE_READ
        if private and not user:
            return None
        try:
            return digest_of([tool.server, tool.name, tool.version, arguments, user if private else None])
        except (TypeError, ValueError):
            return None

    def get(self, key: str, max_age: float) -> tuple[Any, float] | None:
        """The result and its age in seconds, if there is one that is not older."""
        with self._lock:
            entry = self._store.get(key)
        if entry is None:
            return None
        age = max(self._clock() - entry.stored, 0.0)
        return (entry.data, age) if age <= max_age else None

    def put(self, key: str, tool: str, data: Any) -> None:
        """Keeps a result."""
        with self._lock:
            self._store.put(key, Entry(tool, data, self._clock()))

    def outdate(self, write: Tool, tools: Iterable[Tool]) -> None:
        """Forgets the results that a call of a write tool has made outdated."""
        touched = frozenset(write.touches)
        gone = [tool.name for tool in tools if touched & {tool.name, *tool.tags, tool.category, tool.server}]
        if gone:
            with self._lock:
                self._store.drop(gone)


def is_write(tool: Tool) -> bool:
    """Whether a tool is said to change something."""
    return tool.permission in (Permission.LOW_RISK_WRITE, Permission.HIGH_RISK_WRITE) or tool.side_effect not in (
        None,
        SideEffect.NONE,
        SideEffect.COMPUTE,
    )


def age_text(seconds: float) -> str:
    """An age for people, such as "14 minutes"."""
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = round(seconds / size)
            return f"{count} {unit}{'s' if count != 1 else ''}"
    count = round(seconds)
    return f"{count} second{'s' if count != 1 else ''}"
