"""Where a gold tool ends up, which stage is blamed, and which tools count as confused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import ToolCall
from toolpath.router import Intent
from toolpath.router.evaluation import Fate, judge
from toolpath.router.evaluation.outcomes import confusions

from .builders import LETTERS, decision, letters, outcome, query


def test_ranks_follow_the_calls_and_then_the_candidates() -> None:
    judged = outcome("abj", found="cab", calls="b")
    assert [(gold.name, gold.rank) for gold in judged.gold] == [("a", 3), ("b", 1), ("j", None)]


@pytest.mark.parametrize(
    ("found", "calls", "kept", "fate"),
    [
        ("ab", "a", ("x",), Fate.CHOSEN),
        ("ba", "b", ("x",), Fate.LOST_BY_SELECTION),
        ("ba", "", ("x",), Fate.LOST_BY_REFUSAL),
        ("bc", "b", ("x",), Fate.LOST_BY_RETRIEVAL),
        ("bc", "", ("x",), Fate.LOST_BY_RETRIEVAL),
        ("bc", "b", ("y",), Fate.LOST_BY_INTENT),
        ("bc", "b", (), Fate.LOST_BY_RETRIEVAL),
        ("ab", "b", ("y",), Fate.LOST_BY_SELECTION),
    ],
)
def test_the_first_stage_that_lost_a_gold_tool_is_blamed(
    found: str, calls: str, kept: tuple[str, ...], fate: Fate
) -> None:
    catalog = letters({"a": "x", "b": "y", "c": "y"})
    judged = judge(query("a"), decision(found, calls, catalog=catalog, intent=Intent(categories=kept)), catalog)
    assert [gold.fate for gold in judged.gold] == [fate]


def test_an_alternative_counts_as_the_tool_it_stands_for() -> None:
    judged = outcome("a", found="cb", calls="b", alternatives=(("b",),))
    assert [(gold.rank, gold.fate) for gold in judged.gold] == [(1, Fate.CHOSEN)]
    assert judged.wrong == ()
    assert judged.ok


def test_stage_1_is_not_blamed_while_it_keeps_an_alternative() -> None:
    catalog = letters({"a": "x", "b": "y", "c": "z"})
    narrowed = decision("c", "c", catalog=catalog, intent=Intent(categories=("y", "z")))
    judged = judge(query("a", alternatives=(("b",),)), narrowed, catalog)
    assert [gold.fate for gold in judged.gold] == [Fate.LOST_BY_RETRIEVAL]


def test_a_row_is_right_only_when_every_gold_tool_and_nothing_else_is_called() -> None:
    assert outcome("ab", "abc", "ba").ok
    assert not outcome("ab", "abc", "a").ok
    assert not outcome("ab", "abc", "abc").ok
    assert outcome("", "abc", "").ok
    assert not outcome("", "abc", "a").ok


def test_a_wrong_call_is_confused_with_the_gold_tool_it_replaced() -> None:
    judged = [
        outcome("a", "ba", "b", id="1", query="first"),
        outcome("a", "ba", "b", id="2"),
        outcome("c", "d", "d", id="3"),
    ]
    pairs = [(pair.gold, pair.predicted, pair.count, pair.example_id, pair.example) for pair in confusions(judged)]
    assert pairs == [("a", "b", 2, "1", "first"), ("c", "d", 1, "3", "please")]


def test_what_is_no_confusion() -> None:
    judged = [
        outcome("ab", "ab", "a"),
        outcome("a", "ab", "ab"),
        outcome("a", "ab", ""),
        outcome("", "ab", "a"),
    ]
    assert confusions(judged) == ()


def test_lost_and_wrong_tools_of_one_row_are_paired_in_order() -> None:
    pairs = confusions([outcome("abc", "adef", "afe")])
    assert {(pair.gold, pair.predicted) for pair in pairs} == {("b", "f"), ("c", "e")}


def test_an_outcome_becomes_one_line_of_json() -> None:
    call = ToolCall(tool="b", arguments={"x": "é"})
    row = outcome("a", "ba", [call], alternatives=(("b",),), args=({"x": "é"},), id="7")
    data = json.loads(json.dumps(row.to_dict()))
    assert data["id"] == "7"
    assert data["ok"] is True
    assert data["gold"] == [{"tool": "a", "rank": 1, "fate": "chosen"}]
    assert data["calls"] == [{"tool": "b", "arguments": {"x": "é"}}]
    assert data["arguments"] == {"compared": 1, "right": 1}


some_letters = st.lists(st.sampled_from(LETTERS), unique=True).map("".join)


@given(some_letters.filter(bool), some_letters, st.data())
def test_a_fate_agrees_with_the_rank(gold: str, found: str, data: st.DataObject) -> None:
    calls = "".join(data.draw(st.lists(st.sampled_from(found), unique=True))) if found else ""
    for entry in outcome(gold, found, calls).gold:
        assert (entry.rank is None) == (entry.fate in (Fate.LOST_BY_INTENT, Fate.LOST_BY_RETRIEVAL))
        assert (entry.fate is Fate.CHOSEN) == (entry.rank is not None and entry.rank <= len(calls))
