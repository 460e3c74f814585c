"""The measures against their definitions, written out naively."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toolpath.router.evaluation.metrics import (
    Rank,
    auroc,
    auroc_interval,
    complete_at,
    percentile,
    ratio,
    ratio_intervals,
    recall_at,
    reciprocal_rank,
)

ranks_of_a_request = st.lists(st.none() | st.integers(1, 20), min_size=1, max_size=6)
fits = st.lists(st.sampled_from([0.0, 0.2, 0.25, 0.9, 1.0]), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("ranks", "k", "recall", "complete"),
    [
        ([1], 1, 1.0, 1.0),
        ([2], 1, 0.0, 0.0),
        ([2], 2, 1.0, 1.0),
        ([1, None], 5, 0.5, 0.0),
        ([1, 3, 7, None], 3, 0.5, 0.0),
        ([1, 3], 3, 1.0, 1.0),
        ([None], 10, 0.0, 0.0),
    ],
)
def test_recall_and_completeness(ranks: list[Rank], k: int, recall: float, complete: float) -> None:
    assert recall_at(ranks, k) == recall
    assert complete_at(ranks, k) == complete


@pytest.mark.parametrize(("ranks", "value"), [([1], 1.0), ([4], 0.25), ([None, 5, 2], 0.5), ([None], 0.0)])
def test_the_reciprocal_rank_is_that_of_the_first_gold_tool(ranks: list[Rank], value: float) -> None:
    assert reciprocal_rank(ranks) == value


@given(ranks_of_a_request, st.integers(1, 20))
def test_recall_grows_with_k_and_completeness_never_exceeds_it(ranks: list[Rank], k: int) -> None:
    assert 0 <= recall_at(ranks, k) <= recall_at(ranks, k + 1) <= 1
    assert complete_at(ranks, k) <= recall_at(ranks, k)


def test_a_ratio_without_anything_to_divide_by_is_unknown() -> None:
    assert ratio(np.array([1.0, 2.0]), np.array([2.0, 2.0])) == 0.75
    assert ratio(np.zeros(3), np.zeros(3)) is None


@given(fits, fits)
def test_auroc_is_the_share_of_pairs_in_the_right_order(positive: list[float], negative: list[float]) -> None:
    wins = sum((p > n) + (p == n) / 2 for p in positive for n in negative)
    expected = wins / (len(positive) * len(negative))
    assert auroc(np.array(positive), np.array(negative)) == pytest.approx(expected)


def test_auroc_needs_both_sides() -> None:
    some, nothing = np.array([0.5]), np.array([])
    assert auroc(some, nothing) is None
    assert auroc(nothing, some) is None
    assert auroc_interval(some, nothing) is None
    assert auroc_interval(nothing, some) is None


def test_intervals_are_those_of_a_plain_bootstrap() -> None:
    random = np.random.default_rng(3)
    found = random.random(200)
    (interval,) = ratio_intervals(found[:, None], np.ones((200, 1)))
    assert interval is not None
    means = [found[random.integers(0, 200, 200)].mean() for _ in range(4_000)]
    assert interval == pytest.approx(np.percentile(means, [2.5, 97.5]), abs=0.01)


def test_the_auroc_interval_is_that_of_a_plain_bootstrap() -> None:
    random = np.random.default_rng(5)
    positive, negative = random.normal(1, 1, 80), random.normal(0, 1, 40)
    interval = auroc_interval(positive, negative)
    assert interval is not None
    scores, labels = np.r_[positive, negative], np.r_[np.ones(80), np.zeros(40)].astype(bool)
    draws = [random.integers(0, 120, 120) for _ in range(1_500)]
    values = [auroc(scores[draw][labels[draw]], scores[draw][~labels[draw]]) for draw in draws]
    assert interval == pytest.approx(np.percentile(np.array(values, float), [2.5, 97.5]), abs=0.015)


def test_intervals_repeat_with_the_seed_and_move_with_it() -> None:
    found = np.random.default_rng(1).random((50, 2))
    ones = np.ones((50, 2))
    assert ratio_intervals(found, ones, seed=4) == ratio_intervals(found, ones, seed=4)
    assert ratio_intervals(found, ones, seed=4) != ratio_intervals(found, ones, seed=5)


def test_a_measure_that_never_varies_has_no_width() -> None:
    assert ratio_intervals(np.ones((10, 1)), np.ones((10, 1))) == [(1.0, 1.0)]
    assert ratio_intervals(np.ones((1, 1)), np.ones((1, 1))) == [(1.0, 1.0)]


def test_a_measure_that_no_request_counts_towards_has_no_interval() -> None:
    intervals = ratio_intervals(np.zeros((10, 2)), np.c_[np.zeros(10), np.ones(10)])
    assert intervals == [None, (0.0, 0.0)]


def test_resamples_without_a_single_counting_request_are_passed_over() -> None:
    numerators, denominators = np.zeros((3, 1)), np.zeros((3, 1))
    numerators[0] = denominators[0] = 1.0
    assert ratio_intervals(numerators, denominators) == [(1.0, 1.0)]


@settings(max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=40))
def test_an_interval_lies_within_the_range_of_its_values(values: list[float]) -> None:
    (interval,) = ratio_intervals(np.array(values)[:, None], np.ones((len(values), 1)))
    assert interval is not None
    low, high = interval
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9


def test_percentiles_of_latencies() -> None:
    assert percentile([1.0, 2.0, 3.0], 50) == 2.0
    assert percentile([0.0, 10.0], 95) == pytest.approx(9.5)
    assert percentile([], 50) is None
