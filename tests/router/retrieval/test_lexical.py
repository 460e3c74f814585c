"""BM25: the formula, and counting that never drifts from a fresh count."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.router.retrieval import lexical
from toolpath.router.retrieval.lexical import K1, B, LexicalIndex

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=8)
CHANGES = st.lists(st.tuples(st.sampled_from(["k1", "k2", "k3", "k4"]), st.none() | WORDS), max_size=30)


def scored(index: LexicalIndex, terms: list[str]) -> dict[str, float]:
    scores = index.scores(terms)
    return {key: float(scores[index.row(key)]) for key in ("k1", "k2", "k3", "k4") if key in index}


def test_a_score_is_what_the_formula_says() -> None:
    index = LexicalIndex()
    index.put("k1", ["refund", "refund", "order"])
    index.put("k2", ["order"])
    rarity = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    expected = rarity * 2 * (K1 + 1) / (2 + K1 * (1 - B + B * 3 / 2))
    assert scored(index, ["refund"]) == pytest.approx({"k1": expected, "k2": 0})


def test_a_repeated_word_of_the_request_counts_once() -> None:
    index = LexicalIndex()
    index.put("k1", ["refund"])
    assert scored(index, ["refund", "refund"]) == scored(index, ["refund"])


def test_a_rare_word_outweighs_one_that_every_tool_has() -> None:
    index = LexicalIndex()
    for key in ("k1", "k2", "k3"):
        index.put(key, ["get", "refund"] if key == "k2" else ["get", "weather"])
    assert scored(index, ["refund"])["k2"] > 5 * scored(index, ["get"])["k2"] > 0


def test_nothing_matches_in_an_empty_index_or_for_unknown_words() -> None:
    index = LexicalIndex()
    assert index.scores(["word"]).shape == (0,)
    index.put("k1", ["word"])
    assert scored(index, ["other"]) == scored(index, []) == {"k1": 0}


def test_a_tool_without_words_can_be_kept() -> None:
    index = LexicalIndex()
    index.put("k1", [])
    assert scored(index, ["word"]) == {"k1": 0}


def test_matching_words_come_rarest_first() -> None:
    index = LexicalIndex()
    index.put("k1", ["get", "refund"])
    index.put("k2", ["get"])
    assert index.matching(["k2", "k1"], ["get", "refund", "weather"]) == [["get"], ["refund", "get"]]


def test_a_removed_key_is_no_longer_matched_or_counted() -> None:
    index = LexicalIndex()
    index.put("k1", ["a"])
    index.put("k2", ["a", "b"])
    assert index.remove("k1") and not index.remove("k1")
    alone = LexicalIndex()
    alone.put("k2", ["a", "b"])
    assert scored(index, ["a"]) == pytest.approx(scored(alone, ["a"]))
    with pytest.raises(KeyError):
        index.row("k1")


@given(CHANGES, WORDS, st.booleans())
def test_any_history_of_changes_scores_like_a_fresh_index(
    changes: list[tuple[str, list[str] | None]], request_words: list[str], merged: bool
) -> None:
    index, state = LexicalIndex(), dict[str, list[str]]()
    for key, words in changes:
        if words is None:
            assert index.remove(key) == (state.pop(key, None) is not None)
        else:
            index.put(key, words)
            state[key] = words
    if merged:
        index.merge()
    fresh = LexicalIndex()
    for key, words in state.items():
        fresh.put(key, words)
    assert len(index) == len(state)
    assert scored(index, request_words) == pytest.approx(scored(fresh, request_words), abs=1e-5)
    for words, found in zip(state.values(), index.matching(list(state), request_words), strict=True):
        assert set(found) == set(words) & set(request_words)


@given(CHANGES, WORDS)
def test_an_index_survives_being_taken_apart(
    changes: list[tuple[str, list[str] | None]], request_words: list[str]
) -> None:
    index = LexicalIndex()
    for key, words in changes:
        index.remove(key) if words is None else index.put(key, words)
    restored = LexicalIndex.from_arrays(index.to_arrays())
    assert scored(restored, request_words) == pytest.approx(scored(index, request_words))
    restored.put("k1", ["fresh"])
    assert scored(restored, ["fresh"])["k1"] > 0


def test_many_changes_are_merged_on_the_way_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "MERGE_AT", 10)
    index = LexicalIndex()
    for at in range(500):
        index.put(f"k{at % 5}", ["same", f"word{at}"])
    assert len(index.scores(["same"])) < 50
    keys = ["k0", "k1", "k2", "k3", "k4"]
    assert index.matching(keys, ["same"]) == [["same"]] * 5


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    index = LexicalIndex()
    index.put("k1", ["a"])
    with pytest.raises(ValueError, match="fit together"):
        LexicalIndex.from_arrays({**index.to_arrays(), "lengths": np.zeros(3, np.float32)})
