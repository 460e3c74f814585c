"""Turns whatever a tool returns into JSON-like data, or says exactly which part cannot be turned."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from ...catalog import ToolError

_PLAIN = (str, int, float, bool, type(None))
_REFUSALS = (PydanticSerializationError, ValueError, RecursionError)
_MAX_DEPTH = 50


def to_json_like(value: Any, *, what: str = "the result") -> Any:
    """`value` as JSON-like data: models, dataclasses, dates, enums, sets and paths become plain values.

    Raises:
        ToolError: "tool_error"; the message says where the value sits, and its type.
    """
    if type(value) in _PLAIN:
        return value
    try:
        return to_jsonable_python(value)
    except _REFUSALS as error:
        path, culprit = _first_unserialisable(value)
        raise ToolError(
            f"{what} cannot be turned into JSON: {path} is of type {type(culprit).__name__}",
            suggestion="return strings, numbers, lists, dicts, dataclasses or pydantic models",
        ) from error


def _first_unserialisable(value: Any, path: str = "$", depth: int = 0) -> tuple[str, Any]:
    """Path and value of the first part, depth first, that has no JSON form."""
    if depth < _MAX_DEPTH:
        for step, part in _parts(value):
            try:
                to_jsonable_python(part)
            except _REFUSALS:
                return _first_unserialisable(part, path + step, depth + 1)
    return path, value


def _parts(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        return ((f".{key}", part) for key, part in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return ((f"[{index}]", part) for index, part in enumerate(value))
    if hasattr(value, "__dict__"):
        return ((f".{key}", part) for key, part in vars(value).items())
    return ()
