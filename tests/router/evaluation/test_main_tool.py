"""Scoring the main tool of a request and what it needs apart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from toolpath.router import Candidate
from toolpath.router.evaluation import Fate, Outcome, Query, QueryError, judge, load_queries, resolve_names
from toolpath.router.evaluation.scores import score

from .builders import decision, letters, query


def outcome(tools: str, main: str | None, found: str, closure: str = "", calls: str = "a") -> Outcome:
    catalog = letters()
    made = replace(
        decision(found, calls), closure=tuple(Candidate(catalog.get(name), -9.0, needed_by=("a",)) for name in closure)
    )
    return judge(query(tools, main_tool=main), made, catalog)


def test_the_main_tool_and_what_it_needs_are_scored_apart() -> None:
    scores = score(
        [
            outcome("abc", "a", "ad", "bc"),
            outcome("abcd", "a", "ea", "b", calls="e"),
            outcome("a", "a", "ab"),
            outcome("cd", None, "ef", calls="e"),
        ],
        (1, 3),
    )
    assert scores["main.recall@1"] == pytest.approx(2 / 3)
    assert scores["main.recall@3"] == 1.0
    assert scores["closure.recall"] == pytest.approx((1 + 1 / 3) / 2)
    assert scores["closure.complete"] == 0.5
    assert scores["closure.offered"] == pytest.approx((4 + 3 + 2) / 3)
    assert scores.counts["main.queries"] == 3
    assert scores.to_dict()["closure"]["offered"] == 3.0


def test_offering_more_does_not_help_the_main_tool() -> None:
    hidden = outcome("ab", "a", "cd", "ab", calls="c")
    scores = score([hidden], (1, 3))
    assert scores["main.recall@1"] == 0.0 and scores["main.recall@3"] == 1.0
    assert scores["closure.recall"] == 1.0


def test_a_needed_tool_that_was_offered_is_lost_by_the_selection() -> None:
    fates = {gold.name: gold.fate for gold in outcome("abc", "a", "a", "b").gold}
    assert fates == {"a": Fate.CHOSEN, "b": Fate.LOST_BY_SELECTION, "c": Fate.LOST_BY_RETRIEVAL}


def test_without_main_tools_there_is_nothing_to_say() -> None:
    scores = score([outcome("ab", None, "ab")], (1,))
    assert scores["main.recall@1"] is None and scores["closure.recall"] is None and scores["closure.offered"] is None


def test_a_rows_main_tool_is_read_and_must_be_among_its_tools(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    row = {"id": "1", "query": "go", "tools": ["a", "b"], "main_tool": "b"}
    file.write_text(json.dumps(row))
    assert load_queries(file)[0].main_tool == "b"
    file.write_text(json.dumps(row | {"main_tool": "c"}))
    with pytest.raises(QueryError, match="'main_tool': 'c' is not among the row's tools"):
        load_queries(file)
    file.write_text(json.dumps(row | {"main_tool": None}))
    assert load_queries(file)[0].main_tool is None


def test_an_aliased_main_tool_is_resolved() -> None:
    from toolpath.catalog import Catalog, Tool

    catalog = Catalog([Tool(name="mail.send", aliases=("send",))])
    resolved = resolve_names([Query("1", "go", ("send",), main_tool="send")], catalog)
    assert resolved[0].main_tool == "mail.send"
