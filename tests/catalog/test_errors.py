"""Errors: the table, the data that a model sees, and hints."""

from __future__ import annotations

import pytest
from toolpath.catalog import ERROR_TABLE, ErrorInfo, RetryAdvice, ToolError, ToolFormatError
from toolpath.catalog.errors import did_you_mean


@pytest.mark.parametrize("error_type", ERROR_TABLE)
def test_every_error_type_says_whether_another_attempt_makes_sense(error_type: str) -> None:
    shown = ErrorInfo(error_type=error_type, message="m").model_dump(mode="json")
    assert shown["retry"] == ERROR_TABLE[error_type].retry
    assert shown["retryable"] == (ERROR_TABLE[error_type].retry is not RetryAdvice.NO)
    assert shown["category"] == ERROR_TABLE[error_type].category


def test_an_unknown_error_type_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown error_type 'oops'; known: "):
        ToolError("m", "oops")


def test_an_error_survives_the_way_through_data() -> None:
    error = ToolError("gone", "not_found", fields={"id": "unknown"}, retry_after=2.0)
    again = ToolError.from_info(error.info)
    assert (str(again), again.error_type, again.info) == ("gone", "not_found", error.info)


@pytest.mark.parametrize(
    ("source", "index", "field", "text"),
    [
        ("a.jsonl", 3, "name", "a.jsonl, line 3, field 'name': bad"),
        ("a.json", 3, "", "a.json, entry 3: bad"),
        ("", None, "", "bad"),
    ],
)
def test_a_format_error_says_where(source: str, index: int | None, field: str, text: str) -> None:
    assert str(ToolFormatError("bad", source=source, index=index, field=field)) == text


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("lgos", ["logs", "metrics"], " (did you mean 'logs'?)"),
        ("qq", ["q"], " (did you mean 'q'?)"),
        ("nothing", ["logs"], ""),
        ("x", [], ""),
        ("aab", ["aaa", "aac", "aad", "aae"], " (did you mean 'aae' or 'aad' or 'aac'?)"),
        ("aab", ["aaa", "aaa"], " (did you mean 'aaa'?)"),
    ],
)
def test_near_names_are_suggested(name: str, known: list[str], hint: str) -> None:
    assert did_you_mean(name, known) == hint


@pytest.mark.parametrize("typo", ["refund_ordre", "reund_order", "refundorder", "refund_order_", "Refund_Order"])
def test_a_near_name_is_found_among_many(typo: str) -> None:
    verbs, nouns = ("get", "list", "close"), ("order", "user", "refund")
    crowd = [f"{verb}_{noun}_{i}" for i in range(50) for verb in verbs for noun in nouns]
    assert "'refund_order'" in did_you_mean(typo, [*crowd, "refund_order"])
