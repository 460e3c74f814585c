"""Arguments read from the request: what is certain is filled, what is not is missing."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import ArgumentOrigin, Tool
from toolpath.catalog.arguments import validate_arguments
from toolpath.router.selection.extract import extract_call


def tool_with(*required: str, **properties: dict[str, Any]) -> Tool:
    return Tool(name="t", parameters={"properties": properties, "required": list(required)})


def read(
    request: str, *required: str, clock: dt.datetime | None = None, **properties: dict[str, Any]
) -> dict[str, Any]:
    return extract_call(tool_with(*required, **properties), request, (lambda: clock) if clock else None).arguments


INT, NUM, TEXT, BOOL = {"type": "integer"}, {"type": "number"}, {"type": "string"}, {"type": "boolean"}
DATE = {"type": "string", "format": "date"}


def test_the_call_is_marked_and_lists_what_is_missing() -> None:
    call = extract_call(tool_with("to", "body", to=TEXT | {"format": "email"}, body=TEXT), "write to ann@example.com")
    assert call.arguments == {"to": "ann@example.com"}
    assert call.origin is ArgumentOrigin.EXTRACTED and call.missing == ("body",)


def test_the_nearest_name_in_front_wins() -> None:
    text = "a triangle with a base of 10 units and height of 5"
    assert read(text, "base", "height", base=INT, height=INT) == {"base": 10, "height": 5}
    assert read("height 5, base 10", "base", "height", base=INT, height=INT) == {"base": 10, "height": 5}


def test_two_numbers_without_names_are_not_guessed() -> None:
    call = extract_call(tool_with("a_side", "b_side", a_side=INT, b_side=INT), "use 3 and 4")
    assert call.arguments == {} and call.missing == ("a_side", "b_side")


def test_a_value_is_used_once() -> None:
    assert read("a width of 5", width=INT, width_limit=INT) == {"width": 5}


def test_a_single_number_goes_to_the_only_required_number() -> None:
    assert read("the factorial of 5", "number", number=INT, precision=INT) == {"number": 5}
    assert read("find 5 things", precision=INT) == {}


def test_the_word_behind_a_number_names_it_too() -> None:
    assert read("book 3 nights for 2 guests", "nights", "guests", nights=INT, guests=INT) == {"nights": 3, "guests": 2}
    assert read("12.5 for latitude and 7.25 for longitude", latitude=NUM, longitude=NUM) == {
        "latitude": 12.5,
        "longitude": 7.25,
    }


def test_a_word_that_leads_elsewhere_names_nothing() -> None:
    assert read("the probability of getting 5 heads in 8 tosses", probability=NUM) == {}
    assert read("a 440Hz frequency for 5 seconds", "frequency", "seconds", frequency=INT, seconds=INT) == {
        "frequency": 440,
        "seconds": 5,
    }


def test_a_numbered_series_takes_a_list_in_order() -> None:
    sides = {"side1": INT, "side2": INT, "side3": INT}
    assert read("three sides: 3, 4 and 5", *sides, **sides) == {"side1": 3, "side2": 4, "side3": 5}
    assert read("sides: 3 and 4", *sides, **sides) == {}


def test_from_and_to_fill_the_ends_of_a_span() -> None:
    span = {"start_date": DATE, "end_date": DATE}
    assert read("report from 2024-01-02 to 2024-02-03", **span) == {
        "start_date": "2024-01-02",
        "end_date": "2024-02-03",
    }
    assert read("从2024年1月2日到2024年2月3日", **span) == {"start_date": "2024-01-02", "end_date": "2024-02-03"}
    assert read("between March 1, 2024 and March 9, 2024", **span) == {
        "start_date": "2024-03-01",
        "end_date": "2024-03-09",
    }


def test_tomorrow_is_a_date_only_with_a_clock() -> None:
    assert read("the date is tomorrow", "date", date=DATE) == {}
    assert read("the date is tomorrow", "date", date=DATE, clock=dt.datetime(2024, 2, 28)) == {"date": "2024-02-29"}


@pytest.mark.parametrize(
    ("request_text", "value"),
    [
        ("in celsius please", "celsius"),
        ("use CELSIUS", "celsius"),
        ("degrees fahrenheit", "fahrenheit"),
        ("celsius or fahrenheit", None),
        ("celsiusly", None),
    ],
)
def test_an_enum_value_must_stand_as_a_word_and_alone(request_text: str, value: str | None) -> None:
    found = read(request_text, unit={"type": "string", "enum": ["celsius", "fahrenheit"]})
    assert found == ({"unit": value} if value else {})


def test_enum_values_may_be_chinese_spoken_or_short() -> None:
    assert read("查询晴天的照片", kind={"enum": ["晴天", "雨天"]}) == {"kind": "晴天"}
    assert read("a high priority ticket", p={"enum": ["high_priority", "low_priority"]}) == {"p": "high_priority"}
    assert read("20 degrees C", unit={"enum": ["C", "F"]}) == {"unit": "C"}
    assert read("log in please", unit={"enum": ["in", "cm"]}) == {}
    assert read("very high", level={"enum": ["high", "very high"]}) == {"level": "very high"}


def test_booleans_only_when_written_out() -> None:
    assert read("verbose: true", verbose=BOOL) == {"verbose": True}
    assert read("set dry run to off", dry_run=BOOL) == {"dry_run": False}
    assert read("be verbose, yes", verbose=BOOL) == {}


def test_quoted_texts_go_where_they_are_named() -> None:
    text = 'mail with the subject "Lunch" and the body "See you at 12."'
    assert read(text, "subject", "body", subject=TEXT, body=TEXT) == {"subject": "Lunch", "body": "See you at 12."}
    assert read("a 'grunge' style in 'png' format", style=TEXT, format=TEXT) == {"style": "grunge", "format": "png"}


def test_one_of_several_free_texts_is_not_guessed() -> None:
    assert read("play 'Friends'", "title", "artist", title=TEXT, artist=TEXT) == {}
    assert read("play 'Friends'", "title", title=TEXT) == {"title": "Friends"}


def test_name_and_value_may_be_joined_by_a_sign() -> None:
    assert read("x=3, y = -2", x=INT, y=INT) == {"x": 3, "y": -2}
    assert read("city: Oslo, days: 3", city=TEXT, days=INT) == {"city": "Oslo", "days": 3}


def test_lists_are_taken_whole() -> None:
    tags = {"type": "array", "items": TEXT}
    numbers = {"type": "array", "items": NUM}
    assert read('tags "a", "b" and "c"', tags=tags) == {"tags": ["a", "b", "c"]}
    assert read("numbers [1, 2.5, 3]", numbers=numbers) == {"numbers": [1, 2.5, 3]}
    assert read("the number 5", numbers=numbers) == {}


def test_a_list_is_no_single_value() -> None:
    assert read("sort in this order: 'Sam', 'Ann'", order=TEXT) == {}


def test_codes_fit_patterns_and_ids() -> None:
    ticket = {"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$"}
    assert read("close OPS-42 now", "key", key=ticket) == {"key": "OPS-42"}
    assert read("close ops-42 now", "key", key=ticket) == {}
    assert read("the user with ID 7890", user_id=TEXT) == {"user_id": "7890"}
    assert read("订单编号A1234的状态", order_id=TEXT | {"description": "订单编号"}) == {"order_id": "A1234"}
    assert read("the approver ID is A12", decision_id=TEXT) == {}


def test_a_hostile_pattern_of_a_tool_hangs_nothing() -> None:
    hostile = {"type": "string", "pattern": "^(a+)+$"}
    assert read(f"key {'a1' * 30}", "key", key=hostile) == {}


def test_percent_is_taken_only_where_the_tool_speaks_of_percent() -> None:
    assert read("a rate of 5%", rate=NUM) == {}
    assert read("a rate of 5%", rate=NUM | {"description": "in percent"}) == {"rate": 5}


def test_bounds_formats_and_types_are_kept() -> None:
    assert read("limit 500", limit=INT | {"maximum": 100}) == {}
    assert read("limit 2.5", limit=INT) == {}
    assert read("email: someone", email=TEXT | {"format": "email"}) == {}
    assert read("write to ann@example.com", "recipient_email", recipient_email=TEXT) == {
        "recipient_email": "ann@example.com"
    }


def test_objects_are_left_to_somebody_who_understands_them() -> None:
    call = extract_call(tool_with("filter", filter={"type": "object", "properties": {"n": INT}}), "filter n=5")
    assert call.arguments == {} and call.missing == ("filter",)


def test_a_tool_without_parameters_needs_nothing() -> None:
    call = extract_call(Tool(name="ping"), "ping 5 'x'")
    assert call.arguments == {} and call.missing == ()


KINDS = st.sampled_from(
    [INT, NUM, TEXT, BOOL, DATE, TEXT | {"format": "email"}, INT | {"minimum": 3}, {"enum": ["red", "blue"]},
     {"type": "array", "items": INT}, TEXT | {"pattern": "^[a-z]+$"}, TEXT | {"maxLength": 3}, {}]
)  # fmt: skip
NAMES = st.sampled_from(["count", "date", "email", "color", "user_id", "from", "to", "path", "n1", "n2", "颜色"])
WORDS = st.sampled_from(
    ["count", "date", "is", "5", "12.5", "red", "2024-01-02", "'x y'", "a@b.example", "from", "to", "user", "id", "A17",
     "颜色", ",", "and", "=", ":", "true", "/a/b.txt", "n1", "%"]
)  # fmt: skip


@given(st.dictionaries(NAMES, KINDS, max_size=5), st.lists(WORDS, max_size=15).map(" ".join))
def test_whatever_is_filled_in_is_valid(properties: dict[str, dict[str, Any]], request_text: str) -> None:
    tool = Tool(name="t", parameters={"properties": properties})
    call = extract_call(tool, request_text)
    assert validate_arguments(tool, call.arguments) == call.arguments
