"""Labelled requests: what a row wants, and which rows are chosen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import Catalog, Tool
from toolpath.router.evaluation import Query, QueryError, resolve_names, sample, where_fields

from .builders import letters, query


def test_gold_tools_are_distinct_and_unite_their_alternatives() -> None:
    gold = query("aba", alternatives=(("c",), (), ("d",))).gold
    assert [(entry.name, set(entry.accepted)) for entry in gold] == [("a", {"a", "c", "d"}), ("b", {"b"})]


def test_names_that_the_catalog_lacks_are_listed_with_their_rows() -> None:
    queries = [
        query("a", where="f, line 1"),
        Query(id="2", query="x", tools=("get_wether", "a"), where="f, line 2"),
        query("a", candidates=("a", "zz"), where="f, line 3"),
        query("a", alternatives=(("yy",),), where="f, line 4"),
    ]
    catalog = Catalog([*letters(), Tool(name="get_weather")])
    with pytest.raises(QueryError) as caught:
        resolve_names(queries, catalog)
    message = str(caught.value)
    assert "name 3 tools that the catalog of 11 tools does not have" in message
    assert "'get_wether' (f, line 2) (did you mean 'get_weather'?)" in message
    assert "'zz' (f, line 3)" in message
    assert "'yy' (f, line 4)" in message


def test_a_long_list_of_unknown_names_is_cut() -> None:
    with pytest.raises(QueryError, match="and 15 more"):
        resolve_names([Query(id="1", query="x", tools=tuple(f"unknown{n}" for n in range(25)))], letters())


def test_aliases_become_the_names_of_their_tools() -> None:
    catalog = Catalog([Tool(name="mail.send", aliases=("send_mail",)), Tool(name="b")])
    row = Query(
        id="1", query="x", tools=("send_mail",), alternatives=(("b", "send_mail"),), candidates=("send_mail", "b")
    )
    (resolved,) = resolve_names([row], catalog)
    assert resolved.tools == ("mail.send",)
    assert resolved.alternatives == (("b", "mail.send"),)
    assert resolved.candidates == ("mail.send", "b")


def test_no_candidates_stay_apart_from_an_empty_list_of_them() -> None:
    resolved = resolve_names([query("a"), query(candidates=())], letters())
    assert [row.candidates for row in resolved] == [None, ()]


ROWS = [
    query("a", id="1", fields={"split": "dev", "level": 3, "hard": True, "tags": ["x", "y"]}),
    query("a", id="2", fields={"split": "dev", "level": None}),
    query("a", id="3", fields={"split": "held_out", "tags": ["y"]}),
]


@pytest.mark.parametrize(
    ("conditions", "ids"),
    [
        ({"split": "dev"}, ["1", "2"]),
        ({"split": "dev", "level": "3"}, ["1"]),
        ({"hard": "true"}, ["1"]),
        ({"tags": "y"}, ["1", "3"]),
        ({}, ["1", "2", "3"]),
    ],
)
def test_requests_are_kept_by_field(conditions: dict[str, str], ids: list[str]) -> None:
    assert [row.id for row in where_fields(ROWS, conditions)] == ids


def test_a_value_that_nothing_has_lists_those_there_are() -> None:
    with pytest.raises(QueryError, match="no request has split=test; values there: dev, held_out"):
        where_fields(ROWS, {"split": "test"})


def test_an_unknown_field_lists_those_there_are() -> None:
    with pytest.raises(QueryError, match=r"no request has a field 'splt' \(did you mean 'split'\?\); fields: hard"):
        where_fields(ROWS, {"splt": "dev"})


@given(st.integers(1, 60), st.integers(1, 80), st.integers(0, 3))
def test_a_sample_is_a_repeatable_part_in_the_old_order(count: int, size: int, seed: int) -> None:
    rows = [query("a", id=str(number)) for number in range(count)]
    drawn = sample(rows, size, seed)
    assert len(drawn) == min(count, size)
    assert drawn == sample(rows, size, seed)
    assert [int(row.id) for row in drawn] == sorted({int(row.id) for row in drawn})


def test_a_sample_of_nothing_is_an_error() -> None:
    with pytest.raises(QueryError, match="at least 1"):
        sample(ROWS, 0)
