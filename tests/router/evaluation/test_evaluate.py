"""The whole measurement: a scripted retriever behind a real router, and a real retriever where it matters."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

import pytest
from toolpath.catalog import Catalog, Tool, ToolCall
from toolpath.catalog.errors import EmbedderError
from toolpath.router import Candidate, HashEmbedder, Intent, Retriever, Router, Selection
from toolpath.router.embedding import TextKind, Vectors
from toolpath.router.evaluation import Query, QueryError, evaluate, evaluate_sync

from .builders import letters, query


class Scripted:
    """Finds the letters of a request in their order, among those that the intent keeps."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.batches: list[int] = []

    def search(self, request: str, k: int, intent: Intent | None = None) -> list[Candidate]:
        return self.search_many([request], k, None if intent is None else [intent])[0]

    def search_many(
        self, requests: Sequence[str], k: int, intents: Sequence[Intent] | None = None
    ) -> list[list[Candidate]]:
        self.batches.append(len(requests))
        kept = intents if intents is not None else [Intent()] * len(requests)
        return [
            [
                Candidate(tool, -place)
                for place, name in enumerate(dict.fromkeys(request))
                if (tool := self.catalog.find(name)) is not None and intent.keeps(tool)
            ][:k]
            for request, intent in zip(requests, kept, strict=True)
        ]


class KeepsAll:
    """A stage 1 without opinions."""

    def classify(self, request: str) -> Intent:
        return Intent(parts=(request,))


class Exclaimed:
    """Takes the first candidate, but refuses a request with an exclamation mark."""

    async def select(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
        if not candidates or "!" in request:
            return Selection(abstained=True, confidence=0.8)
        return Selection((ToolCall(tool=candidates[0].name),), confidence=0.9)


def scripted(catalog: Catalog | None = None) -> Router:
    catalog = catalog if catalog is not None else letters()
    return Router(catalog, retriever=Scripted(catalog), classifier=KeepsAll(), selector=Exclaimed())


def rows(*texts_and_tools: tuple[str, str], **fields: object) -> list[Query]:
    return [query(tools, id=str(place), query=text, **fields) for place, (text, tools) in enumerate(texts_and_tools)]


@pytest.mark.anyio
async def test_a_router_is_scored_end_to_end() -> None:
    report = await evaluate(scripted(), rows(("ab", "a"), ("ba", "a"), ("cd!", ""), ("cd", "")))
    assert report["recall@1"] == 0.5
    assert report["recall@3"] == 1.0
    assert report["abstention.recall"] == 0.5
    assert report["abstention.precision"] == 1.0
    assert report["abstention.auroc"] == 0.75
    assert [(pair.gold, pair.predicted) for pair in report.confused] == [("a", "b")]
    assert [outcome.query.id for outcome in report.outcomes] == ["0", "1", "2", "3"]
    assert report.tools == 10
    assert report.catalog_digest == letters().digest


@pytest.mark.parametrize(
    ("k", "cutoffs"), [(10, (1, 3, 5, 10)), (5, (1, 3, 5)), (4, (1, 3, 4)), (1, (1,)), (20, (1, 3, 5, 10, 20))]
)
def test_recall_is_given_as_far_as_candidates_reach(k: int, cutoffs: tuple[int, ...]) -> None:
    report = evaluate_sync(scripted(), rows(("ab", "a")), k=k)
    assert report.cutoffs == cutoffs
    assert {f"recall@{n}" for n in cutoffs} == {name for name in report.scores.values if name.startswith("recall@")}


def test_no_request_is_routed_twice() -> None:
    router = scripted()
    done: list[tuple[int, int]] = []
    queries = rows(*[("ab", "a")] * 400)
    report = evaluate_sync(router, queries, latency_sample=20, progress=lambda *step: done.append(step))
    assert isinstance(router.retriever, Scripted)
    assert sum(router.retriever.batches) == 400
    assert router.retriever.batches[:21] == [1] * 21
    assert len(report.latencies) == 20
    assert done[0] == (0, 400)
    assert done[-1] == (400, 400)
    assert done == sorted(done)


def test_fewer_requests_than_the_latency_sample() -> None:
    report = evaluate_sync(scripted(), rows(("ab", "a"), ("ba", "b")))
    assert len(report.latencies) == 1
    assert report.p50 == report.p95 == report.latencies[0]


def test_a_single_request_gives_no_latency() -> None:
    report = evaluate_sync(scripted(), rows(("ab", "a")))
    assert report.to_dict()["latency_ms"]["p50"] is None


def test_the_same_requests_give_the_same_numbers() -> None:
    queries = rows(*[("ab", "a"), ("ba", "a"), ("cd!", ""), ("ca", "a")] * 10)
    first, second = (evaluate_sync(scripted(), queries).to_dict() for _ in range(2))
    del first["latency_ms"], second["latency_ms"]
    assert first == second


def test_candidates_restrict_every_request_to_its_own() -> None:
    queries = [
        query("b", id="1", query="ab", candidates=("b", "c")),
        query("", id="2", query="ab", candidates=()),
    ]
    report = evaluate_sync(scripted(), queries, candidates=True)
    assert report["recall@1"] == 1.0
    assert report["abstention.recall"] == 1.0
    assert report.outcomes[0].decision.ranking == ("b",)
    assert evaluate_sync(scripted(), queries)["recall@1"] == 0.0


def test_an_unanswerable_request_holds_against_its_own_candidates_only() -> None:
    queries = [
        query("", id="1", query="ab", candidates=("j",)),
        query("", id="2", query="ab"),
        query("a", id="3", query="ba", candidates=("a",)),
    ]
    report = evaluate_sync(scripted(), queries)
    assert [outcome.within_candidates for outcome in report.outcomes] == [True, False, False]
    assert [outcome.decision.abstained for outcome in report.outcomes] == [True, False, False]
    assert report.scores.counts["abstention.none_queries_within_candidates"] == 1


def test_requests_without_candidates_are_left_out_and_counted() -> None:
    queries = [query("a", id="1", query="a", candidates=("a",)), query("a", id="2", query="b")]
    report = evaluate_sync(scripted(), queries, candidates=True)
    assert report.scores.queries == 1
    assert report.left_out == {"without candidates": 1}
    with pytest.raises(QueryError, match="none of them has candidates"):
        evaluate_sync(scripted(), queries[1:], candidates=True)


def test_a_gold_tool_outside_the_candidates_is_an_error() -> None:
    row = query("a", candidates=("b",), where="f, line 3")
    with pytest.raises(QueryError, match="f, line 3: the gold tool 'a' is not among the candidates"):
        evaluate_sync(scripted(), [row], candidates=True)


def test_an_alternative_among_the_candidates_is_enough() -> None:
    row = query("a", query="bc", candidates=("b", "c"), alternatives=(("b",),))
    assert evaluate_sync(scripted(), [row], candidates=True)["recall@1"] == 1.0


def test_nothing_to_score_is_an_error() -> None:
    with pytest.raises(QueryError, match="no request is left"):
        evaluate_sync(scripted(), [])


def test_unknown_gold_names_are_an_error_before_anything_is_routed() -> None:
    router = scripted()
    with pytest.raises(QueryError, match="'zz'"):
        evaluate_sync(router, [Query(id="1", query="a", tools=("zz",))])
    assert isinstance(router.retriever, Scripted)
    assert router.retriever.batches == []


def test_scores_are_broken_down_by_a_field() -> None:
    queries = [
        query("a", id="1", query="ab", fields={"lang": "en", "hard": True}),
        query("a", id="2", query="ba", fields={"lang": "zh"}),
        query("a", id="3", query="ba", fields={"lang": "zh"}),
        query("", id="4", query="a!", fields={}),
    ]
    report = evaluate_sync(scripted(), queries, by=["lang", "hard"])
    assert list(report.by["lang"]) == ["zh", "(none)", "en"]
    assert report.by["lang"]["en"]["recall@1"] == 1.0
    assert report.by["lang"]["zh"]["recall@1"] == 0.0
    assert report.by["lang"]["(none)"]["abstention.recall"] == 1.0
    assert report.by["hard"]["true"].queries == 1
    assert list(evaluate_sync(scripted(), queries).by) == ["lang"]
    assert evaluate_sync(scripted(), rows(("ab", "a"))).by == {}


def test_a_breakdown_by_category_falls_back_to_the_gold_tool() -> None:
    catalog = letters({"a": "mail", "b": "calendar"})
    queries = rows(("ab", "a"), ("ab", "b"), ("c!", ""))
    report = evaluate_sync(scripted(catalog), queries, by=["category"])
    assert set(report.by["category"]) == {"mail", "calendar", "(none)"}
    own = [query("a", query="ab", fields={"category": "mine"})]
    assert list(evaluate_sync(scripted(catalog), own, by=["category"]).by["category"]) == ["mine"]


def test_an_unknown_field_to_break_down_by_is_an_error() -> None:
    with pytest.raises(QueryError, match="no request has a field 'lnag'"):
        evaluate_sync(scripted(), [query("a", query="a", fields={"lang": "en"})], by=["lnag"])


def test_the_report_is_one_json_object() -> None:
    data = json.loads(json.dumps(evaluate_sync(scripted(), rows(("ab", "a"), ("ba", "a"))).to_dict()))
    assert {"recall@1", "recall@5", "mrr", "intervals", "queries", "tools", "catalog_digest", "embedder"} <= set(data)
    assert {"abstention", "stages", "arguments", "tokens", "latency_ms", "confused", "by", "served_by"} <= set(data)
    assert data["confused"] == [{"gold": "a", "predicted": "b", "count": 1, "example": {"id": "1", "query": "ba"}}]
    assert data["tokens"]["shown_per_query"] < data["tokens"]["whole_catalog"]


def test_all_turns_of_the_user_are_routed_as_one_text() -> None:
    queries = [query("b", id="1", query="ac", history=("b", "d")), query("a", id="2", query="a")]
    report = evaluate_sync(scripted(), queries)
    assert [outcome.decision.request for outcome in report.outcomes] == ["b\nd\nac", "a"]
    assert report["recall@1"] == 1.0
    assert report.conversations == 1


TOOLS = [
    Tool(name="refund_order", description="Pays a customer's money back for an order."),
    Tool(name="cancel_order", description="Cancels an order before it is shipped."),
    Tool(name="get_weather", description="Forecast of the weather for a city."),
]


def test_the_real_retriever_keeps_to_the_candidates_even_of_a_tool_named_outright() -> None:
    catalog = Catalog(TOOLS)
    router = Router(catalog, retriever=Retriever(catalog, HashEmbedder()), selector=Exclaimed())
    queries = [
        Query(id="1", query="refund_order", tools=("cancel_order",), candidates=("cancel_order", "get_weather")),
        Query(id="2", query="please use refund_order now", expect_none=True, candidates=()),
        Query(id="3", query="what is the weather in Oslo", tools=("get_weather",), candidates=("get_weather",)),
    ]
    report = evaluate_sync(router, queries, candidates=True)
    assert [set(outcome.decision.ranking) for outcome in report.outcomes] == [
        {"cancel_order", "get_weather"},
        set(),
        {"get_weather"},
    ]
    assert "HashEmbedder" in report.embedder


class Broken(HashEmbedder):
    """A model that has gone missing."""

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        raise EmbedderError("the model is gone")


def test_a_failing_embedder_ends_the_measurement_instead_of_spoiling_it() -> None:
    catalog = Catalog(TOOLS)
    router = Router(catalog, retriever=Retriever(catalog, Broken()))
    with pytest.raises(EmbedderError, match="the model is gone"):
        evaluate_sync(router, [Query(id="1", query="refund", tools=("refund_order",))])


def test_importing_the_scoring_loads_no_model_library() -> None:
    code = (
        "import sys, toolpath.router.evaluation; "
        "print(sorted({'torch', 'faiss', 'sentence_transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
