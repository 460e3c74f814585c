"""Query files: what is read, and what is refused with which message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import Catalog, Tool
from toolpath.router.evaluation import Query, QueryError, load_queries, resolve_names, sample, where_fields

from .builders import letters, query

GOOD = {"id": "1", "query": "hello", "tools": ["a"]}


def write(path: Path, *rows: Any) -> Path:
    file = path / "queries.jsonl"
    file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return file


def test_a_full_row_is_read(tmp_path: Path) -> None:
    row = {
        "id": 7,
        "query": "退款 ☂",
        "tools": ["a", "b", "a"],
        "tools_alt": [["c"], None, []],
        "args": [{"x": 1}, None, {}],
        "args_accept": [{"x": [1, ""]}, {}, None],
        "candidates": ["a", "b"],
        "lang": "zh",
        "history": [
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": "which?"},
            {"role": "user", "content": "second"},
        ],
        "depends": [[0, 1]],
        "split": "dev",
    }
    (read,) = load_queries(write(tmp_path, row))
    assert read.id == "7"
    assert read.query == "退款 ☂"
    assert read.tools == ("a", "b", "a")
    assert read.alternatives == (("c",), (), ())
    assert read.args == ({"x": 1}, None, {})
    assert read.args_accept == ({"x": [1, ""]}, {}, None)
    assert read.candidates == ("a", "b")
    assert read.history == ("first", "second")
    assert read.fields["split"] == "dev"
    assert read.fields["depends"] == [[0, 1]]
    assert not read.expect_none


def test_gold_tools_are_distinct_and_unite_their_alternatives() -> None:
    gold = query("aba", alternatives=(("c",), (), ("d",))).gold
    assert [(entry.name, set(entry.accepted)) for entry in gold] == [("a", {"a", "c", "d"}), ("b", {"b"})]


def test_a_folder_means_its_query_file(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    assert [read.id for read in load_queries(tmp_path)] == ["1"]


def test_byte_order_mark_blank_lines_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n\r\n  \n")
    assert len(load_queries(file)) == 1


def test_a_line_separator_inside_a_text_ends_no_row(tmp_path: Path) -> None:
    line = json.dumps({**GOOD, "query": "one\u2028two\x85three"}, ensure_ascii=False)
    assert load_queries(write(tmp_path, line))[0].query == "one\u2028two\x85three"


def test_a_row_that_no_tool_serves_needs_no_tools(tmp_path: Path) -> None:
    (read,) = load_queries(write(tmp_path, {"id": "n", "query": "a poem", "expect_none": True}))
    assert read.expect_none
    assert read.gold == ()


@pytest.mark.parametrize(
    ("row", "field", "message"),
    [
        ({"query": "x", "tools": ["a"]}, "id", "is missing"),
        ({**GOOD, "id": True}, "id", "must be a string, is a boolean"),
        ({"id": "1", "tools": ["a"]}, "query", "is missing"),
        ({**GOOD, "query": " \n"}, "query", "is blank"),
        ({**GOOD, "query": ["x"]}, "query", "must be a string, is a list"),
        ({"id": "1", "query": "x"}, "tools", "is missing"),
        ({**GOOD, "tools": []}, "tools", '"expect_none": true'),
        ({**GOOD, "tools": "a"}, "tools", "must be a list of names, is a string"),
        ({**GOOD, "tools": ["a", ""]}, "tools", "holds an empty string"),
        ({**GOOD, "tools": [1]}, "tools", "holds a number"),
        ({**GOOD, "expect_none": True}, "tools", "must be empty"),
        ({**GOOD, "expect_none": "yes"}, "expect_none", "must be true or false"),
        ({**GOOD, "tools_alt": [["b"], ["c"]]}, "tools_alt", "1 entries expected, has 2"),
        ({**GOOD, "tools_alt": ["b"]}, "tools_alt", "must be a list of names"),
        ({**GOOD, "args": {"x": 1}}, "args", "must be a list, is an object"),
        ({**GOOD, "args": ["x"]}, "args", "holds a string"),
        ({**GOOD, "args_accept": [[1]]}, "args_accept", "holds a list"),
        ({**GOOD, "candidates": "a"}, "candidates", "must be a list of names"),
        ({**GOOD, "history": ["hi"]}, "history", "must list turns"),
        ({**GOOD, "history": [{"role": "user"}]}, "history", "must list turns"),
    ],
)
def test_a_malformed_row_names_file_line_and_field(tmp_path: Path, row: Any, field: str, message: str) -> None:
    file = write(tmp_path, {**GOOD, "id": "before"}, "", row)
    with pytest.raises(QueryError) as caught:
        load_queries(file)
    assert str(caught.value).startswith(f"{file}, line 3, field {field!r}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "expected a JSON object, got a list"),
        ("null", "expected a JSON object, got null"),
        ("[" * 100_000, "not JSON"),
        ('{"id": "1", "query": "\\ud800", "tools": ["a"]}', "surrogate"),
    ],
)
def test_a_line_that_is_no_object_names_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(QueryError, match=r"queries\.jsonl, line 1: ") as caught:
        load_queries(write(tmp_path, line))
    assert message in str(caught.value)


def test_a_repeated_id_names_both_lines(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"line 3, field 'id': '1' stands already in .*line 1"):
        load_queries(write(tmp_path, GOOD, {**GOOD, "id": "2"}, GOOD))


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="holds no requests"):
        load_queries(write(tmp_path, "", " "))


def test_a_missing_file_and_a_folder_without_one_are_errors(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="cannot read"):
        load_queries(tmp_path / "nowhere.jsonl")
    with pytest.raises(QueryError, match=r"the folder holds no queries\.jsonl"):
        load_queries(tmp_path)


def test_bytes_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_bytes(b'{"id": "\xff"}')
    with pytest.raises(QueryError, match="not UTF-8 text: byte 8"):
        load_queries(file)


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
