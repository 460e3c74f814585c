"""Values as text and back, with their types: what a step puts out must survive the process.

JSON, with objects of the form ``{"$": tag, …}`` for what JSON has no form for. Classes are kept by name, so a
dataclass, a pydantic model or an enum can be read again wherever it can be imported.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import importlib
import json
import math
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from ...catalog.errors import CheckpointError

_PLAIN = (str, int, bool, type(None))
_MAX_DEPTH = 200

_TEXTUAL: dict[type, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    dt.datetime: ("datetime", dt.datetime.isoformat, dt.datetime.fromisoformat),
    dt.date: ("date", dt.date.isoformat, dt.date.fromisoformat),
    dt.time: ("time", dt.time.isoformat, dt.time.fromisoformat),
    Decimal: ("decimal", str, Decimal),
    UUID: ("uuid", str, UUID),
    bytes: ("bytes", lambda value: base64.b64encode(value).decode(), base64.b64decode),
    complex: ("complex", str, complex),
}
_BY_TAG = {tag: read for tag, _, read in _TEXTUAL.values()}
_COLLECTIONS: dict[str, Callable[[list[Any]], Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}


def encode(value: Any, what: str) -> str:
    """The value as text.

    Args:
        value: anything made of plain values, collections, dates, dataclasses, pydantic models and enums.
        what: for the error, e.g. ``"the output of step 'fetch'"``.

    Raises:
        CheckpointError: a part cannot be kept; says where it sits, and its type.
    """
    made = _made(value, what, "", 0)
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates
        text = json.dumps(made, separators=(",", ":"), allow_nan=False)
    return text


def decode(text: str) -> Any:
    """The value that `encode` was given.

    Raises:
        CheckpointError: a class in it cannot be imported, or does not take what was kept.
    """
    return _read(json.loads(text))


def _made(value: Any, what: str, path: str, depth: int) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if depth > _MAX_DEPTH:
        raise CheckpointError(f"{what} is nested too deeply to be kept, or contains itself{_at(path)}")
    if kind is float:
        return value if math.isfinite(value) else {"$": "float", "v": str(value)}
    if kind is list:
        return [_made(one, what, f"{path}[{index}]", depth + 1) for index, one in enumerate(value)]
    if kind is dict:
        return _made_dict(value, what, path, depth)
    if kind.__name__ in _COLLECTIONS and kind in (tuple, set, frozenset):
        return {"$": kind.__name__, "v": [_made(one, what, f"{path}[…]", depth + 1) for one in value]}
    if kind in _TEXTUAL:
        tag, write, _ = _TEXTUAL[kind]
        return {"$": tag, "v": write(value)}
    if kind is dt.timedelta:
        return {"$": "timedelta", "v": [value.days, value.seconds, value.microseconds]}
    if isinstance(value, PurePath):
        return {"$": "path", "v": str(value)}
    return _made_object(value, what, path, depth)


def _made_dict(value: dict[Any, Any], what: str, path: str, depth: int) -> Any:
    if all(type(key) is str for key in value) and "$" not in value:
        return {key: _made(one, what, f"{path}.{key}" if path else key, depth + 1) for key, one in value.items()}
    pairs = [
        [_made(key, what, f"{path}.{key!r}", depth + 1), _made(one, what, f"{path}.{key!r}", depth + 1)]
        for key, one in value.items()
    ]
    return {"$": "dict", "v": pairs}


def _made_object(value: Any, what: str, path: str, depth: int) -> Any:
    kind = type(value)
    name = f"{kind.__module__}:{kind.__qualname__}"
    fields: dict[str, Any]
    if "<locals>" in name:
        raise CheckpointError(f"{what} cannot be kept: {_of(kind)}{_at(path)} is defined inside a function")
    if isinstance(value, Enum):
        return {"$": "enum", "t": name, "v": value.name}
    if isinstance(value, BaseModel):
        fields = {key: getattr(value, key) for key in kind.model_fields}
        tag = "model"
    elif dataclasses.is_dataclass(value):
        fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        tag = "data"
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = dict(zip(value._fields, value, strict=True))
        tag = "named"
    else:
        raise CheckpointError(
            f"{what} cannot be kept: there is {_of(kind)}{_at(path)}; put out plain values, dataclasses or pydantic "
            f"models"
        )
    kept = {key: _made(one, what, f"{path}.{key}" if path else key, depth + 1) for key, one in fields.items()}
    return {"$": tag, "t": name, "v": kept}


def _of(kind: type) -> str:
    return f"something of type {kind.__module__}.{kind.__qualname__}".replace("type builtins.", "type ")


def _at(path: str) -> str:
    return f" at {path.lstrip('.')!r}" if path else ""


def _read(made: Any) -> Any:
    if isinstance(made, list):
        return [_read(one) for one in made]
    if not isinstance(made, dict):
        return made
    if "$" not in made:
        return {key: _read(one) for key, one in made.items()}
    tag, value = made["$"], made["v"]
    if tag in _BY_TAG:
        return _BY_TAG[tag](value)
    if tag in _COLLECTIONS:
        return _COLLECTIONS[tag]([_read(one) for one in value])
    if tag == "dict":
        return {_read(key): _read(one) for key, one in value}
    if tag == "float":
        return float(value)
    if tag == "timedelta":
        return dt.timedelta(*value)
    if tag == "path":
        return Path(value)
    return _read_object(tag, made["t"], value)


def _read_object(tag: str, name: str, value: Any) -> Any:
    kind = _class_named(name)
    if tag == "enum":
        return kind[value]
    fields = {key: _read(one) for key, one in value.items()}
    try:
        if tag == "model":
            return kind.model_validate(fields)
        if tag == "named":
            return kind(**fields)
        made = object.__new__(kind)
        for key, one in fields.items():
            object.__setattr__(made, key, one)
    except (TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"what was kept of a {name} does not fit it any more: {error}") from error
    return made


def _class_named(name: str) -> Any:
    module, _, qualified = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in qualified.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise CheckpointError(f"the class {name} of a kept value is not there any more: {error}") from error
    allowed = isinstance(found, type) and (
        issubclass(found, Enum | BaseModel | tuple) or dataclasses.is_dataclass(found)
    )
    if not allowed:
        raise CheckpointError(f"{name} is no class of a kind that values are kept of")
    return found
