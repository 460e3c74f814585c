"""Arguments against accepted values and against a label's own values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import ToolCall
from toolpath.router.evaluation.arguments import (
    ArgumentScore,
    is_accepted,
    same_value,
    score_accepted,
    score_calls,
    score_given,
)

from .builders import query

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "accepted", "right"),
    [
        ("Oslo", ["Bergen", "Oslo"], True),
        ("oslo,  norway", ["Oslo, Norway"], True),
        ("2024/05/01", ["2024-05-01"], True),
        ("Ｏｓｌｏ", ["Oslo"], True),
        ("it's", ['it"s'], True),
        ("Rome", ["Oslo"], False),
        ("-", ["."], False),
        (5, [5.0], True),
        (0.1 + 0.2, [0.3], True),
        (5, [6], False),
        ("5", [5], False),
        (1, [True], False),
        (True, [1], False),
        (True, [True], True),
        (None, [None], True),
        (None, ["x"], False),
        ([1, 2], [[1, 2]], True),
        ([2, 1], [[1, 2]], False),
        ([1], [[1, 2]], False),
        (["apple", "ms"], [["AAPL"], ["Apple", "MS"]], True),
        ({"size": "L"}, [{"size": ["L", "large"], "milk": ["oat", ""]}], True),
        ({"size": "L", "milk": "soy"}, [{"size": ["L"], "milk": ["oat", ""]}], False),
        ({"milk": "oat"}, [{"size": ["L"], "milk": ["oat", ""]}], False),
        ({"size": "L", "extra": 1}, [{"size": ["L"]}], False),
        ([{"name": "A"}, {"name": "b"}], [[{"name": ["a"]}, {"name": ["c", "b"]}]], True),
        ([{"name": "A"}], [[{"name": ["a"]}, {"name": ["b"]}]], False),
        ("plain", "plain", True),
        ("L", [{"size": ["L"]}], False),
    ],
)
def test_a_value_is_held_against_its_accepted_values(value: Any, accepted: Any, right: bool) -> None:
    assert is_accepted(value, accepted) is right


@pytest.mark.parametrize(
    ("arguments", "accept", "expected"),
    [
        ({"city": "Oslo"}, {"city": ["Oslo"], "unit": ["C", ""]}, (1, 1, 1)),
        ({"city": "Oslo", "unit": "C"}, {"city": ["Oslo"], "unit": ["C", ""]}, (1, 2, 2)),
        ({"city": "Oslo", "unit": "F"}, {"city": ["Oslo"], "unit": ["C", ""]}, (0, 2, 1)),
        ({"unit": "C"}, {"city": ["Oslo"], "unit": ["C", ""]}, (0, 2, 1)),
        ({"city": "Oslo", "made_up": 1}, {"city": ["Oslo"]}, (0, 2, 1)),
        ({}, {}, (1, 0, 0)),
        ({}, {"flag": [True, ""]}, (1, 0, 0)),
        ({}, {"name": [None]}, (0, 1, 0)),
        ({"text": ""}, {"text": ["", "x"]}, (1, 1, 1)),
    ],
)
def test_a_call_is_held_against_accepted_values(
    arguments: dict[str, Any], accept: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    exact, compared, right = expected
    assert score_accepted(arguments, accept) == ArgumentScore(1, exact, compared, right)


@pytest.mark.parametrize(
    ("arguments", "gold", "expected"),
    [
        ({"city": "oslo", "anything": 1}, {"city": "Oslo"}, (1, 1, 1)),
        ({"city": "Rome"}, {"city": "Oslo", "days": 3}, (0, 2, 0)),
        ({"filter": {"status": "open", "more": 1}}, {"filter": {"status": "open"}}, (1, 1, 1)),
        ({"filter": {}}, {"filter": {"status": "open"}}, (0, 1, 0)),
        ({"tags": ["a", "b"]}, {"tags": ["a", "b"]}, (1, 1, 1)),
        ({"text": "x"}, {"text": ""}, (0, 1, 0)),
        ({}, {}, (1, 0, 0)),
    ],
)
def test_only_the_keys_of_a_plain_label_are_compared(
    arguments: dict[str, Any], gold: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    exact, compared, right = expected
    assert score_given(arguments, gold) == ArgumentScore(1, exact, compared, right)


@given(json_values)
def test_every_value_is_the_same_as_itself(value: Any) -> None:
    assert same_value(value, value)


@given(st.dictionaries(st.text(), json_values.filter(lambda value: value not in ({}, [])), max_size=4))
def test_a_label_is_right_against_itself_and_wrong_with_a_key_missing(gold: dict[str, Any]) -> None:
    assert score_given(gold, gold).exact == 1
    for name in gold:
        less = {key: value for key, value in gold.items() if key != name}
        assert score_given(less, gold) == ArgumentScore(1, 0, len(gold), len(gold) - 1)


def call(tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(tool=tool, arguments=arguments)


def test_accepted_values_go_before_plain_ones() -> None:
    row = query("a", args=({"city": "Oslo"},), args_accept=({"city": ["Rome"]},))
    assert score_calls(row, [call("a", city="Rome")]).exact == 1
    assert score_calls(row, [call("a", city="Oslo")]).exact == 0


def test_a_row_without_labelled_arguments_scores_nothing() -> None:
    assert score_calls(query("a"), [call("a", x=1)]) == ArgumentScore()
    assert score_calls(query("a", args=(None,)), [call("a", x=1)]) == ArgumentScore()


def test_a_call_of_a_wrong_tool_scores_nothing() -> None:
    assert score_calls(query("a", args=({"x": 1},)), [call("b", x=1)]) == ArgumentScore()


def test_an_alternative_is_scored_like_the_tool_it_stands_for() -> None:
    row = query("a", alternatives=(("b",),), args=({"x": 1},))
    assert score_calls(row, [call("b", x=1)]) == ArgumentScore(1, 1, 1, 1)


def test_repeated_calls_of_one_tool_are_paired_whatever_their_order() -> None:
    row = query("aa", args=({"city": "Oslo"}, {"city": "Rome"}))
    assert score_calls(row, [call("a", city="Rome"), call("a", city="Oslo")]) == ArgumentScore(2, 2, 2, 2)


def test_one_call_answers_one_gold_call_only() -> None:
    row = query("aa", args=({"city": "Oslo"}, {"city": "Oslo"}))
    assert score_calls(row, [call("a", city="Oslo")]) == ArgumentScore(1, 1, 1, 1)


def test_of_several_calls_the_best_one_answers() -> None:
    row = query("a", args=({"x": 1, "y": 2},))
    calls = [call("a", x=1, y=0), call("a", x=1, y=2), call("a")]
    assert score_calls(row, calls) == ArgumentScore(1, 1, 2, 2)
