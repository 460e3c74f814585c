"""Schemas and values in words ("integer of at least 1", "'abc' (string)"), for every message about arguments."""

from __future__ import annotations

import json
from typing import Any

from ..json_values import json_type
from ..schemas.keywords import Schema
from ..schemas.references import look_up, pointer_of

MAX_SHOWN = 80
"""Characters of a value that a message shows."""

_MAX_CHOICES = 12
_MAX_BRANCHES = 5

_FORMATS = {
    "date": "a date such as 2025-03-31",
    "date-time": "a date and time such as 2025-03-31T14:00:00Z",
    "time": "a time such as 14:00:00Z",
    "duration": "an ISO 8601 duration such as P1DT2H",
    "email": "an e-mail address",
    "uri": "a URI such as https://example.com",
    "uuid": "a UUID",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "hostname": "a host name",
    "regex": "a regular expression",
}


def describe_value(value: Any) -> str:
    """A value and its type for a message, cut at about `MAX_SHOWN` characters.

    Example:
        >>> describe_value("abc"), describe_value(None), describe_value([1, 2])
        ("'abc' (string)", 'null', 'an array of 2 items')
    """
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"{cut(repr(str(value[: MAX_SHOWN + 1])))} (string)"
    if isinstance(value, list):
        return f"an array of {_counted(len(value), 'item')}"
    if isinstance(value, dict):
        return cut(f"an object with the keys {', '.join(map(repr, list(value)[:_MAX_CHOICES]))}") if value else "{}"
    return f"{cut(_shown(value))} ({json_type(value)})"


def describe_schema(schema: Schema | bool, document: Schema) -> str:
    """What a schema asks for, in one phrase.

    Args:
        schema: the schema; bare true and false are allowed.
        document: where its references lead.

    Example:
        >>> describe_schema({"type": ["integer", "null"], "minimum": 1}, {})
        'integer of at least 1 or null'
    """
    if isinstance(schema, bool):
        return "anything" if schema else "nothing"
    schema = _without_reference(schema, document)
    if "const" in schema:
        return f"exactly {cut(_shown(schema['const']))}"
    if "enum" in schema:
        return _one_of(schema["enum"])
    branches = schema.get("anyOf") or schema.get("oneOf")
    kinds = schema.get("type")
    if branches and not isinstance(kinds, list):
        phrases = list(dict.fromkeys(describe_schema(branch, document) for branch in branches))
        more = f" or {len(phrases) - _MAX_BRANCHES} other forms" if len(phrases) > _MAX_BRANCHES else ""
        return " or ".join(phrases[:_MAX_BRANCHES]) + more
    if kinds is None:
        return _limits(schema, "value") or "a value that fits the schema"
    return " or ".join(_limits(schema, kind) or kind for kind in ([kinds] if isinstance(kinds, str) else kinds))


def cut(text: str, limit: int = MAX_SHOWN) -> str:
    """`text`, or its start and an ellipsis when it is longer than `limit` characters."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def _without_reference(schema: Schema, document: Schema) -> Schema:
    followed: set[str] = set()
    while "$ref" in schema and schema["$ref"] not in followed:
        followed.add(schema["$ref"])
        target = look_up(document, pointer_of(schema["$ref"], document))
        beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
        schema = (target if isinstance(target, dict) else {}) | beside
    return schema


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _one_of(values: list[Any]) -> str:
    if not values:
        return "nothing"
    more = f" or {len(values) - _MAX_CHOICES} others" if len(values) > _MAX_CHOICES else ""
    return "one of " + ", ".join(cut(_shown(value)) for value in values[:_MAX_CHOICES]) + more


def _limits(schema: Schema, kind: str) -> str:
    """The kind of value with the limits that apply to it, or "" when there are none."""
    limits: list[str] = []
    if kind in ("integer", "number", "value"):
        limits += _range(schema, "minimum", "maximum", "")
        for keyword, words in (("exclusiveMinimum", "more than"), ("exclusiveMaximum", "less than")):
            if keyword in schema:
                limits.append(f"{words} {schema[keyword]}")
        if "multipleOf" in schema:
            limits.append(f"in steps of {schema['multipleOf']}")
    if kind in ("string", "value"):
        limits += _range(schema, "minLength", "maxLength", "character")
        if "format" in schema:
            limits.append(f"that is {_FORMATS.get(schema['format'], schema['format'])}")
        if "pattern" in schema:
            limits.append(f"matching {cut(schema['pattern'])}")
    if kind in ("array", "value"):
        limits += _range(schema, "minItems", "maxItems", "item")
        if schema.get("uniqueItems"):
            limits.append("without repeated items")
    if kind in ("object", "value"):
        limits += _range(schema, "minProperties", "maxProperties", "key")
    return f"{kind} {', '.join(limits)}" if limits else ""


def _range(schema: Schema, low: str, high: str, unit: str) -> list[str]:
    least, most = schema.get(low), schema.get(high)
    if least is None and most is None:
        return []
    if least == most:
        return [f"of exactly {_counted(least, unit)}"]
    if least is not None and most is not None:
        return [f"of {least} to {_counted(most, unit)}"]
    return [f"of at most {_counted(most, unit)}" if least is None else f"of at least {_counted(least, unit)}"]


def _counted(number: Any, unit: str) -> str:
    if not unit:
        return str(number)
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
