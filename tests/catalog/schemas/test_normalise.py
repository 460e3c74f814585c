"""The normal form of parameters."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from toolpath.catalog import SchemaError
from toolpath.catalog.schemas import check_schema, normalise_parameters

from ..strategies import argument_objects, schemas

OBJECT = {"type": "object"}


def inside(schema: dict[str, Any], name: str = "x") -> Any:
    """What becomes of a parameter's schema."""
    return normalise_parameters({"properties": {name: schema}})["properties"][name]


def test_an_empty_schema_is_a_tool_without_parameters() -> None:
    assert normalise_parameters({}) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"properties": {}}, "object"),
        ({"items": {}}, "array"),
        ({"enum": ["a", "b"]}, "string"),
        ({"enum": ["a", None]}, ["string", "null"]),
        ({"enum": [1, 2.5]}, "number"),
        ({"enum": [True, 1]}, ["boolean", "integer"]),
        ({"const": 3}, "integer"),
    ],
)
def test_a_missing_type_is_inferred(schema: dict[str, Any], kind: Any) -> None:
    assert inside(schema)["type"] == kind


@pytest.mark.parametrize("schema", [{}, {"description": "anything"}, {"minimum": 3}, {"properties": {}, "items": {}}])
def test_a_type_that_is_not_implied_stays_open(schema: dict[str, Any]) -> None:
    assert "type" not in inside(schema)


def test_no_type_is_inferred_where_it_would_change_a_condition() -> None:
    schema = {"type": "object", "if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}
    assert "type" not in inside(schema)["if"]


def test_branches_of_an_untyped_any_of_get_their_types() -> None:
    branches = inside({"anyOf": [{"type": "string"}, {"properties": {"a": {}}}]})["anyOf"]
    assert [branch["type"] for branch in branches] == ["string", "object"]


@pytest.mark.parametrize("keyword", ["definitions", "$defs"])
def test_local_references_are_inlined_and_their_definitions_dropped(keyword: str) -> None:
    schema = {"properties": {"x": {"$ref": f"#/{keyword}/Unit"}}, keyword: {"Unit": {"type": "string"}, "Unused": {}}}
    assert normalise_parameters(schema) == {"type": "object", "properties": {"x": {"type": "string"}}}


def test_a_description_beside_a_reference_wins_over_the_referred_one() -> None:
    schema = {
        "properties": {"x": {"$ref": "#/$defs/U", "description": "near"}},
        "$defs": {"U": {"type": "string", "description": "far"}},
    }
    assert normalise_parameters(schema)["properties"]["x"] == {"type": "string", "description": "near"}


def test_references_to_any_place_and_with_escapes_are_followed() -> None:
    schema = {
        "properties": {"x": {"$ref": "#/properties/a~1b%20c"}, "a/b c": {"type": "integer"}, "y": {"$ref": "#here"}},
        "$defs": {"z": {"$anchor": "here", "type": "boolean"}},
    }
    properties = normalise_parameters(schema)["properties"]
    assert (properties["x"], properties["y"]) == ({"type": "integer"}, {"type": "boolean"})


def test_a_reference_through_the_documents_own_id_is_local() -> None:
    schema = {
        "$id": "https://example.com/s.json",
        "properties": {"x": {"$ref": "https://example.com/s.json#/$defs/U"}},
        "$defs": {"U": {"type": "string"}},
    }
    assert normalise_parameters(schema) == {"type": "object", "properties": {"x": {"type": "string"}}}


def test_recursive_definitions_are_kept_and_the_top_level_still_shows_its_properties() -> None:
    node = {
        "type": "object",
        "properties": {"next": {"$ref": "#/definitions/Node"}, "unit": {"$ref": "#/definitions/U"}},
    }
    normal = normalise_parameters(
        {"$ref": "#/definitions/Node", "definitions": {"Node": node, "U": {"type": "string"}}}
    )
    expected = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "unit": {"type": "string"}}}
    assert normal == {**expected, "$defs": {"Node": expected}}


def test_a_schema_that_contains_itself_keeps_the_reference_to_the_top() -> None:
    schema = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
    assert normalise_parameters(schema) == schema


def test_definitions_that_double_at_each_level_are_kept_instead_of_exploding() -> None:
    levels = {
        f"D{i}": {
            "type": "object",
            "properties": {"l": {"$ref": f"#/$defs/D{i + 1}"}, "r": {"$ref": f"#/$defs/D{i + 1}"}},
        }
        for i in range(40)
    }
    normal = normalise_parameters({"$ref": "#/$defs/D0", "$defs": {**levels, "D40": {"type": "string"}}})
    assert len(normal["$defs"]) == 40
    assert normalise_parameters(normal) == normal


def test_a_chain_of_a_thousand_references_is_no_deep_recursion() -> None:
    aliases: dict[str, Any] = {f"D{i}": {"$ref": f"#/$defs/D{i + 1}"} for i in range(1000)}
    schema = {"properties": {"x": {"$ref": "#/$defs/D0"}}, "$defs": {**aliases, "D1000": {"type": "integer"}}}
    assert normalise_parameters(schema)["properties"] == {"x": {"type": "integer"}}


def test_all_of_objects_becomes_one_object() -> None:
    merged = inside(
        {
            "description": "both",
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]},
                {"type": "object", "properties": {"a": {"minimum": 3}, "b": {"type": "string"}}, "required": ["b"]},
            ],
        }
    )
    assert merged == {
        "description": "both",
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 3}, "b": {"type": "string"}},
        "required": ["a", "b"],
    }


@pytest.mark.parametrize(
    "parts",
    [
        [{"type": "object", "properties": {"a": {}}, "additionalProperties": False}, {"properties": {"b": {}}}],
        [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "b$"}],
        [{"type": "string"}, {"type": "integer"}],
        [{"type": "array", "items": {"type": "string"}}, {"type": "array", "prefixItems": [{"const": "a"}]}],
        [{"enum": [1, 2]}, {"enum": [3]}],
    ],
)
def test_all_of_is_kept_where_merging_would_not_be_exact(parts: list[Any]) -> None:
    assert len(inside({"allOf": parts})["allOf"]) == 2


def test_any_of_one_is_that_one_and_any_of_two_stays() -> None:
    assert inside({"anyOf": [{"type": "string"}], "title": "T"}) == {"type": "string", "title": "T"}
    two = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert inside(two) == two


def test_draft_7_forms_become_the_latest_draft() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False},
            "ref": {"$ref": "#/definitions/U", "maxLength": 1, "description": "ignored siblings"},
        },
        "dependencies": {"pair": ["ref"], "ref": {"minProperties": 2}},
        "definitions": {"U": {"type": "string"}},
    }
    assert normalise_parameters(schema) == {
        "type": "object",
        "properties": {
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
            "ref": {"type": "string", "description": "ignored siblings"},
        },
        "dependentRequired": {"pair": ["ref"]},
        "dependentSchemas": {"ref": {"minProperties": 2}},
    }


def test_draft_4_bounds_become_numbers() -> None:
    schema = {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False}
    assert inside(schema) == {"type": "number", "exclusiveMinimum": 0, "maximum": 9}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "string"}, "at the top level: parameters are of type object, not string"),
        ({"enum": [1]}, "at the top level: parameters are of type object, not integer"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "no branch of 'anyOf' is one"),
        ({"properties": 5}, "at 'properties': 5 is not of type"),
        ({"properties": {"a": {"type": "float"}}}, "at 'properties.a.type': 'float' is not a type; use string"),
        ({"properties": {"a.b": {"required": True}}}, r"at 'properties\[\"a.b\"\].required'"),
        ({"properties": {"a": {"$ref": "http://example.com/s"}}}, "at 'properties.a': .* leads out of the schema"),
        ({"properties": {"a": {"$ref": "#/$defs/Gone"}}}, "at 'properties.a': .* leads nowhere"),
        (
            {"properties": {"a": {"$ref": "#/required"}}, "required": []},
            "at 'properties.a': .* does not lead to a schema",
        ),
        ({"properties": {"a": {"$ref": "#gone"}}}, "at 'properties.a': .* anchor"),
        ({"properties": {"a": {"$ref": 5}}}, "at 'properties.a"),
        ({"properties": {"a": {"pattern": "(["}}}, "at 'properties.a.pattern'"),
        ({"properties": {"a": {"default": float("nan")}}}, "at 'properties.a.default': nan is not a JSON number"),
        ({"properties": {"a": {"enum": ("x",)}}}, "at 'properties.a.enum': a Python tuple is not a JSON value"),
        (
            {"properties": {"a": {"description": "\ud800"}}},
            "at 'properties.a.description': holds an unpaired surrogate",
        ),
        ({"properties": {"a": {"$dynamicRef": "#x"}}}, "at 'properties.a': '\\$dynamicRef' is not supported"),
        ({"$schema": "https://example.com/own"}, "known are draft-04"),
        ({"$ref": "#"}, "circle"),
        ({"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}]}}}, "circle .*#/properties/a"),
        ({"properties": {1: {}}}, "at 'properties': the key 1 is not a string"),
        ([], "must be a JSON Schema object, not array"),
    ],
)
def test_an_unusable_schema_says_where_and_why(schema: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        normalise_parameters(schema)


def test_a_thousand_levels_are_refused_without_a_recursion_error() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(1000):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(SchemaError, match="nested more than 128 levels deep"):
        normalise_parameters(schema)


def test_a_schema_that_holds_itself_in_python_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    schema["default"] = [schema]
    with pytest.raises(SchemaError, match="nested more than"):
        normalise_parameters(schema)


def test_shared_parts_that_unfold_without_end_are_refused() -> None:
    part: dict[str, Any] = {"type": "string"}
    for _ in range(50):
        part = {"type": "object", "properties": {"l": part, "r": part}}
    with pytest.raises(SchemaError, match="more than 500,000 values"):
        normalise_parameters(part)


def test_ten_thousand_parameters_are_fine() -> None:
    schema = {"type": "object", "properties": {f"p{i}": {"$ref": "#/$defs/U"} for i in range(10_000)}}
    assert len(normalise_parameters({**schema, "$defs": {"U": {"enum": [1, 2]}}})["properties"]) == 10_000


def test_a_returns_schema_is_checked_but_may_be_of_any_type() -> None:
    check_schema({"type": "array", "items": {"type": "string"}})
    with pytest.raises(SchemaError, match="leads out of the schema"):
        check_schema({"$ref": "http://example.com/s"})


def _accepts(schema: dict[str, Any], instance: Any) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(instance)


def _normal(schema: dict[str, Any]) -> dict[str, Any]:
    """The normal form; schemas whose references go round without a level in between are set aside."""
    try:
        return normalise_parameters(schema)
    except SchemaError as error:
        assume("circle" not in str(error))
        raise


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(schemas, st.lists(argument_objects, min_size=1, max_size=8))
def test_the_normal_form_accepts_exactly_the_same_arguments(schema: dict[str, Any], instances: list[Any]) -> None:
    normal = _normal(schema)
    for instance in instances:
        assert _accepts(schema, instance) == _accepts(normal, instance)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(schemas)
def test_normalising_twice_changes_nothing_and_the_input_is_left_alone(schema: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)
    normal = _normal(schema)
    assert normalise_parameters(normal) == normal
    assert schema == before


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3) | st.sampled_from(["object", "#"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "properties", "allOf", "anyOf", "items", "$ref", "enum", "required", "$defs"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_anything_else_is_refused_with_a_schema_error_and_nothing_worse(junk: Any) -> None:
    try:
        normal = normalise_parameters(junk)
    except SchemaError:
        return
    assert normal["type"] == "object"
