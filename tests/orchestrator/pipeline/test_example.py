"""The example that the documentation opens with, with functions, tools and names of tools as steps."""

from __future__ import annotations

from typing import Any

import pytest
from toolpath.orchestrator import FallbackPolicy, Pipeline, PipelineBuilder, Runtime

from tests.orchestrator.building import catalog_of, make_tool, outcomes

pytestmark = pytest.mark.anyio

TRIP = {"origin": "Oslo", "destination": "Rome"}
TEXT = {"type": "string"}


async def search_flights(origin: str, destination: str) -> list[dict[str, Any]]:
    return [{"route": f"{origin}-{destination}", "price": 120}, {"route": f"{origin}-{destination}", "price": 90}]


def search_hotels(destination: str) -> list[str]:
    return [f"Hotel {destination}"]


async def compare_prices(search_flights: list[dict[str, Any]]) -> int:
    return min(flight["price"] for flight in search_flights)


async def generate_itinerary(search_flights: list[dict[str, Any]], search_hotels: list[str]) -> str:
    return f"{search_flights[0]['route']}, {search_hotels[0]}"


async def fetch_weather(destination: str) -> str:
    raise ConnectionError(f"no weather for {destination}")


def _check(pipeline: Pipeline) -> None:
    assert {str(one) for one in pipeline.inputs.values()} == {"origin: str", "destination: str"}
    assert set(pipeline.edges) == {
        ("search_flights", "compare_prices"),
        ("search_flights", "generate_itinerary"),
        ("search_hotels", "generate_itinerary"),
    }


EXPECTED = {
    "search_flights": "succeeded",
    "search_hotels": "succeeded",
    "compare_prices": "succeeded",
    "generate_itinerary": "succeeded",
    "fetch_weather": "failed",
}


async def test_with_functions() -> None:
    pipeline = (
        PipelineBuilder()
        .parallel([search_flights, search_hotels])
        .then(compare_prices, deps=[search_flights])
        .then(generate_itinerary, deps=[search_flights, search_hotels])
        .independent(fetch_weather)
        .with_error_policy(FallbackPolicy.SKIP_AND_REPORT)
        .build()
    )
    _check(pipeline)
    report = await pipeline.run(TRIP)
    assert outcomes(report) == EXPECTED
    assert report.outputs == {"compare_prices": 90, "generate_itinerary": "Oslo-Rome, Hotel Rome"}
    assert report.outcome == "failed"
    assert report.partial


def _tools() -> list[Any]:
    returns = {"type": "array", "items": {"type": "object"}}
    return [
        make_tool(
            "search_flights", search_flights, {"origin": TEXT, "destination": TEXT},
            required=["origin", "destination"], returns=returns,
        ),
        make_tool("search_hotels", search_hotels, {"destination": TEXT}, required=["destination"]),
        make_tool("compare_prices", compare_prices, {"search_flights": returns}, required=["search_flights"]),
        make_tool(
            "generate_itinerary", generate_itinerary, {"search_flights": returns, "search_hotels": {"type": "array"}},
            required=["search_flights", "search_hotels"],
        ),
        make_tool("fetch_weather", fetch_weather, {"destination": TEXT}, required=["destination"]),
    ]  # fmt: skip


async def test_with_tools() -> None:
    flights, hotels, compare, itinerary, weather = _tools()
    pipeline = (
        PipelineBuilder()
        .parallel([flights, hotels])
        .then(compare, deps=[flights])
        .then(itinerary, deps=[flights, hotels])
        .independent(weather)
        .with_error_policy(FallbackPolicy.SKIP_AND_REPORT)
        .build()
    )
    _check(pipeline)
    report = await pipeline.run(TRIP)
    assert outcomes(report) == EXPECTED
    assert report.value("generate_itinerary") == "Oslo-Rome, Hotel Rome"
    assert report["fetch_weather"].attempts == 3


async def test_with_names_from_a_catalog() -> None:
    pipeline = (
        PipelineBuilder(runtime=Runtime(catalog_of(*_tools())))
        .parallel(["search_flights", "search_hotels"])
        .then("compare_prices", deps=["search_flights"])
        .then("generate_itinerary", deps=["search_flights", "search_hotels"])
        .independent("fetch_weather")
        .with_error_policy(FallbackPolicy.SKIP_AND_REPORT)
        .build()
    )
    _check(pipeline)
    report = await pipeline.run(TRIP)
    assert outcomes(report) == EXPECTED
    assert report.outputs == {"compare_prices": 90, "generate_itinerary": "Oslo-Rome, Hotel Rome"}


async def test_with_all_three_kinds_mixed() -> None:
    flights, hotels, _, itinerary, _ = _tools()
    pipeline = (
        PipelineBuilder(catalog=catalog_of(hotels))
        .parallel([flights, "search_hotels"])
        .then(compare_prices, deps=[flights])
        .then(itinerary, deps=[flights, "search_hotels"])
        .build()
    )
    report = await pipeline.run(TRIP)
    assert report.ok
    assert report.outputs == {"compare_prices": 90, "generate_itinerary": "Oslo-Rome, Hotel Rome"}
