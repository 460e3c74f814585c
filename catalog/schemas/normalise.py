"""JSON Schema, normalised: what a tool's parameters look like after reading, whatever the source wrote.

The normal form is draft 2020-12 of type object with ``properties``, without references unless they are recursive.
"""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from ..errors import SchemaError
from ..json_values import JsonFault, json_fault, json_type, place
from .formats import FORMATS
from .keywords import Schema, map_children
from .merging import merge
from .references import resolve_references

__all__ = ["Schema", "check_schema", "compile_schema", "normalise_parameters"]

_OBJECT_KEYWORDS = ("properties", "patternProperties", "additionalProperties")
_ARRAY_KEYWORDS = ("items", "prefixItems")
_INFERRED_INSIDE = frozenset(
    {"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"}
    | {"items", "prefixItems", "unevaluatedItems", "contains", "propertyNames"}
)


def normalise_parameters(schema: Schema) -> Schema:
    """The parameters of a tool in normal form; accepts exactly the same argument objects as `schema`.

    - The top level has ``type: object`` and ``properties``; ``{}`` is a tool without parameters.
    - Older dialects become draft 2020-12; ``$schema`` and ``$id`` go.
    - Local references are inlined, recursive ones kept with their ``$defs``; unused ``$defs`` go.
    - ``allOf`` is merged where one schema can say the same; ``anyOf`` or ``oneOf`` of one schema is that schema.
    - A missing ``type`` is filled in from ``enum``, ``const``, ``properties`` or ``items``. The last two are the one
      case where the meaning changes: the author describes an object or a list, so other values are refused.

    The input is not changed; the result may share parts with it.

    Raises:
        SchemaError: not JSON, too deep, not a valid schema, a reference that leads nowhere or out of the schema, or
            a top level that cannot be an object. The message names the JSON path.

    Example:
        >>> normalise_parameters({"properties": {"unit": {"enum": ["C", "F"]}}})
        {'properties': {'unit': {'enum': ['C', 'F'], 'type': 'string'}}, 'type': 'object'}
    """
    if not isinstance(schema, dict):
        raise SchemaError(f"parameters must be a JSON Schema object, not {json_type(schema)}")
    _require_json(schema)
    # A pass can make the next one possible (inlining brings the parts of an allOf together). A pass that changes
    # anything leaves fewer references, fewer allOf or fewer missing types, so this ends, mostly at the second.
    before = schema
    while (after := _one_pass(before)) != before:
        before = after
    _require_json(after)
    compile_schema(after)
    return after


def check_schema(schema: Schema) -> None:
    """Checks that `schema` can be used to validate values: JSON, of a known dialect, valid, all references local.

    Raises:
        SchemaError: it cannot; the message names the JSON path.
    """
    _require_json(schema)
    resolve_references(schema)
    compile_schema(schema)


def compile_schema(schema: Schema) -> jsonschema_rs.Validator:
    """A validator of `schema` in the dialect that it names (default 2020-12), which checks formats too.

    Times and date-times may lack their offset.

    Raises:
        SchemaError: the schema is not valid, or a pattern is not a regular expression.
    """
    try:
        return jsonschema_rs.validator_for(
            schema, validate_formats=True, formats=dict(FORMATS), retriever=_refuse_to_fetch
        )
    except jsonschema_rs.ValidationError as fault:
        raise SchemaError(f"{place(fault.instance_path)}: {fault.message}") from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise SchemaError(f"at the top level: {error}") from None


def _refuse_to_fetch(uri: str) -> Any:
    raise ValueError(f"{uri} is outside the schema")


def _require_json(schema: Schema) -> None:
    fault: JsonFault | None = json_fault(schema)
    if fault is not None:
        raise SchemaError(f"at {fault.path!r}: {fault.reason}" if fault.path else f"at the top level: {fault.reason}")


def _one_pass(schema: Schema) -> Schema:
    root = resolve_references(schema)
    if "type" not in root:
        root = {**root, "type": _inferred_type(root) or "object"}
    definitions = root.pop("$defs", None) if "$defs" in root else None
    root = _require_object(_tidy(root, infer=True))
    if definitions is not None:
        root["$defs"] = {name: _tidy(body, infer=True) for name, body in definitions.items()}
    return root


def _require_object(root: Schema) -> Schema:
    kinds = root["type"] if isinstance(root["type"], list) else [root["type"]]
    if "object" not in kinds:
        raise SchemaError(f"at the top level: parameters are of type object, not {' or '.join(kinds)}")
    for keyword in ("anyOf", "oneOf"):
        branches = root.get(keyword)
        if branches and not any(_may_be_object(branch) for branch in branches):
            raise SchemaError(f"at the top level: parameters are of type object, but no branch of {keyword!r} is one")
    return {"properties": {}} | root | {"type": "object"}


def _may_be_object(schema: Schema | bool) -> bool:
    if isinstance(schema, bool):
        return schema
    kind = schema.get("type", "object")
    return kind == "object" or "object" in kind


def _tidy(schema: Schema, *, infer: bool) -> Schema:
    """`schema` with everything inside it tidied, then itself: combinations merged, the type filled in.

    Args:
        schema: a valid schema in draft 2020-12.
        infer: whether the schema stands where a value is described, so that a missing type may be filled in; under
            ``not``, ``if`` or ``allOf`` that would change what the whole says.
    """
    infer_branches = infer and "type" not in schema
    tidied = map_children(
        schema,
        lambda child, step: _tidy(
            child, infer=step[0] in _INFERRED_INSIDE or (step[0] in ("anyOf", "oneOf") and infer_branches)
        ),
    )
    tidied = _without_all_of(tidied)
    for keyword in ("anyOf", "oneOf"):
        tidied = _without_single_branch(tidied, keyword)
    kind = tidied.get("type")
    if isinstance(kind, list) and len(kind) == 1:
        tidied["type"] = kind[0]
    elif kind is None and infer:
        inferred = _inferred_type(tidied)
        if inferred is not None:
            tidied["type"] = inferred
    return tidied


def _without_all_of(schema: Schema) -> Schema:
    """`schema` with its ``allOf`` merged into it, or unchanged when any part cannot be merged exactly."""
    if "allOf" not in schema:
        return schema
    merged: Schema = {keyword: value for keyword, value in schema.items() if keyword != "allOf"}
    for part in schema["allOf"]:
        if part is True:
            continue
        both = merge(merged, part) if isinstance(part, dict) else None
        if both is None:
            return schema
        merged = both
    return merged


def _without_single_branch(schema: Schema, keyword: str) -> Schema:
    branches = schema.get(keyword)
    if branches is None or len(branches) != 1 or not isinstance(branches[0], dict):
        return schema
    rest = {other: value for other, value in schema.items() if other != keyword}
    both = merge(rest, branches[0])
    return schema if both is None else both


def _inferred_type(schema: Schema) -> str | list[str] | None:
    """The type that the other keywords imply, or None when they leave it open."""
    if "$ref" in schema:
        return None
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if values:
        kinds = list(dict.fromkeys(json_type(value) for value in values))
        if "number" in kinds and "integer" in kinds:
            kinds.remove("integer")
        return kinds[0] if len(kinds) == 1 else kinds
    objects = any(keyword in schema for keyword in _OBJECT_KEYWORDS)
    arrays = any(keyword in schema for keyword in _ARRAY_KEYWORDS)
    if objects != arrays:
        return "object" if objects else "array"
    return None
