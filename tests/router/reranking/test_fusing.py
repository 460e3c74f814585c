"""Two judges, one order."""

from collections.abc import Callable

import numpy as np
import pytest
from toolpath.router import Candidate
from toolpath.router.reranking import reranked
from toolpath.router.reranking.fusing import left_alone, movable

Found = Callable[..., list[Candidate]]


def names(candidates: list[Candidate]) -> list[str]:
    return [candidate.name for candidate in candidates]


def test_weight_one_follows_the_reranker_and_weight_zero_the_search(found: Found) -> None:
    candidates = found("a", "b", "c")
    assert names(reranked(candidates, [1, 3, 2], 1)) == ["b", "c", "a"]
    assert names(reranked(candidates, [1, 3, 2], 0)) == ["a", "b", "c"]


def test_between_them_both_have_a_say_whatever_the_scale_of_the_reranker(found: Found) -> None:
    candidates = found("a", "b", "c")
    for scale in (1e-3 * 1_000, 1.0, 1e4):
        assert names(reranked(candidates, [0, 2 * scale, 0], 0.5)) == ["b", "a", "c"]


def test_the_joined_scores_keep_the_mean_and_spread_of_the_search(found: Found) -> None:
    candidates = found("a", "b", "c", "d")
    scores = [one.score for one in reranked(candidates, [0, 500, 20, 100], 0.7)]
    before = [one.score for one in candidates]
    assert np.mean(scores) == pytest.approx(np.mean(before))
    assert np.std(scores) == pytest.approx(np.std(before))


def test_equal_scores_of_both_leave_the_order(found: Found) -> None:
    level = [Candidate(one.tool, 1.0) for one in found("a", "b", "c")]
    assert names(reranked(level, [2, 2, 2], 0.5)) == ["a", "b", "c"]


def test_where_the_search_cannot_tell_the_reranker_decides(found: Found) -> None:
    level = [Candidate(one.tool, 1.0) for one in found("a", "b", "c")]
    ranked = reranked(level, [1, 2, 3], 0.5)
    assert names(ranked) == ["c", "b", "a"]
    assert ranked[0].score > ranked[1].score > ranked[2].score


def test_tools_that_the_request_names_stay_in_front(found: Found) -> None:
    candidates = found("a", "b", "c", "d", named=("a", "b"))
    ranked = reranked(candidates, [1, 2], 1)
    assert names(ranked) == ["a", "b", "d", "c"]
    assert "rerank" not in ranked[0].parts


def test_what_lies_deeper_follows_in_its_order_and_scores_never_rise(found: Found) -> None:
    candidates = found("a", "b", "c", "d", "e", named=("c",))
    ranked = reranked(candidates, [-9, 9], 1, depth=2)
    assert names(ranked) == ["c", "b", "a", "d", "e"]
    scores = [one.score for one in ranked]
    assert scores == sorted(scores, reverse=True)


def test_each_candidate_says_where_it_came_from(found: Found) -> None:
    ranked = reranked(found("a", "b", "c", named=("a",)), [1, 2], 1)
    assert [one.reasons for one in ranked] == [(), ("reranker: from 3 to 2",), ("reranker: from 2 to 3",)]
    assert reranked(found("a", "b"), [2, 1], 1)[0].reasons == ("reranker: kept at 1",)


def test_a_single_movable_tool_is_not_worth_reading(found: Found) -> None:
    assert movable(found("a", "b", named=("a",)), 5) == []
    candidates = found("a")
    assert reranked(candidates, [], 1) == candidates


def test_scores_that_do_not_fit_the_candidates_are_refused(found: Found) -> None:
    with pytest.raises(ValueError, match="3 candidates"):
        reranked(found("a", "b", "c"), [1.0], 1)


def test_left_alone_changes_nothing_but_the_reasons(found: Found) -> None:
    candidates = found("a", "b")
    same = left_alone(candidates, "no power")
    assert [(one.name, one.score, one.parts) for one in same] == [(o.name, o.score, o.parts) for o in candidates]
    assert same[0].reasons == ("not reranked: no power",)
