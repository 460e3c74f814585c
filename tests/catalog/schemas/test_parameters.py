"""The walk over all parameters of a tool."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from toolpath.catalog import Parameter, SchemaError, walk_parameters
from toolpath.catalog.schemas import normalise_parameters

from ..strategies import schemas


def walked(schema: dict[str, Any], max_depth: int = 6) -> dict[str, Parameter]:
    return {parameter.path: parameter for parameter in walk_parameters(schema, max_depth)}


def test_nested_objects_lists_and_branches_are_all_visited_outer_before_inner() -> None:
    schema = {
        "type": "object",
        "properties": {
            "filter": {"type": "object", "properties": {"date_from": {"type": "string", "description": "From"}}},
            "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"title": "SKU"}}}},
            "to": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"group": {}}}]},
            "grid": {"type": "array", "items": {"type": "array", "items": {"properties": {"cell": {}}}}},
            "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    }
    parameters = walked(schema)
    assert list(parameters) == [
        "filter",
        "filter.date_from",
        "items",
        "items[].sku",
        "to",
        "to.group",
        "grid",
        "grid[][].cell",
        "labels",
        "labels.*",
        "tags",
    ]
    assert parameters["filter.date_from"] == Parameter(
        "filter.date_from", "date_from", {"type": "string", "description": "From"}, "From", False, 1
    )
    assert parameters["items[].sku"].description == "SKU"


def test_required_holds_only_along_a_chain_of_required_parameters() -> None:
    inner = {"type": "object", "properties": {"x": {}, "y": {}}, "required": ["x"]}
    schema = {
        "properties": {"a": inner, "b": inner, "c": {"type": "array", "items": inner}},
        "required": ["a", "c"],
        "anyOf": [{"properties": {"d": {}}, "required": ["d"]}, {"required": ["b"]}],
        "allOf": [{"properties": {"e": {}}, "required": ["e"]}],
    }
    required = {path for path, parameter in walked(schema).items() if parameter.required}
    assert required == {"a", "a.x", "c", "c[].x", "e"}


def test_what_branches_say_differently_about_one_name_comes_as_any_of() -> None:
    card = {"properties": {"kind": {"const": "card"}, "number": {"type": "string"}}}
    cash = {"properties": {"kind": {"const": "cash"}, "number": {"type": "string"}}}
    parameters = walked({"properties": {"pay": {"oneOf": [card, cash]}}})
    assert parameters["pay.kind"].schema == {"anyOf": [{"const": "card"}, {"const": "cash"}]}
    assert parameters["pay.number"].schema == {"type": "string"}


def test_a_recursive_part_is_entered_once_and_its_schema_is_still_resolved() -> None:
    node = {
        "type": "object",
        "properties": {"value": {"type": "string"}, "next": {"$ref": "#/$defs/Node", "description": "the next one"}},
    }
    parameters = walked({"properties": {"head": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}})
    assert list(parameters) == ["head", "head.value", "head.next"]
    assert parameters["head.next"].schema["properties"] == node["properties"]
    assert parameters["head.next"].description == "the next one"


def test_the_walk_stops_at_max_depth() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for name in "dcba":
        schema = {"type": "object", "properties": {name: schema}}
    assert list(walked(schema, max_depth=2)) == ["a", "a.b"]
    assert list(walked(schema, max_depth=0)) == []
    assert [parameter.depth for parameter in walk_parameters(schema)] == [0, 1, 2, 3]


def test_thirty_parts_that_all_refer_to_each_other_do_not_hang() -> None:
    parts = {
        f"P{i}": {"type": "object", "properties": {f"q{j}": {"$ref": f"#/$defs/P{j}"} for j in range(30)}}
        for i in range(30)
    }
    assert len(walked({"properties": {"p": {"$ref": "#/$defs/P0"}}, "$defs": parts})) == 10_000


def test_forbidden_names_are_no_parameters_and_unrestricted_ones_are() -> None:
    assert walked({"properties": {"no": False, "any": True}}) == {"any": Parameter("any", "any", {}, "", False, 0)}


def test_a_dangling_reference_is_named() -> None:
    with pytest.raises(SchemaError, match="'#/\\$defs/Gone' leads nowhere"):
        walked({"properties": {"a": {"$ref": "#/$defs/Gone"}}})


def test_no_parameters_no_walk() -> None:
    assert walked({}) == {}


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(schemas)
def test_any_schema_is_walked_with_unique_paths_and_every_top_level_name(schema: dict[str, Any]) -> None:
    try:
        normal = normalise_parameters(schema)
    except SchemaError as error:
        assume("circle" not in str(error))
        raise
    paths = [parameter.path for parameter in walk_parameters(normal)]
    assert len(paths) == len(set(paths))
    assert {name for name, child in normal["properties"].items() if child is not False} <= set(paths)
