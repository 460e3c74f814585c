"""Identical calls at the same time are made once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel

Result = TypeVar("Result")


class _Flight(Generic[Result]):
    def __init__(self) -> None:
        self.landed = anyio.Event()
        self.results: list[Result] = []


class SingleFlight(Generic[Result]):
    """Makes each call once while it is under way, per event loop, and gives all who ask its result."""

    def __init__(self) -> None:
        self._flights: anyio.lowlevel.RunVar[dict[str, _Flight[Result]]] = anyio.lowlevel.RunVar("toolpath_flights")

    async def do(self, key: str, make: Callable[[], Awaitable[Result]]) -> tuple[Result, bool]:
        """The result of `make`, or that of a call with the same key that was under way already.

        When the one who makes the call is cancelled, another one who waits makes it.

        Returns:
            The result, and whether somebody else's call gave it.
        """
        try:
            flights = self._flights.get()
        except LookupError:
            flights = {}
            self._flights.set(flights)
        while (flight := flights.get(key)) is not None:
            await flight.landed.wait()
            if flight.results:
                return flight.results[0], True
        flight = flights[key] = _Flight()
        try:
            result = await make()
            flight.results.append(result)
        finally:
            del flights[key]
            flight.landed.set()
        return result, False
