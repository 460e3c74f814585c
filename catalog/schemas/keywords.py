"""Which keywords of JSON Schema hold further schemas, and how to visit those; the other schema modules build on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Schema = dict[str, Any]
"""A JSON Schema that is an object (the other kind, a bare true or false, occurs only inside one)."""

Path = tuple[str | int, ...]
"""Keys and positions from the top of a document to a place in it."""

MAPS_OF_SCHEMAS = ("properties", "patternProperties", "dependentSchemas")
LISTS_OF_SCHEMAS = ("prefixItems", "allOf", "anyOf", "oneOf")
SINGLE_SCHEMAS = (
    "items",
    "additionalProperties",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
)

IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})
"""Keywords whose schemas describe the same value as the schema that holds them, not a part of it."""

ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}
)
"""Keywords that say something and check nothing."""

_SINGLE = frozenset(SINGLE_SCHEMAS)
_LISTS = frozenset(LISTS_OF_SCHEMAS)
_MAPS = frozenset(MAPS_OF_SCHEMAS)


def children(schema: Schema) -> Iterator[tuple[Path, Schema]]:
    """The schemas directly inside `schema` with their paths; ``$defs`` are not inside, they are only used."""
    for keyword, value in schema.items():
        if keyword in _SINGLE:
            if isinstance(value, dict):
                yield (keyword,), value
        elif keyword in _LISTS:
            if isinstance(value, list):
                for index, child in enumerate(value):
                    if isinstance(child, dict):
                        yield (keyword, index), child
        elif keyword in _MAPS and isinstance(value, dict):
            for name, child in value.items():
                if isinstance(child, dict):
                    yield (keyword, name), child


def map_children(schema: Schema, change: Callable[[Schema, Path], Schema]) -> Schema:
    """A copy of `schema` with `change(child, step)` in the place of each schema directly inside it.

    A step is the path from `schema` to the child, such as ``("properties", "age")``. Malformed parts stay as they
    are: the meta-schema has the last word on them.
    """
    changed: Schema = {}
    for keyword, value in schema.items():
        if keyword in _SINGLE and isinstance(value, dict):
            value = change(value, (keyword,))
        elif keyword in _LISTS and isinstance(value, list):
            value = [
                change(child, (keyword, index)) if isinstance(child, dict) else child
                for index, child in enumerate(value)
            ]
        elif keyword in _MAPS and isinstance(value, dict):
            value = {
                name: change(child, (keyword, name)) if isinstance(child, dict) else child
                for name, child in value.items()
            }
        changed[keyword] = value
    return changed
