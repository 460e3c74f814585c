"""Stops a caller that goes in circles: the same tool with the same arguments, again and again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from ...catalog import ToolCall, ToolError
from ...catalog.digest import digest_of

MAX_REPEATS = 3
"""The third identical call in a row is stopped, the second one is warned of."""

MAX_CALLERS = 10_000
"""Callers remembered; the one that has been quiet for longest is forgotten first."""


@dataclass(slots=True)
class _Streak:
    key: tuple[str, str]
    call_id: str
    length: int = 1


class LoopGuard:
    """Counts identical calls in a row along each caller.

    A retry keeps its call's id and does not count. Another tool or other arguments start over.

    Args:
        max_repeats: length of the streak that is stopped.

    Raises:
        ValueError: `max_repeats` is below 2: every first call would be stopped.
    """

    def __init__(self, max_repeats: int = MAX_REPEATS) -> None:
        if max_repeats < 2:
            raise ValueError(f"max_repeats must be at least 2, got {max_repeats!r}")
        self.max_repeats = max_repeats
        self._streaks: OrderedDict[str, _Streak] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, caller: str, call: ToolCall) -> str:
        """Records `call` and returns a warning, "" when there is nothing to warn of.

        Raises:
            ToolError: "loop_detected", when this caller has made the call too often in a row.
        """
        key = (call.tool, digest_of(call.arguments))
        with self._lock:
            streak = self._streaks.pop(caller, None)
            if streak is None or streak.key != key:
                streak = _Streak(key, call.call_id)
            elif streak.call_id != call.call_id:
                streak.length += 1
                streak.call_id = call.call_id
            self._streaks[caller] = streak
            if len(self._streaks) > MAX_CALLERS:
                self._streaks.popitem(last=False)
            length = streak.length
        if length >= self.max_repeats:
            raise ToolError(
                f"{call.tool} was called {length} times in a row with the same arguments; the call was stopped",
                "loop_detected",
                suggestion="use the result of the earlier calls, change the arguments, or ask the user",
            )
        return f"the same call was made {length} times in a row" if length > 1 else ""

    def forget(self, caller: str) -> None:
        """Starts `caller` over, e.g. when its session ends."""
        with self._lock:
            self._streaks.pop(caller, None)
