"""OpenAI's function tools: nested under ``function`` (Chat Completions) or flat (Responses)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import ToolFormatError
from ..json_values import json_type
from .shape import Entry, Put, Shape, put_key, put_unknown, schema, text, unknown

_KNOWN = frozenset({"name", "description", "parameters"})
_FLAT = _KNOWN | {"type"}


def _matches(entry: Entry) -> bool:
    return "function" in entry or (entry.get("type") == "function" and "name" in entry)


def _is_nested(entry: Entry) -> bool:
    return "function" in entry


def _function(entry: Entry) -> Entry:
    function = entry["function"] if _is_nested(entry) else entry
    if not isinstance(function, dict):
        raise ToolFormatError(f"must be an object, not {json_type(function)}", field="function")
    return function


def _read(entry: Entry) -> dict[str, Any]:
    if entry.get("type", "function") != "function":
        raise ToolFormatError(f"only tools of type 'function' can be called, not {entry['type']!r}", field="type")
    function, prefix = _function(entry), "function." if _is_nested(entry) else ""
    return {
        "name": text(function, "name", f"{prefix}name", required=True),
        "description": text(function, "description", f"{prefix}description"),
        "parameters": schema(function, "parameters", f"{prefix}parameters"),
        "metadata": unknown(function, _known(entry)),
    }


def _known(entry: Entry) -> frozenset[str]:
    return _KNOWN if _is_nested(entry) else _FLAT


def _inside(put: Put) -> Put:
    return lambda entry, value: put(_function(entry), value)


def _put_metadata(entry: Entry, value: Mapping[str, Any]) -> None:
    put_unknown(_known(entry))(_function(entry), value)


def function_shape(name: str) -> Shape:
    """The shape of OpenAI's function tools, which others use under names of their own."""
    return Shape(
        name=name,
        matches=_matches,
        read=_read,
        blank=lambda: {"type": "function", "function": {}},
        put={
            "name": _inside(put_key("name")),
            "description": _inside(put_key("description")),
            "parameters": _inside(put_key("parameters")),
            "metadata": _put_metadata,
        },
        place=lambda entry, name: f"function.{name}" if _is_nested(entry) else name,
        name_pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    )


OPENAI = function_shape("openai")
