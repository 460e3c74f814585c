"""Older dialects of JSON Schema, rewritten as draft 2020-12, so that the rest of Toolpath knows one dialect only."""

from __future__ import annotations

from typing import Any

from ..errors import SchemaError
from ..json_values import place
from .keywords import ANNOTATIONS, Path, Schema, children, map_children

LATEST = 2020
_DIALECTS = {
    "json-schema.org/draft-04/schema": 4,
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-07/schema": 7,
    "json-schema.org/draft/2019-09/schema": 2019,
    "json-schema.org/draft/2020-12/schema": LATEST,
    "json-schema.org/schema": LATEST,
}
_DROPPED = frozenset({"$schema", "$id", "$anchor", "$defs", "definitions", "$vocabulary"})
_REFUSED = ("$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor")


def dialect_of(document: Schema) -> int:
    """The dialect that ``$schema`` names: 4, 6, 7, 2019 or 2020 (also when it names none).

    Raises:
        SchemaError: the dialect is unknown.
    """
    declared = document.get("$schema")
    if declared is None:
        return LATEST
    uri = str(declared).removeprefix("http://").removeprefix("https://").rstrip("#")
    if uri not in _DIALECTS:
        raise SchemaError(
            f"'$schema' names the dialect {declared!r}; known are draft-04, draft-06, draft-07, 2019-09 and 2020-12"
        )
    return _DIALECTS[uri]


def modernise(schema: Schema, dialect: int, path: Path = ()) -> Schema:
    """A copy of `schema` in draft 2020-12, without identifiers and definitions.

    Definitions are left out because references are looked up in the document as it was written. Forms that only
    an older draft knows (a list under ``items``, a boolean ``exclusiveMinimum``) are accepted from any dialect.

    Args:
        schema: a schema inside the document, or the document itself; the parts' shapes are not checked yet.
        dialect: the document's dialect, as `dialect_of` gives it.
        path: where `schema` stands in its document, for messages.

    Raises:
        SchemaError: dynamic references, or references inside an embedded document.

    Example:
        >>> modernise({"items": [{"type": "string"}], "additionalItems": False}, 7)
        {'prefixItems': [{'type': 'string'}], 'items': False}
    """
    for keyword in _REFUSED:
        if keyword in schema:
            raise SchemaError(f"{place(path)}: {keyword!r} is not supported; use '$ref' and '$defs'")
    if path and _is_identifier(schema.get("$id")) and _holds_reference(schema):
        raise SchemaError(
            f"{place(path)}: references inside a part with an '$id' of its own are not supported; "
            "move the part under the top-level '$defs'"
        )
    legacy_reference = dialect <= 7 and "$ref" in schema
    modern: Schema = {
        keyword: value
        for keyword, value in schema.items()
        if keyword not in _DROPPED
        # Up to draft-07 everything beside a $ref is ignored; what only says something is worth keeping.
        and (not legacy_reference or keyword == "$ref" or keyword in ANNOTATIONS)
    }
    if dialect == 4 and isinstance(modern.get("id"), str):
        del modern["id"]
    _modernise_bounds(modern)
    _modernise_items(modern)
    if dialect <= 7:
        _modernise_dependencies(modern)
    return map_children(modern, lambda child, step: modernise(child, dialect, path + step))


def _modernise_bounds(schema: Schema) -> None:
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(exclusive), bool):
            strict = schema.pop(exclusive)
            if strict and bound in schema:
                schema[exclusive] = schema.pop(bound)


def _modernise_items(schema: Schema) -> None:
    rest = schema.pop("additionalItems", None)
    if isinstance(schema.get("items"), list) and "prefixItems" not in schema:
        first: list[Any] = schema.pop("items")
        if first:
            schema["prefixItems"] = first
        if rest is not None:
            schema["items"] = rest


def _modernise_dependencies(schema: Schema) -> None:
    dependencies = schema.pop("dependencies", None)
    if isinstance(dependencies, dict):
        required = {name: what for name, what in dependencies.items() if isinstance(what, list)}
        schemas = {name: what for name, what in dependencies.items() if not isinstance(what, list)}
        if required:
            schema["dependentRequired"] = required
        if schemas:
            schema["dependentSchemas"] = schemas


def _is_identifier(value: Any) -> bool:
    return isinstance(value, str) and not value.startswith("#")


def _holds_reference(schema: Schema) -> bool:
    return "$ref" in schema or any(_holds_reference(child) for _, child in children(schema))
