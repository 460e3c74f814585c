"""Limits on how often, and how often at the same time, something is called."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import anyio.lowlevel
from pyrate_limiter import InMemoryBucket, Rate, RateItem

from ...catalog import ToolError
from ..context import place_now, tell
from ..events import EventKind

MAX_WAIT = 60.0
"""Seconds that a call waits for its turn at most; a longer wait is a "rate_limited" error that says how long."""

_slots: anyio.lowlevel.RunVar[dict[int, anyio.Semaphore]] = anyio.lowlevel.RunVar("toolpath_slots")
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Limit:
    """How often something may be called.

    Attributes:
        calls: at most so many in any window of `per` seconds; None: no limit.
        per: length of the window in seconds.
        concurrent: at most so many at the same time, in one event loop; None: no limit.
        max_wait: seconds that a call waits for its turn; when it would be longer, it fails with "rate_limited".

    Raises:
        ValueError: nothing is limited, or a number is out of range.

    Example:
        >>> Limit(calls=10, per=1.0, concurrent=4)
        Limit(calls=10, per=1.0, concurrent=4, max_wait=60.0)
    """

    calls: int | None = None
    per: float = 1.0
    concurrent: int | None = None
    max_wait: float = MAX_WAIT

    def __post_init__(self) -> None:
        if self.calls is None and self.concurrent is None:
            raise ValueError("a Limit needs calls, concurrent or both")
        if (self.calls is not None and self.calls < 1) or (self.concurrent is not None and self.concurrent < 1):
            raise ValueError("calls and concurrent must be at least 1")
        if not (self.per >= 0.001 and self.max_wait >= 0):
            raise ValueError("per must be at least a millisecond, max_wait must not be negative")


class Limiter:
    """The state of one limit.

    Args:
        what: for messages and events.
        limit: how often.
        clock: seconds.
    """

    def __init__(self, what: str, limit: Limit, clock: Callable[[], float]) -> None:
        self.limit = limit
        self._what = what
        self._clock = clock
        self._number = next(_numbers)
        self._bucket = None if limit.calls is None else InMemoryBucket([Rate(limit.calls, round(limit.per * 1000))])

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Waits until a call may be made; the call is made inside.

        A call inside a call that holds a place of the same limit needs no other one: it would wait for itself.

        Raises:
            ToolError: "rate_limited", with the seconds to wait: it would take longer than `max_wait`.
        """
        slot = self._slot()
        if slot is None:
            await self._wait_for_rate()
            yield
            return
        async with slot:
            here = place_now.get()
            held = () if here is None else here.holds
            if here is not None:
                here.holds = (*held, self._number)
            try:
                await self._wait_for_rate()
                yield
            finally:
                if here is not None:
                    here.holds = held

    def _slot(self) -> anyio.Semaphore | None:
        here = place_now.get()
        if self.limit.concurrent is None:
            return None
        if here is not None and any(self._number in place.holds for place in here.outward()):
            return None
        try:
            slots = _slots.get()
        except LookupError:
            slots = {}
            _slots.set(slots)
        if self._number not in slots:
            slots[self._number] = anyio.Semaphore(self.limit.concurrent)
        return slots[self._number]

    async def _wait_for_rate(self) -> None:
        if self._bucket is None:
            return
        began, told = self._clock(), False
        while True:
            now = self._clock()
            item = RateItem(self._what, round(now * 1000))
            self._bucket.leak(item.timestamp)
            if self._bucket.put(item):
                return
            wait = max(int(self._bucket.waiting(item)), 1) / 1000  # type: ignore[arg-type]  # it is sync
            if now + wait - began > self.limit.max_wait:
                raise ToolError(
                    f"{self._what} may be called {self.limit.calls} times in {self.limit.per:g} s, and the wait would "
                    f"be {wait:.1f} s",
                    "rate_limited",
                    retry_after=wait,
                )
            if not told:
                tell(EventKind.WAITING, message=f"the rate limit of {self._what}", wait=wait)
                told = True
            await anyio.sleep(wait)
