"""Fitting weights: one part of the requests chooses, another judges, and a loss is never installed."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.catalog.errors import RoutingError
from toolpath.router import Router
from toolpath.router.embedding import HashEmbedder, TextKind
from toolpath.router.evaluation import Query, QueryError
from toolpath.router.evaluation.fitting import FEWEST, FitReport, fit_weights
from toolpath.router.retrieval import FusionWeights, Retriever

from ..support import WordSearch

TOOLS = 30


class NumberedEmbedder(HashEmbedder):
    """Gives request and tool number n the same vector, or, when it is wrong, the vector of the tool after."""

    def __init__(self, *, wrong: bool) -> None:
        super().__init__(64)
        self.wrong = wrong

    def embed(self, texts: Sequence[str], kind: TextKind) -> np.ndarray:
        vectors = np.zeros((len(texts), 64), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            number = int(text.split("#")[1].split()[0]) if "#" in text else 63
            vector[(number + (self.wrong and kind == "query")) % TOOLS] = 1
        return vectors


def catalog() -> Catalog:
    return Catalog([Tool(name=f"tool{at}", description=f"word{at} #{at}") for at in range(TOOLS)])


def requests(word: Literal["right", "wrong"], count: int = 120) -> list[Query]:
    """Requests for tool number n that hold its own word, or the word of the tool after it."""
    step = 0 if word == "right" else 1
    return [
        Query(id=str(at), query=f"request {at} word{(at + step) % TOOLS} #{at % TOOLS}", tools=(f"tool{at % TOOLS}",))
        for at in range(count)
    ]


def fitted(
    embedder: HashEmbedder, queries: Sequence[Query], start: FusionWeights | None = None
) -> tuple[FitReport, Retriever]:
    tools = catalog()
    retriever = Retriever(tools, embedder, weights=start)
    return fit_weights(retriever, queries, tools, k=1), retriever


def test_words_win_where_the_embedder_is_wrong_and_the_new_weights_are_used() -> None:
    report, retriever = fitted(NumberedEmbedder(wrong=True), requests("right"))
    assert report.adopted and report.weights == retriever.weights == report.chosen
    assert report.chosen.lexical > report.before.lexical
    assert report.measures["recall@1"].before == 0 and report.measures["recall@1"].after == 1
    assert report.measures["recall@1"].difference_interval == (1, 1)
    assert "new weights" in report.explain()


def test_meaning_wins_where_the_words_mislead() -> None:
    report, _ = fitted(NumberedEmbedder(wrong=False), requests("wrong"), FusionWeights(lexical=2.5))
    assert report.adopted and report.chosen.lexical < 2.5


def test_good_weights_stay_and_the_report_says_so() -> None:
    report, retriever = fitted(NumberedEmbedder(wrong=False), requests("right"))
    assert not report.adopted and retriever.weights == FusionWeights()
    assert "stay" in report.verdict


def test_weights_that_lose_on_the_held_out_requests_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolpath.router.evaluation import fitting

    monkeypatch.setattr(fitting, "choose_weights", lambda *_, **__: FusionWeights(dense=0.0, lexical=0.0))
    report, retriever = fitted(NumberedEmbedder(wrong=False), requests("right"))
    assert not report.adopted and retriever.weights == report.before == FusionWeights()
    assert report.measures["recall@1"].after < report.measures["recall@1"].before
    assert "did not do better on the held-out" in report.explain()


def test_the_split_depends_on_the_request_alone() -> None:
    queries = requests("right")
    embedder = NumberedEmbedder(wrong=True)
    first, again = fitted(embedder, queries)[0], fitted(embedder, queries[::-1])[0]
    assert first == again
    assert first.fitted_on + first.held_out == len(queries)
    twice = [replace(query, id=f"{query.id}b") for query in queries]
    doubled = fitted(embedder, [*queries, *twice])[0]
    assert (doubled.fitted_on, doubled.held_out) == (2 * first.fitted_on, 2 * first.held_out)


def test_requests_that_want_no_tool_are_left_out_and_counted() -> None:
    none = [Query(id=f"n{at}", query=f"sing number {at}", expect_none=True) for at in range(7)]
    report, _ = fitted(NumberedEmbedder(wrong=True), [*requests("right"), *none])
    assert report.left_out == 7 and "7 want no tool" in report.explain()


def test_too_few_requests_are_refused_with_their_number() -> None:
    with pytest.raises(QueryError, match=rf"{FEWEST} labelled requests are too few.*each side needs {FEWEST}"):
        fitted(NumberedEmbedder(wrong=True), requests("right", FEWEST))


def test_a_label_that_names_no_tool_is_refused() -> None:
    with pytest.raises(QueryError, match="tol3"):
        fitted(NumberedEmbedder(wrong=True), [*requests("right"), Query(id="x", query="word3", tools=("tol3",))])


@pytest.mark.parametrize(("k", "held_out", "message"), [(0, 0.4, "k must"), (5, 0.0, "share"), (5, 1.0, "share")])
def test_options_out_of_range_are_refused(k: int, held_out: float, message: str) -> None:
    tools = catalog()
    with pytest.raises(ValueError, match=message):
        fit_weights(Retriever(tools, HashEmbedder()), requests("right"), tools, k=k, held_out=held_out)


def test_the_report_is_json() -> None:
    report, _ = fitted(NumberedEmbedder(wrong=True), requests("right"))
    read = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert read["adopted"] and set(read["measures"]) == {"recall@1", "recall@5", "recall@10", "mrr"}


@pytest.mark.anyio
async def test_a_router_fits_its_retriever_without_blocking_the_loop() -> None:
    tools = catalog()
    router = Router(tools, embedder=NumberedEmbedder(wrong=True))
    report = await router.fit(requests("right"), k=1)
    assert report.adopted
    assert (await router.route("request word4 #4", k=1)).ranking == ("tool4",)


def test_a_router_fits_without_a_loop_too() -> None:
    assert Router(catalog(), embedder=NumberedEmbedder(wrong=True)).fit_sync(requests("right"), k=1).adopted


def test_a_retriever_of_ones_own_has_no_weights_to_fit() -> None:
    tools = catalog()
    with pytest.raises(RoutingError, match="WordSearch has no weights"):
        Router(tools, retriever=WordSearch(tools)).fit_sync(requests("right"))
