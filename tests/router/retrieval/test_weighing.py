"""Choosing weights from the arms' raw scores, and keeping them beside an index."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.catalog.errors import IndexMismatchError
from toolpath.router.records import Intent
from toolpath.router.retrieval import FusionWeights, Retriever, open_retriever
from toolpath.router.retrieval.weighing import (
    WEIGHTS,
    Evidence,
    Objective,
    choose_weights,
    load_weights,
    save_weights,
    strongest,
)

from .conftest import RecordingEmbedder

NOTHING = np.full(4, np.nan)


def evidence(dense: list[float], lexical: list[float], gold: int, *, known: float = 1.0) -> Evidence:
    """One request over four tools of which `gold` is the one wanted."""
    return Evidence(np.arange(4), np.array(dense), np.array(lexical), NOTHING, known, (), (frozenset([gold]),))


WORDS_ARE_RIGHT = [evidence([2.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0], gold=2)] * 3
MEANING_IS_RIGHT = [evidence([1.0, 0.0, 0.0, 0.0], [0.0, 9.0, 0.0, 0.0], gold=0)] * 3
FIRST = Objective(k=1)


def test_words_get_more_weight_where_words_are_right() -> None:
    chosen = choose_weights(WORDS_ARE_RIGHT, FusionWeights(), FIRST)
    assert chosen.lexical > FusionWeights().lexical
    assert FIRST(WORDS_ARE_RIGHT, chosen) == (1.0, 1.0)


def test_words_get_less_weight_where_meaning_is_right() -> None:
    chosen = choose_weights(MEANING_IS_RIGHT, FusionWeights(), FIRST)
    assert chosen.lexical < FusionWeights().lexical
    assert FIRST(MEANING_IS_RIGHT, chosen) == (1.0, 1.0)


def test_a_weight_moves_no_further_than_the_gain_asks() -> None:
    assert choose_weights(WORDS_ARE_RIGHT, FusionWeights(lexical=0.5), FIRST).lexical == 1.0


def test_weights_that_cannot_be_bettered_stay() -> None:
    weights = FusionWeights(lexical=0.123)
    found_anyway = [evidence([2.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], gold=0)]
    assert choose_weights(found_anyway, weights, FIRST) == weights


def test_the_weight_for_unknown_languages_moves_only_where_there_are_such_requests() -> None:
    misled = evidence([2.0, 0.0, 0.0, 0.0], [0.0, 0.001, 0.0, 0.0], gold=1, known=0.0)
    assert choose_weights([misled], FusionWeights(), FIRST).dense_unknown < FusionWeights().dense_unknown
    known = choose_weights([replace(misled, known_share=1.0)], FusionWeights(), FIRST)
    assert known.dense_unknown == FusionWeights().dense_unknown


def test_a_catalog_without_vectors_of_parameters_gets_no_weight_for_them() -> None:
    parameters = np.array([0.0, 0.9, 0.0, 0.0])
    one = replace(evidence([0.01, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], gold=1), parameters=parameters)
    start = FusionWeights(parameters=0.0)
    assert choose_weights([one], start, FIRST).parameters > 0
    assert choose_weights([one], start, FIRST, with_parameters=False).parameters == 0


def test_the_best_tools_of_either_arm_are_kept_and_those_without_a_vector_are_not_preferred() -> None:
    cosines, lexical = np.array([np.nan, 0.1, 0.9, 0.2]), np.array([0.0, 5.0, 0.0, 0.0])
    assert strongest(cosines, lexical, depth=1).tolist() == [1, 2]
    assert strongest(cosines, lexical, np.array([True, False, False, True]), depth=1).tolist() == [0, 3]


REQUESTS = ["weather in Oslo", "money back for order 7", "e-mail somebody", "查询天气", "give_back", "parcel order_id"]


@pytest.mark.parametrize(
    "weights",
    [FusionWeights(), FusionWeights(lexical=0.0), FusionWeights(dense=0.1, lexical=2.0, parameters=0.4)],
)
@pytest.mark.parametrize("languages", [(), ("en",)])
def test_the_ranks_from_evidence_are_those_of_a_search(
    catalog: Catalog, weights: FusionWeights, languages: tuple[str, ...]
) -> None:
    retriever = Retriever(catalog, RecordingEmbedder(languages=languages))
    names = [tool.name for tool in catalog]
    found = retriever.evidence(REQUESTS, [[[name] for name in names]] * len(REQUESTS))
    retriever.weights = weights
    for request, one in zip(REQUESTS, found, strict=True):
        ranking = [candidate.name for candidate in retriever.search(request, len(names))]
        assert one.ranks(weights, pool=20) == [ranking.index(name) + 1 for name in names]


def test_evidence_keeps_to_what_stage_1_keeps(catalog: Catalog, embedder: RecordingEmbedder) -> None:
    retriever = Retriever(catalog, embedder)
    wanted = [[["get_weather"], ["refund_order"]]]
    only = retriever.evidence(["weather"], wanted, [Intent(categories=("shop",))])[0]
    assert only.ranks(FusionWeights(), 20)[0] is None
    named = retriever.evidence(["weather"], wanted, [Intent(exact=("refund_order",))])[0]
    assert named.ranks(FusionWeights(), 20) == [2, 1]


def test_trying_other_weights_embeds_nothing(catalog: Catalog, embedder: RecordingEmbedder) -> None:
    retriever = Retriever(catalog, embedder)
    found = retriever.evidence(REQUESTS, [[["get_weather"]]] * len(REQUESTS))
    texts = len(embedder.tools), len(embedder.queries)
    choose_weights(found, retriever.weights, Objective())
    assert (len(embedder.tools), len(embedder.queries)) == texts == (len(embedder.tools), len(REQUESTS))


def test_saved_weights_are_used_by_whoever_opens_the_index(
    catalog: Catalog, embedder: RecordingEmbedder, tmp_path: Path
) -> None:
    assert open_retriever(catalog, tmp_path, embedder).weights == FusionWeights()
    save_weights(tmp_path, FusionWeights(lexical=0.7), embedder.fingerprint)
    assert open_retriever(catalog, tmp_path, embedder).weights == FusionWeights(lexical=0.7)
    assert open_retriever(catalog, tmp_path, embedder, rebuild=True).weights == FusionWeights(lexical=0.7)
    assert not list(tmp_path.glob("weights-*"))


def test_weights_for_another_model_are_never_used(
    catalog: Catalog, embedder: RecordingEmbedder, tmp_path: Path
) -> None:
    open_retriever(catalog, tmp_path, embedder)
    save_weights(tmp_path, FusionWeights(lexical=0.7), "another model")
    with pytest.raises(IndexMismatchError, match=r"another embedding model .*toolpath fit"):
        open_retriever(catalog, tmp_path, embedder)
    assert open_retriever(catalog, tmp_path, embedder, rebuild=True).weights == FusionWeights()


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        json.dumps({"kind": "something else"}),
        json.dumps({"kind": "toolpath weights", "fingerprint": "x"}),
        json.dumps({"kind": "toolpath weights", "fingerprint": "x", "weights": {"lexical": "0.2"}}),
        json.dumps({"kind": "toolpath weights", "fingerprint": "x", "weights": {"lexcal": 0.2}}),
    ],
)
def test_a_damaged_file_of_weights_is_refused_with_advice(content: str, tmp_path: Path) -> None:
    (tmp_path / WEIGHTS).write_text(content)
    with pytest.raises(IndexMismatchError, match=r"cannot be read .*toolpath fit"):
        load_weights(tmp_path, "x")


def test_no_file_means_no_weights(tmp_path: Path) -> None:
    assert load_weights(tmp_path, "x") is None


def test_a_tool_that_the_evidence_lost_counts_as_not_found() -> None:
    lost = replace(WORDS_ARE_RIGHT[0], gold=(frozenset([2]), frozenset([99])))
    assert lost.ranks(FusionWeights(lexical=2.5), 20) == [1, None]
    assert Objective(k=1)([lost], FusionWeights(lexical=2.5)) == (0.5, 1.0)


def test_a_tool_added_after_the_fit_is_found_with_the_new_weights(
    catalog: Catalog, embedder: RecordingEmbedder
) -> None:
    retriever = Retriever(catalog, embedder)
    retriever.weights = FusionWeights(lexical=1.0)
    catalog.add(Tool(name="book_flight", description="Books a seat on a plane."))
    assert retriever.search("book a seat", 1)[0].name == "book_flight"
