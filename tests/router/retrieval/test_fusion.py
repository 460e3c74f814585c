"""The arithmetic of putting arms together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from toolpath.router.retrieval.fusion import SMALLEST_SPREAD, FusionWeights, exact_first, fuse, leading, standardise

COSINES = arrays(np.float32, st.integers(0, 30), elements=st.floats(-1, 1, width=32))


def test_standardised_scores_have_mean_zero_and_spread_one() -> None:
    scores = standardise(np.array([0.1, 0.3, 0.5, 0.9]))
    assert scores.mean() == pytest.approx(0, abs=1e-6)
    assert scores.std() == pytest.approx(1)


@pytest.mark.parametrize("scores", [[], [0.7], [0.4, 0.4, 0.4], [np.nan, np.nan], [0.4, 0.4 + 1e-7]])
def test_scores_that_say_nothing_stay_near_zero(scores: list[float]) -> None:
    assert np.abs(standardise(np.array(scores))).max(initial=0) < 1e-3


def test_two_look_alikes_are_not_blown_apart() -> None:
    assert np.abs(standardise(np.array([0.500, 0.501]))).max() < 0.001 / SMALLEST_SPREAD


def test_unknown_scores_become_average_and_do_not_move_the_others() -> None:
    with_gap = standardise(np.array([0.1, np.nan, 0.5]))
    assert with_gap[1] == 0
    assert with_gap[[0, 2]] == pytest.approx(standardise(np.array([0.1, 0.5])))


@given(COSINES)
def test_standardising_never_reorders_and_never_overflows(scores: np.ndarray) -> None:
    standard = standardise(scores)
    assert np.isfinite(standard).all()
    assert (np.diff(standard[np.argsort(scores, kind="stable")]) >= 0).all()


def test_words_decide_when_the_embedder_does_not_know_the_language() -> None:
    dense, lexical = np.array([0.9, 0.1, 0.1, 0.1]), np.array([0.0, 6.0, 0.0, 0.0])
    assert fuse(standardise(dense), lexical, 1.0, FusionWeights()).argmax() == 0
    assert fuse(standardise(dense), lexical, 0.0, FusionWeights()).argmax() == 1


def test_meaning_decides_when_no_word_matches_even_in_an_unknown_language() -> None:
    dense, lexical = np.array([0.1, 0.2, 0.7]), np.zeros(3)
    assert fuse(standardise(dense), lexical, 0.0, FusionWeights()).argmax() == 2


def test_a_half_known_request_gets_a_weight_in_between() -> None:
    weights = FusionWeights(dense=0.8, dense_unknown=0.2)
    assert weights.dense_for(0.5) == pytest.approx(0.8 * 0.25 + 0.2 * 0.75)  # by the square of the share


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_a_weight_that_makes_no_sense_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="lexical"):
        FusionWeights(lexical=value)


@given(st.lists(st.integers(0, 4), max_size=30), st.integers(1, 10), st.data())
def test_leading_is_a_stable_sort_cut_off(values: list[int], k: int, data: st.DataObject) -> None:
    scores = np.array(values, np.float32)
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))), bool)
    expected = sorted(range(len(values)), key=lambda place: -values[place])
    assert leading(scores, k) == expected[:k]
    assert leading(scores, k, allowed) == [place for place in expected if allowed[place]][:k]


def test_named_tools_come_first_in_the_order_they_were_named() -> None:
    assert exact_first([3, 1, 2], [2, 9, 2]) == [2, 9, 3, 1]


def test_weights_survive_json_and_unknown_ones_are_refused() -> None:
    weights = FusionWeights(dense=1, lexical=0.45)
    assert FusionWeights.from_dict(weights.to_dict()) == weights
    assert FusionWeights.from_dict({"lexical": 0.45}) == FusionWeights(lexical=0.45)
    with pytest.raises(ValueError, match=r"no weights called lexcal; weights: dense, dense_unknown, lexical"):
        FusionWeights.from_dict({"lexcal": 0.45})
    with pytest.raises(ValueError, match="lexical"):
        FusionWeights.from_dict({"lexical": "0.45"})
