"""What a search finds, why, and how it follows the catalog."""

import gc
import math
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.catalog.errors import EmbedderError
from toolpath.router.reachability import check_reachability
from toolpath.router.records import Candidate, Intent
from toolpath.router.retrieval import FusionWeights, Retriever
from toolpath.router.retrieval import retriever as retriever_module
from toolpath.router.retrieval.text import tool_text

from .conftest import RecordingEmbedder, order_parameters
from .plain_index import PlainIndex


def names(candidates: list[Candidate]) -> list[str]:
    return [candidate.name for candidate in candidates]


@pytest.fixture
def retriever(catalog: Catalog, embedder: RecordingEmbedder) -> Retriever:
    return Retriever(catalog, embedder)


def test_the_fitting_tool_comes_first_with_its_score_parts_and_reasons(retriever: Retriever) -> None:
    best, *others = retriever.search("where is my parcel with order id 17?", 3)
    assert best.name == "track_parcel"
    assert set(best.parts) == {"dense", "standing", "lead", "lexical", "covered", "unknown", "parameters"}
    assert best.parts["lexical"] > 0 and -1 <= best.parts["dense"] <= 1
    assert best.reasons == ("words: parcel, order, id", "best parameter: order_id")
    assert all(best.score > other.score for other in others)


def test_a_chinese_request_finds_the_chinese_tool(retriever: Retriever) -> None:
    assert retriever.search("明天北京天气怎么样", 1)[0].name == "查询天气"


def test_at_most_k_candidates_are_returned_best_first(retriever: Retriever) -> None:
    found = retriever.search("order", 3)
    assert len(found) == 3
    assert [candidate.score for candidate in found] == sorted((c.score for c in found), reverse=True)
    assert len(retriever.search("order", 99)) == 5


def test_many_requests_give_what_each_gives_alone(retriever: Retriever, embedder: RecordingEmbedder) -> None:
    requests = [f"mail number {at}" for at in range(70)] + ["refund", "refund"]
    together = retriever.search_many(requests, 2)
    assert sorted(embedder.queries) == sorted(set(requests)), "each distinct request is embedded once"
    assert [names(found) for found in together] == [names(retriever.search(request, 2)) for request in requests]
    assert retriever.search_many([], 2) == []


@pytest.mark.parametrize("request_text", ["", "  \n"])
def test_a_blank_request_finds_nothing(retriever: Retriever, request_text: str) -> None:
    assert retriever.search(request_text, 3) == []


@pytest.mark.parametrize("request_text", ["?!", "🙂", "\ud800", "\x00", "a" * 100_000, "order " * 50_000])
def test_strange_requests_are_answered(retriever: Retriever, request_text: str) -> None:
    assert len(retriever.search(request_text, 3)) == 3


def test_an_empty_catalog_answers_with_nothing(embedder: RecordingEmbedder) -> None:
    retriever = Retriever(Catalog(), embedder)
    assert retriever.search("anything", 3) == []
    assert retriever.refresh() == 0


def test_a_catalog_of_one_tool_offers_it(embedder: RecordingEmbedder) -> None:
    assert names(Retriever(Catalog([Tool(name="only")]), embedder).search("something else", 3)) == ["only"]


def test_tools_that_cannot_be_told_apart_come_in_catalog_order(embedder: RecordingEmbedder) -> None:
    tools = [Tool(name=name, description="The same.") for name in ("b", "a", "d", "c")]
    weights = FusionWeights(dense=0, dense_unknown=0, parameters=0)
    assert names(Retriever(Catalog(tools), embedder, weights=weights).search("same", 3)) == ["b", "a", "d"]


def test_bad_arguments_are_refused(catalog: Catalog, embedder: RecordingEmbedder) -> None:
    with pytest.raises(ValueError, match="k must be at least 1"):
        Retriever(catalog, embedder).search("order", 0)
    with pytest.raises(ValueError, match="2 requests came with 1 intents"):
        Retriever(catalog, embedder).search_many(["a", "b"], 1, [Intent()])
    for deadline in (0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="deadline"):
            Retriever(catalog, embedder, deadline=deadline)


# --- what stage 1 says


def test_an_intent_narrows_to_its_categories_and_to_tools_without_one(retriever: Retriever) -> None:
    found = retriever.search("order", 9, Intent(categories=("weather",)))
    assert sorted(names(found)) == ["get_weather", "send_mail", "查询天气"]


def test_a_tool_named_outright_comes_first_whatever_its_score_and_category(retriever: Retriever) -> None:
    intent = Intent(categories=("weather",), exact=("refund_order",))
    found = retriever.search("weather forecast for the city, not refund_order", 3, intent)
    assert found[0].name == "refund_order"
    assert found[0].parts["exact"] == 1.0
    assert found[0].reasons[0] == "named in the request"
    assert found[0].score >= found[1].score
    assert "exact" not in found[1].parts


def test_nothing_is_found_outside_what_the_caller_allows_not_even_by_name(retriever: Retriever) -> None:
    intent = Intent(exact=("refund_order",), within=frozenset({"send_mail", "get_weather"}))
    assert sorted(names(retriever.search("refund_order", 9, intent))) == ["get_weather", "send_mail"]


@pytest.mark.parametrize("request_text", ["send_mail", " send_mail\n", "give_back"])
def test_a_request_that_is_a_name_or_alias_finds_the_tool_without_an_intent(
    retriever: Retriever, request_text: str
) -> None:
    best = retriever.search(request_text, 1)[0]
    assert best.name == {"give_back": "refund_order"}.get(request_text, "send_mail")
    assert best.parts["exact"] == 1.0


def test_an_exact_name_that_is_not_in_the_catalog_is_passed_over(retriever: Retriever) -> None:
    assert len(retriever.search("order", 2, Intent(exact=("gone",)))) == 2


@pytest.mark.parametrize(
    "intent",
    [
        Intent(categories=("weather",)),
        Intent(categories=("weather", "no such category"), exact=("refund_order", "give_back", "gone")),
        Intent(within=frozenset({"send_mail", "get_weather", "give_back"})),
        Intent(categories=("shop",), exact=("get_weather",), within=frozenset({"get_weather", "send_mail"})),
    ],
)
def test_a_narrowed_search_finds_just_what_the_intent_keeps(
    retriever: Retriever, catalog: Catalog, intent: Intent
) -> None:
    found = retriever.search("order", 9, intent)
    assert sorted(names(found)) == sorted(tool.name for tool in catalog if intent.keeps(tool))


# --- the vector index


def test_another_vector_index_gives_the_same_ranking_whatever_changes(catalog: Catalog, tmp_path: Path) -> None:
    requests = ["where is my parcel", "天气", "order id", "send a mail"]

    def rankings() -> list[list[tuple[str, float]]]:
        return [[(c.name, round(c.score, 4)) for c in found] for found in plain.search_many(requests, 9)]

    plain = Retriever(catalog, RecordingEmbedder(), vectors=PlainIndex)
    for change in (
        lambda: catalog.remove("refund_order"),
        lambda: catalog.add(Tool(name="another_tool", description="Where a parcel is.")),
        lambda: catalog.replace(Tool(name="track_parcel", description="Weather for parcels.")),
        lambda: plain.save(tmp_path),
    ):
        change()
        default = Retriever(catalog, RecordingEmbedder())
        assert rankings() == [[(c.name, round(c.score, 4)) for c in f] for f in default.search_many(requests, 9)]
    loaded = Retriever(catalog, RecordingEmbedder(), vectors=PlainIndex, index=tmp_path)
    expected, plain = rankings(), loaded
    assert rankings() == expected


# --- languages


def test_words_decide_for_a_language_that_the_embedder_does_not_know(catalog: Catalog) -> None:
    retriever = Retriever(catalog, RecordingEmbedder(languages=("en",)))
    best = retriever.search("天气", 1)[0]
    assert best.name == "查询天气"
    assert best.reasons[-1] == "mostly words: the embedder does not know zh"
    assert not any("mostly words" in reason for reason in retriever.search("weather", 1)[0].reasons)


def test_meaning_decides_when_a_foreign_request_shares_no_word_with_any_tool() -> None:
    class Translator(RecordingEmbedder):
        """Knows one fact: the two texts about weather mean the same."""

        def embed(self, texts, kind):  # type: ignore[no-untyped-def]
            about = [any(word in text for word in ("weather", "天气")) for text in texts]
            return np.array([[1, 0] if yes else [0, 1] for yes in about], np.float32)

    tools = [Tool(name="send_mail"), Tool(name="get_weather"), Tool(name="refund_order")]
    found = Retriever(Catalog(tools), Translator(2)).search("今天天气", 1)
    assert names(found) == ["get_weather"]


# --- following the catalog


def test_each_tool_is_embedded_once(retriever: Retriever, embedder: RecordingEmbedder, catalog: Catalog) -> None:
    retriever.search("order", 1)
    retriever.search("weather", 1)
    assert sorted(text for text in embedder.tools if text in {tool_text(tool) for tool in catalog}) == sorted(
        tool_text(tool) for tool in catalog
    )


def test_equal_parameter_texts_are_embedded_once(retriever: Retriever, embedder: RecordingEmbedder) -> None:
    retriever.refresh()
    assert embedder.tools.count("order id: Number of the order") == 1


def test_a_changed_tool_is_embedded_alone_and_found_by_its_new_words(
    retriever: Retriever, embedder: RecordingEmbedder, catalog: Catalog
) -> None:
    retriever.refresh()
    embedder.tools.clear()
    changed = Tool(name="track_parcel", description="Whereabouts of consignments.", parameters=order_parameters())
    catalog.replace(changed)
    best = retriever.search("consignment", 1)[0]
    assert best.tool is changed and best.parts["lexical"] > 0
    assert embedder.tools == [tool_text(changed)]
    assert all(candidate.parts["lexical"] == 0 for candidate in retriever.search("way", 9))


def test_a_change_that_alters_no_text_embeds_nothing_but_is_seen(
    retriever: Retriever, embedder: RecordingEmbedder, catalog: Catalog
) -> None:
    retriever.refresh()
    embedder.tools.clear()
    bound = catalog.bind("send_mail", print)
    assert retriever.search("mail", 1)[0].tool is bound
    assert embedder.tools == []


def test_an_added_tool_is_found_and_a_removed_one_vanishes_at_once(retriever: Retriever, catalog: Catalog) -> None:
    retriever.refresh()
    catalog.add(Tool(name="translate_text", description="Translates between languages."))
    assert retriever.search("translate", 1)[0].name == "translate_text"
    catalog.remove("translate_text")
    assert "translate_text" not in names(retriever.search("translate", 9))
    assert "translate_text" not in names(retriever.search("translate_text", 9, Intent(exact=("translate_text",))))


def test_a_tool_may_be_removed_and_come_back(retriever: Retriever, catalog: Catalog) -> None:
    for _ in range(3):
        gone = catalog.remove("get_weather")
        assert "get_weather" not in names(retriever.search("forecast", 9))
        catalog.add(gone)
        assert retriever.search("forecast", 1)[0].name == "get_weather"


def test_refresh_reports_progress_and_what_it_did(retriever: Retriever) -> None:
    seen: list[tuple[int, int]] = []
    assert retriever.refresh(lambda done, total: seen.append((done, total))) == 5
    assert seen[-1] == (5, 5)
    assert retriever.refresh() == 0


def test_a_catalog_does_not_keep_its_retrievers_alive(catalog: Catalog, embedder: RecordingEmbedder) -> None:
    retriever = Retriever(catalog, embedder)
    retriever.search("order", 1)
    reference = weakref.ref(retriever)
    del retriever
    gc.collect()
    assert reference() is None
    catalog.add(Tool(name="later"))


def test_searching_while_the_catalog_changes_never_mixes_tools_up(catalog: Catalog, retriever: Retriever) -> None:
    stop, wrong = threading.Event(), list[str]()

    def search() -> None:
        while not stop.is_set():
            best = retriever.search("weather forecast for a city", 1)[0].name
            if best != "get_weather":
                wrong.append(best)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for at in range(60):
        catalog.add(Tool(name=f"filler_{at}", description=f"Unrelated thing number {at}."))
        if at % 2:
            catalog.remove(f"filler_{at - 1}")
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert check_reachability(catalog, retriever, 10).complete


# --- when the embedder cannot answer


def test_when_the_embedder_fails_words_alone_decide_and_say_so(
    retriever: Retriever, embedder: RecordingEmbedder
) -> None:
    embedder.failure = EmbedderError("the model is not installed")
    best = retriever.search("where is my parcel", 1)[0]
    assert best.name == "track_parcel"
    assert set(best.parts) == {"lexical", "covered", "unknown"}
    assert best.reasons[-1] == "words only: the model is not installed"
    embedder.failure = None
    assert "dense" in retriever.search("where is my parcel", 1)[0].parts


def test_refresh_and_save_do_not_hide_a_failing_embedder(
    retriever: Retriever, embedder: RecordingEmbedder, tmp_path: object
) -> None:
    embedder.failure = EmbedderError("no model")
    with pytest.raises(EmbedderError, match="no model"):
        retriever.refresh()
    with pytest.raises(EmbedderError, match="no model"):
        retriever.save(f"{tmp_path}/index")


@pytest.mark.parametrize(
    "vectors", [np.full((9, 64), np.nan, np.float32), np.ones((9, 3), np.float32), np.ones((2, 64), np.float32)]
)
def test_unusable_vectors_are_an_error_of_the_embedder(
    catalog: Catalog, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = RecordingEmbedder()
    monkeypatch.setattr(embedder, "embed", lambda texts, kind: vectors[: len(texts)])
    with pytest.raises(EmbedderError, match="the embedder gave"):
        Retriever(catalog, embedder).refresh()


def test_past_the_deadline_words_answer_and_the_embedding_goes_on(catalog: Catalog) -> None:
    go = threading.Event()

    class SlowEmbedder(RecordingEmbedder):
        def embed(self, texts, kind):  # type: ignore[no-untyped-def]
            go.wait(30)
            return super().embed(texts, kind)

    embedder = SlowEmbedder()
    retriever = Retriever(catalog, embedder, deadline=0.01)
    for _ in range(3):
        best = retriever.search("where is my parcel", 1)[0]
        assert best.name == "track_parcel"
        assert best.reasons[-1] == "words only: embedding took longer than 0.01 s"
    go.set()
    retriever.refresh()
    assert len([text for text in embedder.tools if text.startswith("track parcel:")]) == 1


class StallingEmbedder(RecordingEmbedder):
    """Answers at once until it is told to stall."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.go.set()

    def embed(self, texts, kind):  # type: ignore[no-untyped-def]
        assert self.go.wait(30)
        return super().embed(texts, kind)


def test_without_a_deadline_a_warm_model_that_stalls_is_not_waited_for(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = StallingEmbedder()
    retriever = Retriever(catalog, embedder)
    retriever.search("where is my parcel", 1)
    monkeypatch.setattr(retriever_module, "PATIENCE", 0.01)
    monkeypatch.setattr(retriever_module, "PATIENCE_PER_REQUEST", 0.0)
    embedder.go.clear()
    best = retriever.search("where is my parcel", 1)[0]
    assert best.name == "track_parcel"
    assert best.reasons[-1] == "words only: embedding took longer than 0.01 s"
    embedder.go.set()


def test_loading_the_model_and_embedding_new_tools_have_no_deadline_unless_asked_for(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = StallingEmbedder()
    monkeypatch.setattr(retriever_module, "PATIENCE", 1e-9)
    monkeypatch.setattr(retriever_module, "PATIENCE_PER_REQUEST", 0.0)
    for patient in (Retriever(catalog, embedder), Retriever(catalog, embedder, deadline=math.inf)):
        assert "dense" in patient.search("where is my parcel", 1)[0].parts
        catalog.replace(Tool(name="send_mail", description="Posts a letter."))
        assert "dense" in patient.search("post a letter", 1)[0].parts


def test_an_error_that_is_not_the_embedders_is_not_swallowed(
    catalog: Catalog, embedder: RecordingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(texts: object, kind: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(embedder, "embed", broken)
    with pytest.raises(ZeroDivisionError):
        Retriever(catalog, embedder).search("order", 1)


def test_nothing_heavy_is_imported_before_a_model_is_needed() -> None:
    import subprocess

    code = (
        "import sys; from toolpath.catalog import Catalog; from toolpath.router.retrieval import Retriever; "
        "Retriever(Catalog()); print(sorted({'torch', 'faiss', 'sentence_transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
