"""Expressions of strangers: the useful ones work, the dangerous ones are refused."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toolpath.catalog import ToolError

from examples.incident.handlers.safe_regex import compile_safely


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"waited \d+ ms", "WAITED 4000 ms"),
        (r"error.*pool.*orders", "ERROR: no connection, pool 'orders'"),
        (r"timeout|refused|reset", "connection refused"),
        (r"colou?r", "color"),
        (r"[a-z*+(){}|?]{3} \(x\)\*", "abc (x)*"),
        (r"\d{4}-\d{2}-\d{2}", "2025-11-18"),
        (r"(?:GET|POST) /checkout", "post /checkout"),
        (r"a.*?b", "a-b"),
        (r"a{2", "xa{2"),
        (r"[\]\[|&*+]{2} \|\|", "]* ||"),
    ],
)
def test_what_people_write_is_compiled(pattern: str, text: str) -> None:
    assert compile_safely(pattern, "query").search(text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "[",
        "*",
        "(a+)+b",
        "(x*)*",
        "(?:a{2,}){3}",
        "(a|a)*b",
        "((a+))+",
        "x+x+x+y",
        ".*.*.*=",
        "a" * 400,
        "(a|a)" * 12,
        "a?" * 25 + "a" * 25,
        "(?P<n>a)(?P<n>b)",
        "(?<=a*)b",
        "[[a]",
        "[[\\",
        "[2||",
        "[a--b]",
    ],
)
def test_what_is_wrong_or_dangerous_is_refused(pattern: str) -> None:
    with pytest.raises(ToolError) as caught:
        compile_safely(pattern, "query")
    assert caught.value.error_type == "validation_error"
    assert "query" in caught.value.info.fields


@settings(deadline=None)
@given(st.text("ab.*+?|()[]{},2\\d^$", max_size=30))
def test_what_is_let_through_ends_soon(pattern: str) -> None:
    try:
        compiled = compile_safely(pattern, "query")
    except ToolError:
        return
    started = time.perf_counter()
    compiled.search("ab" * 30 + "a" * 60)
    assert time.perf_counter() - started < 5
