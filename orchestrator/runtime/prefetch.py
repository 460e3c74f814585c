"""Which tool usually follows which, so that the next one can be warmed while somebody still thinks. Off by default."""

from __future__ import annotations

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

MIN_SEEN = 20
"""Calls of a tool before what follows it means anything."""

MIN_SHARE = 0.6
"""Of the calls of a tool that one and the same tool must follow."""

MAX_CALLERS = 10_000

Warm = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class PrefetchStats:
    """What warming was good for.

    Attributes:
        warmed: how often a tool was warmed.
        used: how often that tool was then the next one.
        wasted: how often another one was.
    """

    warmed: int
    used: int
    wasted: int


class Prefetch:
    """Counts which tool follows which along each caller, and knows how to warm some of them.

    Args:
        warm: tool name to what warms it: opens a connection, fills a cache. It must change nothing. Tools that may be
            cached and need no arguments are warmed by calling them, without an entry here.
        min_seen: calls of a tool before what follows it means anything.
        share: of them that one tool must follow, above 0.5 and up to 1.
        path: a JSON file that keeps the counts; None: they end with the process.

    Raises:
        ValueError: a number is out of range, or the file holds something else.

    Example:
        >>> runtime = Runtime(catalog, prefetch=Prefetch({"github.read_file": github.connect}))
        >>> async with anyio.create_task_group() as group:      # in an agent's loop
        ...     group.start_soon(runtime.warm_next, "session-1")
        ...     answer = await model(...)
    """

    def __init__(
        self,
        warm: Mapping[str, Warm] | None = None,
        *,
        min_seen: int = MIN_SEEN,
        share: float = MIN_SHARE,
        path: Path | None = None,
    ) -> None:
        if min_seen < 1 or not 0.5 < share <= 1:
            raise ValueError("min_seen must be at least 1, share above 0.5 and at most 1")
        self.warm = dict(warm or {})
        self._min_seen = min_seen
        self._share = share
        self._path = path
        self._lock = threading.Lock()
        self._next: dict[str, Counter[str]] = {}
        self._last: OrderedDict[str, str] = OrderedDict()
        self._expected: dict[str, str] = {}
        self._warmed = self._used = self._wasted = 0
        if path is not None and path.exists():
            self._read(path)

    def observe(self, caller: str, tool: str) -> None:
        """Notes that a caller has called a tool."""
        with self._lock:
            before = self._last.pop(caller, None)
            self._last[caller] = tool
            if len(self._last) > MAX_CALLERS:
                self._expected.pop(self._last.popitem(last=False)[0], None)
            if before is not None:
                self._next.setdefault(before, Counter())[tool] += 1
            expected = self._expected.pop(caller, None)
            if expected is not None:
                self._used += expected == tool
                self._wasted += expected != tool

    def expected(self, caller: str) -> str | None:
        """The tool that usually follows what a caller has called last; None: nobody can say."""
        with self._lock:
            followers = self._next.get(self._last.get(caller, ""), Counter())
            total = followers.total()
            if total < self._min_seen:
                return None
            tool, count = followers.most_common(1)[0]
            return tool if count / total >= self._share else None

    def was_warmed(self, caller: str, tool: str) -> None:
        """Notes that a tool was warmed for a caller."""
        with self._lock:
            self._warmed += 1
            self._expected[caller] = tool

    @property
    def stats(self) -> PrefetchStats:
        """What warming was good for so far."""
        with self._lock:
            return PrefetchStats(self._warmed, self._used, self._wasted)

    def save(self) -> None:
        """Writes the counts to the file.

        Raises:
            ValueError: there is none.
        """
        if self._path is None:
            raise ValueError("give the Prefetch a path to save it")
        with self._lock:
            text = json.dumps({tool: dict(followers) for tool, followers in self._next.items()}, ensure_ascii=False)
        beside = self._path.with_name(f"{self._path.name}.new")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self._path)

    def _read(self, path: Path) -> None:
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            self._next = {
                str(tool): Counter({str(one): int(count) for one, count in followers.items()})
                for tool, followers in kept.items()
            }
        except (ValueError, AttributeError, TypeError) as error:
            raise ValueError(f"{path} does not hold the counts of a Prefetch: {error}") from error
