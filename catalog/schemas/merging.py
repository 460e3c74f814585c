"""One schema that says what several say together, wherever that can be said exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..digest import canonical_json
from .keywords import ANNOTATIONS, Schema

_CHECKS_OWN_LEVEL = ("properties", "patternProperties", "additionalProperties")
_ARRAY_LEVEL = ("prefixItems", "items", "contains", "minContains", "maxContains")
_CONDITION = ("if", "then", "else")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")


def conjunction(outer: Schema, inner: Schema) -> Schema:
    """A schema that accepts what both accept: merged when that is exact, else `inner` under ``allOf``."""
    merged = merge(outer, inner)
    if merged is not None:
        return merged
    return {**outer, "allOf": [inner, *outer.get("allOf", [])]}


def merge(outer: Schema, inner: Schema) -> Schema | None:
    """The two as one schema without ``allOf`` around them, or None when no keyword can express that exactly.

    Where both only say something (title, description, default), `outer` is heard.

    Example:
        >>> merge({"minimum": 1, "description": "pages"}, {"type": "integer", "minimum": 0})
        {'minimum': 1, 'description': 'pages', 'type': 'integer'}
    """
    if any(keyword in inner for keyword in _UNEVALUATED):
        return None  # It sees the neighbours that it gets by merging.
    if not _levels_are_apart(outer, inner):
        return None
    merged = dict(outer)
    for keyword, theirs in inner.items():
        if keyword not in merged:
            merged[keyword] = theirs
            continue
        ours = merged[keyword]
        combine = _COMBINATIONS.get(keyword)
        if combine is not None:
            combined = combine(ours, theirs)
            if combined is None:
                return None
            merged[keyword] = combined
        elif keyword in _CHECKING and not same_json(ours, theirs):
            return None
    return merged


def same_json(ours: Any, theirs: Any) -> bool:
    """Equality of JSON values; unlike Python's it tells true from 1 (and, more finely than needed, 1.0 from 1)."""
    return ours is theirs or (ours == theirs and canonical_json(ours) == canonical_json(theirs))


def _levels_are_apart(outer: Schema, inner: Schema) -> bool:
    """Whether keywords that look at their neighbours keep the neighbours they had."""
    for side, other in ((outer, inner), (inner, outer)):
        if "additionalProperties" in side and any(keyword in other for keyword in _CHECKS_OWN_LEVEL):
            return False
    for group in (_ARRAY_LEVEL, _CONDITION):
        if any(keyword in outer for keyword in group) and any(keyword in inner for keyword in group):
            return False
    return True


def _merged_types(ours: Any, theirs: Any) -> Any | None:
    mine = [ours] if isinstance(ours, str) else ours
    others = [theirs] if isinstance(theirs, str) else theirs
    common = [kind for kind in mine if kind in others or (kind == "integer" and "number" in others)]
    common += [kind for kind in others if kind == "integer" and "number" in mine and kind not in common]
    if not common:
        return None
    return common[0] if len(common) == 1 else common


def _merged_maps(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Schema:
    merged = dict(ours)
    for name, schema in theirs.items():
        merged[name] = _merged_schemas(merged[name], schema) if name in merged else schema
    return merged


def _merged_schemas(ours: Any, theirs: Any) -> Any:
    if ours is False or theirs is False:
        return False
    if ours is True or theirs is True:
        return theirs if ours is True else ours
    if same_json(ours, theirs):
        return ours
    if any(keyword in ours for keyword in _UNEVALUATED):
        return {"allOf": [ours, theirs]}
    return conjunction(ours, theirs)


def _merged_enums(ours: list[Any], theirs: list[Any]) -> list[Any] | None:
    known = {canonical_json(value) for value in theirs}
    common = [value for value in ours if canonical_json(value) in known]
    # 1 and 1.0 are one value to JSON Schema and two texts here: then nothing is claimed.
    return common if common and not _holds_whole_float(ours) and not _holds_whole_float(theirs) else None


def _holds_whole_float(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    if isinstance(value, dict):
        return any(map(_holds_whole_float, value.values()))
    return isinstance(value, list) and any(map(_holds_whole_float, value))


def _union(ours: list[str], theirs: list[str]) -> list[str]:
    return list(dict.fromkeys([*ours, *theirs]))


def _merged_required_by(ours: Mapping[str, list[str]], theirs: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {name: _union(ours.get(name, []), theirs.get(name, [])) for name in dict.fromkeys([*ours, *theirs])}


def _concatenated(ours: list[Any], theirs: list[Any]) -> list[Any]:
    return [*ours, *theirs]


_COMBINATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "type": _merged_types,
    "enum": _merged_enums,
    "properties": _merged_maps,
    "patternProperties": _merged_maps,
    "dependentSchemas": _merged_maps,
    "dependentRequired": _merged_required_by,
    "required": _union,
    "allOf": _concatenated,
    "minimum": max,
    "exclusiveMinimum": max,
    "minLength": max,
    "minItems": max,
    "minProperties": max,
    "maximum": min,
    "exclusiveMaximum": min,
    "maxLength": min,
    "maxItems": min,
    "maxProperties": min,
    "uniqueItems": lambda ours, theirs: ours or theirs,
}

_CHECKING = (
    frozenset(
        {"$ref", "const", "multipleOf", "pattern", "format", "anyOf", "oneOf", "not", "propertyNames"}
        | {"contentEncoding", "contentMediaType", "contentSchema"}
        | {*_CHECKS_OWN_LEVEL, *_ARRAY_LEVEL, *_CONDITION, *_UNEVALUATED}
    )
    - ANNOTATIONS
)
"""Keywords that check something and have no rule above: they merge only with their equal."""
