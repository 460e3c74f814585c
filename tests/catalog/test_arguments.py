"""Checking the arguments of a call."""

from __future__ import annotations

import threading
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from toolpath.catalog import SchemaError, Tool, ToolError, validate_arguments
from toolpath.catalog.schemas import normalise_parameters

from .strategies import argument_objects, schemas

BOOKING = Tool(
    name="book",
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 2},
            "nights": {"type": "integer", "minimum": 1},
            "price": {"type": "number"},
            "class": {"enum": ["eco", "business"]},
            "guest": {
                "type": "object",
                "properties": {"age": {"type": "integer"}, "vip": {"type": "boolean"}},
                "required": ["age"],
                "additionalProperties": False,
            },
            "rooms": {"type": "array", "items": {"type": "object", "properties": {"beds": {"type": "integer"}}}},
            "limit": {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]},
            "pay": {
                "oneOf": [
                    {
                        "type": "object",
                        "properties": {"by": {"const": "card"}, "number": {"type": "integer"}},
                        "required": ["by", "number"],
                    },
                    {
                        "type": "object",
                        "properties": {"by": {"const": "cash"}, "amount": {"type": "number"}},
                        "required": ["by", "amount"],
                    },
                ]
            },
        },
        "required": ["city"],
        "additionalProperties": False,
    },
)


def faults(arguments: Any, schema: Any = BOOKING, **options: bool) -> dict[str, str]:
    with pytest.raises(ToolError) as caught:
        validate_arguments(schema, arguments, **options)
    assert caught.value.error_type == "validation_error"
    return caught.value.info.fields


def only(schema: dict[str, Any], value: Any) -> str:
    """The one line about a parameter of that schema."""
    found = faults({"x": value}, {"type": "object", "properties": {"x": schema}})
    assert len(found) == 1
    return next(iter(found.values()))


def test_arguments_that_fit_come_back_unchanged_and_nothing_is_filled_in() -> None:
    given = {"city": "Oslo", "nights": 2, "guest": {"age": 3}}
    schema = {"type": "object", "properties": {"a": {"type": "integer", "default": 7}}}
    checked = validate_arguments(BOOKING, given)
    assert checked == given
    assert checked is not given
    assert validate_arguments(schema, {}) == {}


def test_every_fault_gets_its_own_line_with_path_expectation_and_value() -> None:
    found = faults(
        {
            "city": "O",
            "nights": "abc",
            "class": "first",
            "guest": {"age": 1.5},
            "rooms": [{"beds": 1}, {"beds": None}, 7],
        }
    )
    assert found == {
        "city": "expected string of at least 2 characters, got 'O' (string)",
        "nights": "expected integer of at least 1, got 'abc' (string)",
        "class": "expected one of 'eco', 'business', got 'first' (string)",
        "guest.age": "expected integer, got 1.5 (number)",
        "rooms[1].beds": "expected integer, got null",
        "rooms[2]": "expected object, got 7 (integer)",
    }


def test_the_message_names_the_tool_and_the_first_faults() -> None:
    with pytest.raises(ToolError, match=r"^2 arguments do not fit what 'book' takes: nights: .*; city: required"):
        validate_arguments(BOOKING, {"nights": 0})


def test_an_unknown_argument_is_named_with_the_nearest_known_one() -> None:
    found = faults({"city": "Oslo", "nihgts": 2, "guest": {"age": 1, "xyz": 2}})
    assert found == {
        "nihgts": "unknown argument (did you mean 'nights'?)",
        "guest.xyz": "unknown argument (known: age, vip)",
    }


def test_a_missing_argument_says_what_is_wanted_and_what_it_may_have_been_called() -> None:
    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    assert faults({"qeury": "x"}, schema) == {
        "query": "required but missing (is it what you call 'qeury'?): expected string"
    }


def test_a_choice_reports_the_branch_that_was_meant() -> None:
    assert faults({"city": "Oslo", "pay": {"by": "cash", "amount": "x"}}) == {
        "pay.amount": "expected number, got 'x' (string)"
    }
    assert faults({"city": "Oslo", "pay": {"by": "gold"}}) == {
        "pay.by": "expected one of 'card', 'cash', got 'gold' (string)"
    }


def test_a_choice_that_fits_nowhere_lists_what_would() -> None:
    assert faults({"city": "Oslo", "limit": 2, "pay": 5}) == {
        "limit": "expected integer of at least 3 or null, got 2 (integer)",
        "pay": "expected object, got 5 (integer)",
    }


@pytest.mark.parametrize(
    ("schema", "value", "line"),
    [
        ({"const": 3}, 4, "expected exactly 3, got 4 (integer)"),
        ({"type": "integer", "minimum": 1, "maximum": 5}, 9, "expected integer of 1 to 5, got 9 (integer)"),
        ({"type": "number", "exclusiveMinimum": 0}, 0, "expected number more than 0, got 0 (integer)"),
        ({"type": "integer", "multipleOf": 5}, 7, "expected integer in steps of 5, got 7 (integer)"),
        ({"type": "string", "pattern": "^a"}, "b", "expected string matching ^a, got 'b' (string)"),
        ({"type": "string", "minLength": 1}, "", "expected string of at least 1 character, got '' (string)"),
        ({"type": "array", "maxItems": 1}, [1, 2], "expected array of at most 1 item, got an array of 2 items"),
        (
            {"type": "array", "uniqueItems": True},
            [1, 1],
            "expected array without repeated items, got an array of 2 items",
        ),
        ({"type": "object", "minProperties": 1}, {}, "expected object of at least 1 key, got {}"),
        ({"not": {"type": "string"}}, "a", "expected anything but string, got 'a' (string)"),
        (
            {"contains": {"type": "integer"}},
            [],
            "expected an array with an item that is integer, got an array of 0 items",
        ),
        (
            {"oneOf": [{"minimum": 1}, {"minimum": 2}]},
            3,
            "expected only one of: value of at least 1 or value of at least 2, got 3 (integer)",
        ),
        ({"type": ["integer", "null"]}, "a", "expected integer or null, got 'a' (string)"),
        (
            {"enum": list(range(20))},
            99,
            "expected one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 or 8 others, got 99 (integer)",
        ),
        ({"enum": []}, 99, "expected nothing, got 99 (integer)"),
        ({"type": "boolean"}, {"k": 1}, "expected boolean, got an object with the keys 'k'"),
        ({"type": "object", "propertyNames": {"maxLength": 1}}, {"kk": 1}, "expected other names of keys"),
    ],
)
def test_each_keyword_has_words(schema: dict[str, Any], value: Any, line: str) -> None:
    assert only(schema, value).startswith(line)


def test_a_forbidden_argument_says_so() -> None:
    assert faults({"x": 1}, {"type": "object", "properties": {"x": False}}) == {
        "x": "expected nothing here, got 1 (integer)"
    }


def test_expectations_behind_recursive_references_are_found() -> None:
    node = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/No~1de"}, "v": {"type": "integer", "minimum": 0}},
    }
    schema = normalise_parameters({"$ref": "#/$defs/No~1de", "$defs": {"No/de": node}})
    assert faults({"next": {"next": {"v": -1}}}, schema) == {
        "next.next.v": "expected integer of at least 0, got -1 (integer)"
    }


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("date", "2025-03-31", "31.3.2025"),
        ("date-time", "2025-03-31T10:00:00Z", "2025-03-31 25:00"),
        ("email", "ann@example.com", "ann"),
        ("uri", "https://example.com/a", "not a uri"),
        ("uuid", "2f1d0d3c-7d8f-4c3e-9a51-0f5c8a1f2b3c", "2f1d"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv6", "::1", ":::1"),
    ],
)
def test_formats_are_checked(kind: str, good: str, bad: str) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "format": kind}}}
    assert validate_arguments(schema, {"x": good}) == {"x": good}
    assert "expected string that is a" in faults({"x": bad}, schema)["x"]


@pytest.mark.parametrize("text", ["10:30:00", "10:30:00.5Z", "23:59:60+02:00"])
def test_a_time_may_lack_its_offset(text: str) -> None:
    properties = {"x": {"type": "string", "format": "time"}, "y": {"type": "string", "format": "date-time"}}
    arguments = {"x": text, "y": f"2024-02-29T{text}"}
    assert validate_arguments({"type": "object", "properties": properties}, arguments) == arguments


@pytest.mark.parametrize("text", ["24:00:00", "10:30", "10:61:00", "١٠:30:00", "10:30:00+25:00", "noon"])
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    properties = {"x": {"type": "string", "format": "time"}, "y": {"type": "string", "format": "date-time"}}
    schema = {"type": "object", "properties": properties}
    assert set(faults({"x": text, "y": f"2024-02-29T{text}"}, schema)) == {"x", "y"}
    assert set(faults({"y": "2025-02-29T10:00:00Z"}, schema)) == {"y"}


def test_a_long_value_is_cut() -> None:
    assert len(faults({"city": "Oslo", "nights": "z" * 1_000_000})["nights"]) < 200


@pytest.mark.parametrize(
    ("arguments", "path", "line"),
    [
        ([], "$", "expected an object of arguments, got an array of 0 items"),
        (None, "$", "expected an object of arguments, got null"),
        ("city=Oslo", "$", "expected an object of arguments, got 'city=Oslo' (string)"),
        ({"city": ("a",)}, "city", "a Python tuple is not a JSON value"),
        ({"price": float("inf")}, "price", "inf is not a JSON number"),
        ({"city": "\udc80"}, "city", "holds an unpaired surrogate"),
        ({1: 2}, "$", "the key 1 is not a string"),
        ({"price": 10**5000}, "price", "an integer of more than 3,900 digits"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(arguments: Any, path: str, line: str) -> None:
    assert faults(arguments) == {path: line}


def test_hostile_depth_is_refused() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    found = faults({"city": deep})
    assert list(found.values()) == ["nested more than 128 levels deep"]


def test_a_flood_of_faults_is_cut() -> None:
    found = faults({"city": "Oslo", "rooms": [0] * 5_000})
    assert len(found) == 51
    assert found["$"] == "only the first 50 problems are listed"


def test_coercion_converts_text_without_loss_at_any_depth() -> None:
    given = {
        "city": "12",
        "nights": "5",
        "price": "3.0",
        "guest": {"age": "30", "vip": "true"},
        "rooms": [{"beds": "-1"}],
        "limit": "7",
        "pay": {"by": "cash", "amount": "1e3"},
    }
    checked = validate_arguments(BOOKING, given, coerce=True)
    assert checked == {
        "city": "12",
        "nights": 5,
        "price": 3.0,
        "guest": {"age": 30, "vip": True},
        "rooms": [{"beds": -1}],
        "limit": 7,
        "pay": {"by": "cash", "amount": 1000.0},
    }
    assert isinstance(checked["price"], float)
    assert given["guest"] == {"age": "30", "vip": "true"}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, "007"),
        ({"type": "integer"}, " 5"),
        ({"type": "integer"}, "5.5"),
        ({"type": "integer"}, "٣"),
        ({"type": "integer"}, "1_000"),
        ({"type": "integer"}, "9" * 5000),
        ({"type": "number"}, "0.10000000000000000001"),
        ({"type": "number"}, "1e999"),
        ({"type": "number"}, "nan"),
        ({"type": "boolean"}, "yes"),
        ({"type": "boolean"}, 1),
        ({"type": "string"}, 5),
        ({"type": "array", "items": {"type": "integer"}}, "5"),
        ({"type": "null"}, "null"),
        ({"type": "integer", "minimum": 3}, "2"),
    ],
)
def test_coercion_leaves_alone_what_would_lose_something(schema: dict[str, Any], value: Any) -> None:
    assert list(faults({"x": value}, {"type": "object", "properties": {"x": schema}}, coerce=True)) == ["x"]


def test_nothing_is_coerced_unless_asked_for() -> None:
    assert "nights" in faults({"city": "Oslo", "nights": "5"})


def test_text_that_is_welcome_as_text_stays_text() -> None:
    schema = {"type": "object", "properties": {"x": {"type": ["string", "integer"]}, "y": {"type": "integer"}}}
    assert validate_arguments(schema, {"x": "5", "y": "6"}, coerce=True) == {"x": "5", "y": 6}


def test_a_schema_that_cannot_be_used_is_a_schema_error() -> None:
    with pytest.raises(SchemaError, match="pattern"):
        validate_arguments({"properties": {"x": {"pattern": "(["}}}, {})


def test_two_equal_looking_schemas_never_share_a_validator() -> None:
    for wanted in (1, True, 1):
        schema = {"type": "object", "properties": {"x": {"const": wanted}}}
        assert validate_arguments(schema, {"x": wanted}) == {"x": wanted}
        assert "x" in faults({"x": not wanted}, schema)


def test_more_schemas_than_the_cache_holds_and_several_threads_still_get_right_answers() -> None:
    wrong: list[Any] = []

    def work(start: int) -> None:
        for number in range(start, start + 1500):
            schema = {"type": "object", "properties": {"x": {"const": number}}}
            if validate_arguments(schema, {"x": number}) != {"x": number}:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 10_000, 20_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(schemas, argument_objects)
def test_faults_are_found_exactly_when_another_validator_finds_some(schema: dict[str, Any], arguments: Any) -> None:
    try:
        tool = Tool(name="t", parameters=schema)
    except SchemaError as error:
        assume("circle" not in str(error))
        raise
    fits = jsonschema.Draft202012Validator(schema).is_valid(arguments)
    try:
        validate_arguments(tool, arguments)
    except ToolError as error:
        assert not fits
        assert error.info.fields
        assert all(line for line in error.info.fields.values())
    else:
        assert fits
