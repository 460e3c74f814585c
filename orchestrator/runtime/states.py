"""What is remembered of each tool between calls, whoever makes them: its circuit breaker and its rate limits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ...catalog import Tool
from .breaker import Breaker, CircuitBreaker
from .limiting import Limit, Limiter


class ToolStates:
    """Breakers and limiters by tool; tools of one name from different places are different tools.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._breakers: dict[tuple[object, ...], Breaker] = {}
        self._limiters: dict[tuple[object, ...], Limiter] = {}

    def breaker(self, tool: Tool, policy: CircuitBreaker) -> Breaker:
        """The tool's breaker for this policy."""
        key = (*_identity(tool), policy)
        with self._lock:
            if key not in self._breakers:
                self._breakers[key] = Breaker(tool.name, policy, self._clock)
            return self._breakers[key]

    def limiter(self, tool: Tool, limit: Limit) -> Limiter:
        """The tool's limiter for this limit."""
        key = (*_identity(tool), limit)
        with self._lock:
            if key not in self._limiters:
                self._limiters[key] = Limiter(tool.name, limit, self._clock)
            return self._limiters[key]

    def breakers(self) -> dict[str, str]:
        """Tool name to the state of its breaker, of those that were ever called; for people."""
        with self._lock:
            return {str(key[2]): str(breaker.state) for key, breaker in self._breakers.items()}

    def reset(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._breakers.clear()
            self._limiters.clear()


TOOL_STATES = ToolStates()
"""Shared by all runtimes of this process that are not given one of their own."""


def _identity(tool: Tool) -> tuple[object, ...]:
    code = getattr(tool.handler, "__func__", tool.handler)
    return (tool.source, tool.server, tool.name, getattr(code, "__module__", ""), getattr(code, "__qualname__", ""))
