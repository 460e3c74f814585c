"""Turns whatever a tool or a step returns into JSON-like data: strictly for tools, as well as it goes for reports."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from ...catalog import ToolError

_PLAIN = (str, int, bool, type(None))
_REFUSALS = (PydanticSerializationError, ValueError, RecursionError)
_MAX_DEPTH = 50
_MAX_SHOWN = 200


def to_json_like(value: Any, *, what: str = "the result") -> Any:
    """`value` as JSON-like data: models, dataclasses, dates, enums, sets and paths become plain values.

    JSON has no form for NaN and the infinities; they become None.

    Raises:
        ToolError: "tool_error"; the message says where the value sits, and its type.
    """
    if type(value) in _PLAIN:
        return value
    try:
        return _converted(value)
    except _REFUSALS as error:
        raise ToolError(
            f"{what} cannot be turned into JSON: {_first_fault(value)}",
            suggestion="return strings, numbers, lists, dicts, dataclasses or pydantic models",
        ) from error


def _converted(value: Any) -> Any:
    return to_jsonable_python(value, inf_nan_mode="null")


def _first_fault(value: Any) -> str:
    """Path of the first part, depth first, that has no JSON form, and why."""
    path, inside = "$", [value]
    while (refused := next((one for one in _parts(value) if not _is_convertible(one[1])), None)) is not None:
        step, value = refused
        path += step
        if any(value is outer for outer in inside):
            return f"{path} contains itself"
        if len(inside) >= _MAX_DEPTH:
            return f"{path[:_MAX_SHOWN]}… is nested too deep"
        inside.append(value)
    return f"{path} is of type {type(value).__name__}"


def _is_convertible(value: Any) -> bool:
    try:
        _converted(value)
    except _REFUSALS:
        return False
    return True


def shown_as_json(value: Any) -> Any:
    """`value` as JSON data for a person to look at; never fails.

    As `to_json_like`, but a part that has no JSON form is shown as its repr, shortened.
    """
    return _shown(value, ())


def _shown(value: Any, inside: tuple[int, ...]) -> Any:
    with contextlib.suppress(Exception):  # values are anybody's, and so are their errors
        return _converted(value)
    if id(value) in inside:
        return f"<{type(value).__name__}: contains itself>"
    if len(inside) >= _MAX_DEPTH:
        return f"<{type(value).__name__}: nested too deep>"
    inside = (*inside, id(value))
    if isinstance(value, Mapping):
        return {_shown_key(key): _shown(part, inside) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset | deque):
        return [_shown(part, inside) for part in value]
    if isinstance(value, BaseModel):
        return {name: _shown(part, inside) for name, part in vars(value).items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _shown(getattr(value, field.name, None), inside) for field in dataclasses.fields(value)}
    return _shown_repr(value)


def _shown_key(key: Any) -> str:
    with contextlib.suppress(Exception):
        return str(next(iter(_converted({key: None}))))
    return _shown_repr(key)


def _shown_repr(value: Any) -> str:
    text = f"<{type(value).__name__}>"
    with contextlib.suppress(Exception):
        text = repr(value)
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def _parts(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        return ((f".{key}", part) for key, part in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return ((f"[{index}]", part) for index, part in enumerate(value))
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return ((f".{key}", part) for key, part in vars(value).items())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return ((f".{field.name}", getattr(value, field.name)) for field in dataclasses.fields(value))
    return ()
