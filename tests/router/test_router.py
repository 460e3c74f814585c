"""The router as a whole: what comes out, on both loops, and what is refused with a clear error."""

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.catalog.errors import RoutingError
from toolpath.router import (
    Candidate,
    HashEmbedder,
    Intent,
    RankSelector,
    Router,
    RuleIntentClassifier,
    Selection,
    Selector,
)

from tests.router.support import WordSearch, small_tools


def small_router(selector: Selector | None = None) -> Router:
    catalog = Catalog(small_tools())
    return Router(catalog, retriever=WordSearch(catalog), selector=selector or RankSelector())


@pytest.mark.anyio
async def test_a_request_becomes_a_call() -> None:
    decision = await small_router().route("the weather forecast for 3 days", k=2)
    assert decision.calls[0].tool == "weather.forecast" and decision.calls[0].arguments == {"days": 3}
    assert decision.calls[0].missing == ("city",)
    assert len(decision.candidates) == 2 and decision.ranking[0] == "weather.forecast"
    assert not decision.abstained and decision.catalog_size == 4
    assert set(decision.timings) == {"intent", "retrieval", "selection", "total"}
    assert 0 < decision.usage.shown_tokens < decision.usage.catalog_tokens


@pytest.mark.anyio
async def test_many_requests_come_back_in_order() -> None:
    decisions = await small_router().route_many(["send an email", "weather in a city", "disks of the server"] * 10)
    names = [decision.ranking[0] for decision in decisions]
    assert names == ["mail.send", "weather.forecast", "disk.usage"] * 10


@pytest.mark.anyio
@pytest.mark.parametrize("blank", ["", "  \n\t"])
async def test_a_blank_request_is_refused(blank: str) -> None:
    with pytest.raises(RoutingError, match="the request is blank"):
        await small_router().route(blank)
    with pytest.raises(RoutingError, match=r"number 1 of the list"):
        await small_router().route_many(["weather", blank])


@pytest.mark.anyio
@pytest.mark.parametrize("request_", [None, 3, b"weather"])
async def test_a_request_that_is_no_text_is_refused(request_: Any) -> None:
    with pytest.raises(RoutingError, match="must be text, is of type"):
        await small_router().route(request_)


@pytest.mark.anyio
async def test_k_must_be_positive_and_may_exceed_the_catalog() -> None:
    with pytest.raises(RoutingError, match="k must be at least 1, is 0"):
        await small_router().route("weather", k=0)
    assert len((await small_router().route("weather", k=1_000)).candidates) == 4


@pytest.mark.anyio
async def test_an_empty_catalog_abstains_and_says_why() -> None:
    catalog = Catalog()
    decision = await Router(catalog, retriever=WordSearch(catalog)).route("weather")
    assert decision.abstained and decision.calls == () and decision.selection.reason == "the catalog is empty"
    assert "the catalog is empty" in decision.explain()
    json.dumps(decision.to_dict())


@pytest.mark.anyio
async def test_no_requests_give_no_decisions_and_a_text_is_no_list() -> None:
    assert await small_router().route_many([]) == []
    with pytest.raises(RoutingError, match="takes a list"):
        await small_router().route_many("weather")


def test_route_sync_works_without_a_loop() -> None:
    router = small_router()
    assert router.route_sync("weather").ranking[0] == "weather.forecast"
    assert [decision.ranking[0] for decision in router.route_many_sync(["weather", "disks"])] == [
        "weather.forecast",
        "disk.usage",
    ]


@pytest.mark.anyio
async def test_route_sync_inside_a_loop_says_what_to_do() -> None:
    with pytest.raises(RoutingError, match=r"await router\.route"):
        small_router().route_sync("weather")


@pytest.mark.anyio
async def test_stages_run_outside_the_loops_thread() -> None:
    threads: list[int] = []

    class Watching(WordSearch):
        def search_many(
            self, requests: Sequence[str], k: int, intents: Sequence[Intent] | None = None
        ) -> list[list[Candidate]]:
            threads.append(threading.get_ident())
            return super().search_many(requests, k, intents)

    catalog = Catalog(small_tools())
    await Router(catalog, retriever=Watching(catalog), selector=RankSelector()).route("weather")
    assert threads and threading.get_ident() not in threads


@pytest.mark.anyio
async def test_the_caller_can_restrict_the_tools() -> None:
    router = small_router()
    decision = await router.route("weather in a city", within=["disk.usage", "mail.send"])
    assert set(decision.ranking) == {"disk.usage", "mail.send"}
    with pytest.raises(RoutingError, match="'wether'"):
        await router.route("weather", within=["wether"])
    with pytest.raises(RoutingError, match="takes a list of names"):
        await router.route("weather", within="disk.usage")
    with pytest.raises(RoutingError, match="for each of 2 requests"):
        await router.route_many(["a", "b"], within=[None])


@pytest.mark.anyio
async def test_a_selectors_own_exception_comes_out_as_itself() -> None:
    class Broken:
        async def select(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        await small_router(Broken()).route("weather")


@pytest.mark.anyio
async def test_cancellation_passes_through() -> None:
    entered = anyio.Event()

    class Slow:
        async def select(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
            entered.set()
            await anyio.sleep_forever()
            raise AssertionError("never")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(small_router(Slow()).route_many, ["weather", "disk"])
        await entered.wait()
        tasks.cancel_scope.cancel()
    assert tasks.cancel_scope.cancelled_caught


def test_options_that_another_one_makes_useless_are_refused() -> None:
    catalog = Catalog(small_tools())
    with pytest.raises(RoutingError, match="belong to the default retriever"):
        Router(catalog, retriever=WordSearch(catalog), embedder=HashEmbedder())
    with pytest.raises(RoutingError, match="either a selector or a model"):
        Router(catalog, retriever=WordSearch(catalog), selector=RankSelector(), model="openai:gpt-x")


@pytest.mark.anyio
async def test_the_default_retriever_and_changes_of_the_catalog() -> None:
    catalog = Catalog(small_tools())
    router = Router(catalog, embedder=HashEmbedder())
    assert (await router.route("how full are the disks")).ranking[0] == "disk.usage"
    before = (await router.route("open the vault")).usage.catalog_tokens
    catalog.add(Tool(name="vault.open", description="Open the vault with the gold.", category="bank"))
    decision = await router.route("open the vault")
    assert decision.ranking[0] == "vault.open" and decision.usage.catalog_tokens > before
    catalog.remove("vault.open")
    assert "vault.open" not in (await router.route("open the vault")).ranking


@pytest.mark.anyio
async def test_stage_one_narrows_what_stage_two_sees() -> None:
    class OnlyWeather:
        def classify(self, request: str) -> Intent:
            return Intent(categories=("weather",), reasons=("a test says so",), exact=("disk.usage",), parts=(request,))

    catalog = Catalog(small_tools())
    router = Router(catalog, classifier=OnlyWeather(), retriever=WordSearch(catalog), selector=RankSelector())
    decision = await router.route("send an email")
    assert set(decision.ranking) == {"weather.forecast", "disk.usage"} and decision.eligible == 2


def test_importing_the_router_loads_nothing_heavy() -> None:
    code = (
        "import sys, toolpath.router as r; r.Router; r.RuleIntentClassifier; "
        "heavy = {'torch', 'faiss', 'sentence_transformers', 'pydantic_ai', 'openai'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_all_public_names_exist() -> None:
    import toolpath.router as face

    assert [name for name in face.__all__ if getattr(face, name, None) is None] == []
    assert set(face.__all__) <= set(dir(face))
    with pytest.raises(AttributeError, match="no_such_name"):
        face.no_such_name  # noqa: B018


def test_the_default_classifier_is_the_rules() -> None:
    assert isinstance(small_router().classifier, RuleIntentClassifier)
