"""A circuit breaker: stops calling what keeps failing, and tries again after a while."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from ...catalog import ErrorCategory, ErrorInfo, RetryAdvice, ToolError
from ...catalog.errors import ErrorMeaning


class BreakerState(StrEnum):
    """CLOSED: calls go through. OPEN: they are refused. HALF_OPEN: a few try whether it works again."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


REFUSED = ErrorMeaning(ErrorCategory.TRANSIENT, RetryAdvice.CORRECTED)
"""A refused call is not tried again by policy, which would only wait for the pause to end: something else serves."""


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """When calls of a tool are refused without trying.

    Only failures that speak of the other side's health count: transient ones (timeouts, refused connections, rate
    limits) and systemic ones. Wrong arguments and missing permissions do not.

    Attributes:
        failure_rate: share of failures, above 0 up to 1, at which it opens.
        min_calls: calls within the window before the share means anything.
        window: seconds that are looked back on.
        open_for: seconds for which calls are refused.
        trial_calls: calls that are let through at the same time after that; one success closes it, one failure
            opens it again.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> CircuitBreaker(failure_rate=0.3, min_calls=20).open_for
        30.0
    """

    failure_rate: float = 0.5
    min_calls: int = 10
    window: float = 60.0
    open_for: float = 30.0
    trial_calls: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.failure_rate <= 1:
            raise ValueError(f"failure_rate must be above 0 and at most 1, got {self.failure_rate!r}")
        if self.min_calls < 1 or self.trial_calls < 1:
            raise ValueError("min_calls and trial_calls must be at least 1")
        if not (self.window > 0 and self.open_for > 0):
            raise ValueError("window and open_for must be positive")


def speaks_of_health(error: ErrorInfo) -> bool:
    """Whether an error says that the other side is unwell."""
    return error.category in (ErrorCategory.TRANSIENT, ErrorCategory.SYSTEMIC)


class Breaker:
    """The state of one tool's breaker. Safe to use from several threads.

    Args:
        tool: for messages.
        policy: when it opens.
        clock: seconds.
    """

    def __init__(self, tool: str, policy: CircuitBreaker, clock: Callable[[], float]) -> None:
        self.policy = policy
        self._tool = tool
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: deque[tuple[float, bool]] = deque()
        self._failures = 0
        self._state = BreakerState.CLOSED
        self._opened = 0.0
        self._trials = 0

    @property
    def state(self) -> BreakerState:
        """Its state now."""
        with self._lock:
            return self._state

    def admit(self) -> bool:
        """Lets a call through; `left` or `record` must follow.

        Returns:
            Whether it is the first trial after a pause, so that the state has changed.

        Raises:
            ToolError: "unavailable", with the seconds until the next trial: it is open.
        """
        with self._lock:
            if self._state is BreakerState.CLOSED:
                return False
            wait = self._opened + self.policy.open_for - self._clock()
            if self._state is BreakerState.OPEN and wait <= 0:
                self._state, self._trials = BreakerState.HALF_OPEN, 1
                return True
            if self._state is BreakerState.HALF_OPEN and self._trials < self.policy.trial_calls:
                self._trials += 1
                return False
            raise ToolError(
                f"{self._tool} is not called: its circuit breaker is {self._state.value.replace('_', ' ')} after "
                f"repeated failures",
                "unavailable",
                retry_after=max(wait, 0.0) or None,
                suggestion="use another tool, or try again later",
                meaning=REFUSED,
            )

    def left(self) -> None:
        """Takes back an admitted call that says nothing: it was cancelled, or never made."""
        with self._lock:
            if self._state is BreakerState.HALF_OPEN:
                self._trials = max(self._trials - 1, 0)

    def record(self, error: ErrorInfo | None) -> BreakerState | None:
        """Records how an admitted call ended, and returns the new state if that has changed it."""
        failed = error is not None and speaks_of_health(error)
        with self._lock:
            now = self._clock()
            if self._state is BreakerState.HALF_OPEN:
                if failed:
                    self._open(now)
                else:
                    self._state = BreakerState.CLOSED
                    self._calls.clear()
                    self._failures = 0
                return self._state
            if self._state is BreakerState.OPEN:  # a call that began before it opened
                return None
            self._calls.append((now, failed))
            self._failures += failed
            while self._calls[0][0] <= now - self.policy.window:
                self._failures -= self._calls.popleft()[1]
            often = len(self._calls) >= self.policy.min_calls
            if failed and often and self._failures / len(self._calls) >= self.policy.failure_rate:
                self._open(now)
                return self._state
        return None

    def _open(self, now: float) -> None:
        self._state, self._opened, self._trials = BreakerState.OPEN, now, 0
        self._calls.clear()
        self._failures = 0
