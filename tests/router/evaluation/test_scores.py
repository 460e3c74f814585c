"""The numbers of a set of requests: which requests count towards which, and that the losses add up."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toolpath.catalog import ToolCall
from toolpath.router.evaluation import Fate, Outcome
from toolpath.router.evaluation.scores import score

from .builders import LETTERS, outcome

CUTOFFS = (1, 3, 5)


def test_recall_is_the_mean_over_answerable_requests_of_the_share_found() -> None:
    scores = score([outcome("a", "abc", "a"), outcome("ab", "cab", "c"), outcome("", "abc", "a")], CUTOFFS)
    assert scores.queries == 3
    assert scores.answerable == 2
    assert scores["recall@1"] == 0.5
    assert scores["recall@3"] == 1.0
    assert scores["complete@1"] == 0.5
    assert scores["mrr"] == pytest.approx((1 + 1 / 2) / 2)


def test_the_refused_ranking_still_counts_for_recall_and_is_reported_apart() -> None:
    scores = score([outcome("a", "abc", "")], CUTOFFS)
    assert scores["recall@1"] == 1.0
    assert scores["stages.chosen"] == 0.0
    assert scores["stages.lost_by_refusal"] == 1.0
    assert scores["abstention.false_refusal_rate"] == 1.0


some_letters = st.lists(st.sampled_from(LETTERS), unique=True).map("".join)
some_outcomes = st.lists(
    st.builds(
        lambda gold, found, called: outcome(gold, found, found[:called]),
        some_letters,
        some_letters,
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=40)
@given(some_outcomes)
def test_what_was_chosen_and_what_each_stage_lost_add_up(outcomes: list[Outcome]) -> None:
    scores = score(outcomes, CUTOFFS)
    shares = [scores[f"stages.{fate.value}"] for fate in Fate]
    if scores.answerable:
        assert sum(share for share in shares if share is not None) == pytest.approx(1)
    else:
        assert shares == [None] * len(Fate)


def test_abstention_is_scored_over_the_right_requests() -> None:
    outcomes = [
        outcome("", "ab", "", confidence=0.9),
        outcome("", "ab", "", confidence=0.8),
        outcome("", "ab", "a", confidence=0.7),
        outcome("a", "ab", "", confidence=0.7),
        outcome("a", "ab", "a", confidence=0.9),
        outcome("a", "ab", "b", confidence=0.6),
        outcome("a", "ab", "a", confidence=0.8),
    ]
    scores = score(outcomes, CUTOFFS)
    assert scores["abstention.precision"] == pytest.approx(2 / 3)
    assert scores["abstention.recall"] == pytest.approx(2 / 3)
    assert scores["abstention.false_refusal_rate"] == pytest.approx(1 / 4)
    assert scores["abstention.auroc"] == pytest.approx(10 / 12)
    assert scores.counts["abstention.none_queries"] == 3
    assert scores.counts["abstention.abstained"] == 3
    assert scores.counts["abstention.false_refusals"] == 1


def test_arguments_are_scored_over_right_calls_only() -> None:
    def asked(tool: str, **arguments: int) -> Outcome:
        return outcome("a", "ab", [ToolCall(tool=tool, arguments=arguments)], args=({"x": 1, "y": 2},))

    scores = score([asked("a", x=1, y=2), asked("a", x=1), asked("b", x=1, y=2), outcome("a", "ab", "a")], CUTOFFS)
    assert scores["arguments.exact"] == 0.5
    assert scores["arguments.per_argument"] == 0.75
    assert scores.counts["arguments.calls"] == 2


def test_measures_without_requests_are_unknown_and_have_no_interval() -> None:
    scores = score([outcome("", "ab", "a")], CUTOFFS)
    for name in ("recall@5", "mrr", "stages.chosen", "abstention.precision", "abstention.auroc", "arguments.exact"):
        assert scores[name] is None
        assert name not in scores.intervals
    assert scores["abstention.recall"] == 0.0


def test_values_lie_in_their_intervals() -> None:
    outcomes = [outcome("a", "ab" if number % 3 else "ba", "a" if number % 3 else "b") for number in range(60)]
    outcomes += [outcome("", "ab", "" if number % 2 else "a", confidence=number / 20) for number in range(20)]
    scores = score(outcomes, CUTOFFS)
    for name in ("recall@1", "mrr", "stages.lost_by_selection", "abstention.recall", "abstention.auroc"):
        low, high = scores.intervals[name]
        value = scores[name]
        assert value is not None
        assert low < value < high


def test_scores_become_flat_keys_and_groups() -> None:
    data = json.loads(json.dumps(score([outcome("a", "ab", "a"), outcome("", "ab", "")], CUTOFFS).to_dict()))
    assert data["recall@5"] == 1.0
    assert data["intervals"]["recall@5"] == [1.0, 1.0]
    assert data["abstention"]["recall"] == 1.0
    assert data["abstention"]["none_queries"] == 1
    assert data["stages"]["chosen"] == 1.0
    assert data["arguments"]["exact"] is None
