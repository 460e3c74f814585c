"""The functions of `examples/trip.yaml`: a trip planned while one service stumbles, one is stale and one is down."""

from __future__ import annotations

from typing import Any, TypedDict

from toolpath.orchestrator import Missing


class Flight(TypedDict):
    """One offer."""

    number: str
    price: int


class Hotel(TypedDict):
    """One offer."""

    name: str
    price: int


class FlightDesk:
    """A flight service whose first answer fails, as services do."""

    def __init__(self) -> None:
        self._asked = 0

    async def search(self, origin: str, destination: str) -> list[Flight]:
        """Offers between two cities."""
        self._asked += 1
        if self._asked == 1:
            raise ConnectionResetError("the flight service closed the connection")
        return [{"number": "SK4703", "price": 182}, {"number": "DY1872", "price": 149}]


search_flights = FlightDesk().search


def search_hotels(city: str) -> list[Hotel]:
    """Hotels of a city; the service is down."""
    raise ConnectionRefusedError(f"no hotel service answers for {city}")


def hotels_of_last_week(city: str) -> list[Hotel]:
    """What the service said last week."""
    return [{"name": f"Grand {city}", "price": 120}]


async def fetch_weather(city: str) -> dict[str, Any]:
    """The weather of a city; the service knows no forecast."""
    raise LookupError(f"no forecast for {city}")


def cheapest(offers: list[Flight]) -> Flight:
    """The cheapest offer."""
    return min(offers, key=lambda offer: offer["price"])


def write_itinerary(flight: Flight, hotel: str, weather: dict[str, Any] | Missing) -> str:
    """The plan; what is missing is said."""
    sky = f"weather unknown ({weather.reason})" if isinstance(weather, Missing) else str(weather)
    return f"Fly {flight['number']} for {flight['price']}, stay at {hotel}; {sky}."
