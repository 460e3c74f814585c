"""Query files: what is read, and what is refused with which message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from toolpath.router.evaluation import QueryError, load_queries

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
        ("[" * 100_000, "nested too deeply"),
        ('{"id": "1", "n": ' + "9" * 5_000 + "}", "4300 digits"),
        ('{"id": "1", "id": "2"}', "the key 'id' is there twice"),
        ('{"id": "1", "query": "a", "tools": ["a"], "lang": NaN}', "NaN is not a JSON number"),
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


def test_half_a_surrogate_pair_is_refused_where_it_is(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"line 1, field 'query': holds an unpaired surrogate"):
        load_queries(write(tmp_path, '{"id": "1", "query": "\\ud800", "tools": ["a"]}'))
