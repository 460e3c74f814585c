"""The router with a reranker: looks deeper than it shows, wish by wish, and says how long it took."""

from collections.abc import Sequence

import anyio
import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.router import Candidate, Router
from toolpath.router.reranking import reranked
from toolpath.router.reranking.fusing import movable

from ..support import WordSearch


class PrefersLong:
    """Scores a tool by the length of its description; remembers what it was asked."""

    def __init__(self, depth: int = 4) -> None:
        self.depth = depth
        self.asked: list[tuple[str, int]] = []
        self.on_loop: list[bool] = []

    def rerank(self, request: str, candidates: Sequence[Candidate]) -> list[Candidate]:
        return self.rerank_many([request], [candidates])[0]

    def rerank_many(self, requests: Sequence[str], found: Sequence[Sequence[Candidate]]) -> list[list[Candidate]]:
        self.asked += [(request, len(own)) for request, own in zip(requests, found, strict=True)]
        self.on_loop.append(_in_loop())
        lengths = [[float(len(one.tool.description)) for one in movable(own, self.depth)] for own in found]
        return [reranked(own, scores, 1.0, self.depth) for own, scores in zip(found, lengths, strict=True)]


def _in_loop() -> bool:
    try:
        anyio.get_current_task()
    except RuntimeError:
        return False
    return True


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(
        [
            Tool(name="read_mail", description="Read mail."),
            Tool(name="send_mail", description="Send mail to somebody."),
            Tool(name="sort_mail", description="Sort mail into folders by rules."),
            Tool(name="delete_mail", description="Delete mail for good, after asking whether that is meant."),
            Tool(name="get_weather", description="Weather of a city."),
        ]
    )


@pytest.mark.anyio
async def test_a_tool_below_k_can_come_to_the_top(catalog: Catalog) -> None:
    reranker = PrefersLong()
    plain = await Router(catalog, retriever=WordSearch(catalog)).route("do something about mail", k=2)
    decision = await Router(catalog, retriever=WordSearch(catalog), reranker=reranker).route(
        "do something about mail", 2
    )
    assert "delete_mail" not in [one.name for one in plain.candidates]
    assert [one.name for one in decision.candidates] == ["delete_mail", "sort_mail"]
    assert decision.calls[0].tool == "delete_mail"
    assert reranker.asked == [("do something about mail", 4)]


@pytest.mark.anyio
async def test_it_reads_off_the_event_loop_and_its_time_is_told_apart(catalog: Catalog) -> None:
    reranker = PrefersLong()
    decision = await Router(catalog, retriever=WordSearch(catalog), reranker=reranker).route("mail")
    assert reranker.on_loop == [False]
    timings = decision.timings
    assert timings["rerank"] >= 0
    stages = ("intent", "retrieval", "rerank", "selection")
    assert timings["total"] == pytest.approx(sum(timings[stage] for stage in stages))
    assert "rerank" not in (await Router(catalog, retriever=WordSearch(catalog)).route("mail")).timings


@pytest.mark.anyio
async def test_a_tool_named_in_the_request_stays_in_front(catalog: Catalog) -> None:
    from toolpath.router import HashEmbedder

    router = Router(catalog, embedder=HashEmbedder(), reranker=PrefersLong())
    decision = await router.route("call read_mail please", k=3)
    assert decision.candidates[0].name == "read_mail"
    assert "rerank" in decision.candidates[1].parts


@pytest.mark.anyio
async def test_each_wish_of_a_request_is_read_by_its_own_text(catalog: Catalog) -> None:
    reranker = PrefersLong()
    router = Router(catalog, retriever=WordSearch(catalog), reranker=reranker)
    decision = await router.route("Send a mail to Ann. Then tell me the weather of Oslo.", k=4)
    texts = [text for text, _ in reranker.asked]
    assert len(texts) == 1 + len(decision.intent.wishes) == 3
    assert "weather" in texts[2] and "mail" not in texts[2]


@pytest.mark.anyio
async def test_many_requests_are_one_batch_for_it(catalog: Catalog) -> None:
    reranker = PrefersLong()
    router = Router(catalog, retriever=WordSearch(catalog), reranker=reranker)
    decisions = await router.route_many(["mail", "weather of a city"], k=1)
    assert len(reranker.on_loop) == 1
    assert reranker.asked == [("mail", 4), ("weather of a city", 4)]
    assert [one.candidates[0].name for one in decisions] == ["delete_mail", "sort_mail"]
