"""What a run or a session may spend: calls, tokens, money, seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from ...catalog import ToolError
from ..context import place_now


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be spent; None: no limit.

    The call that would go beyond is refused with "budget_exceeded". Tokens and money are known only once they are
    spent: the first call after that is refused.

    Attributes:
        calls: tool calls.
        tokens: of language models; see `spend`.
        money: in whatever currency `spend` is told.
        seconds: since the beginning.

    Raises:
        ValueError: nothing is limited, or a limit is negative.

    Example:
        >>> Budget(calls=50, money=0.20).calls
        50
    """

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        limits = (self.calls, self.tokens, self.money, self.seconds)
        if all(limit is None for limit in limits):
            raise ValueError("a Budget needs a limit on calls, tokens, money or seconds")
        if any(limit is not None and not limit >= 0 for limit in limits):
            raise ValueError("a limit must not be negative")


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent so far; fields as in `Budget`."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0
    seconds: float = 0.0


class Meter:
    """Counts what is spent of one budget. Safe to use from several threads.

    Args:
        budget: the most that may be spent.
        clock: seconds.
    """

    def __init__(self, budget: Budget, clock: Callable[[], float]) -> None:
        self.budget = budget
        self._clock = clock
        self._began = clock()
        self._lock = threading.Lock()
        self._calls = 0
        self._tokens = 0
        self._money = 0.0
        self._times = 1

    @property
    def spent(self) -> Spent:
        """What was spent so far."""
        with self._lock:
            return self._spent()

    def call(self, tool: str) -> None:
        """Counts a call that is about to be made.

        Raises:
            ToolError: "budget_exceeded": names what is used up.
        """
        with self._lock:
            spent, budget = self._spent(), self.budget
            pairs = {
                "calls": (spent.calls + 1, budget.calls),
                "tokens": (spent.tokens, budget.tokens),
                "money": (spent.money, budget.money),
                "seconds": (spent.seconds, budget.seconds),
            }
            over = [
                f"{what} ({min(used, used - (what == 'calls')):.6g} of {limit * self._times:.6g} spent)"
                for what, (used, limit) in pairs.items()
                if limit is not None and used > limit * self._times
            ]
            if over:
                raise ToolError(
                    f"{tool} is not called: the budget is used up: {', '.join(over)}",
                    "budget_exceeded",
                    suggestion="finish with what there is, or ask for a larger budget",
                )
            self._calls += 1

    def add(self, tokens: int, money: float) -> None:
        """Counts what was spent."""
        with self._lock:
            self._tokens += tokens
            self._money += money

    def extend(self) -> None:
        """Grants the same budget once more, on top."""
        with self._lock:
            self._times += 1

    def _spent(self) -> Spent:
        return Spent(self._calls, self._tokens, self._money, self._clock() - self._began)


def spend(*, tokens: int = 0, money: float = 0.0) -> None:
    """Says what this step or tool has spent; it counts for every run and session around it.

    Raises:
        ValueError: a number is negative.

    Example:
        >>> spend(tokens=1_250, money=0.0031)
    """
    if not (tokens >= 0 and money >= 0):
        raise ValueError("tokens and money must not be negative")
    innermost = place_now.get()
    if innermost is None:
        return
    for place in innermost.outward():
        if place.meter is not None:
            place.meter.add(tokens, money)
