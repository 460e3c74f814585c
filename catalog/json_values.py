"""What counts as JSON: one check for everything that comes from outside, so that no later walk meets a surprise.

Later code may recurse over a value that passed, encode it, and digest it without further care.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

MAX_DEPTH = 128
"""Containers inside each other. Far above any real schema, far below Python's recursion limit of 1,000 frames."""

MAX_VALUES = 500_000
"""Values in one document, counted as often as they are reachable: shared or circular parts cannot hide their size."""

MAX_BITS = 13_000
"""Bits of an integer: some 3,900 digits, just under what Python agrees to write out (4,300)."""

_PLAIN_KEY = re.compile(r"[^\s.\[\]\"']+")

_JSON_NAMES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    list: "array",
    dict: "object",
}


class JsonFault(NamedTuple):
    """Why a value is not JSON: the path of the offending part, and what is wrong with it."""

    path: str
    reason: str


def json_type(value: Any) -> str:
    """JSON Schema's name for the type of `value` ("integer" for 3, "number" for 3.5), or its Python type's name."""
    for kind, name in _JSON_NAMES.items():
        if isinstance(value, kind):
            return name
    return type(value).__name__


def json_path(tokens: Iterable[str | int]) -> str:
    """A path for people: ``items[0].sku``; keys that would be misread are quoted: ``headers["x.y"]``."""
    path = ""
    for token in tokens:
        if isinstance(token, int):
            path += f"[{token}]"
        elif _PLAIN_KEY.fullmatch(token):
            path += f".{token}" if path else token
        else:
            path += f"[{json.dumps(token, ensure_ascii=False)}]"
    return path


def place(tokens: Iterable[str | int]) -> str:
    """Where in a document, for messages: ``at 'items[0].sku'`` or ``at the top level``."""
    path = json_path(tokens)
    return f"at {path!r}" if path else "at the top level"


def json_fault(value: Any, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> JsonFault | None:
    """The first reason why `value` is not JSON of a reasonable size, or None.

    Works without recursion, so any depth, and even a list that contains itself, gets an answer.

    Args:
        value: anything.
        max_depth: containers allowed inside each other.
        max_values: values allowed in total.
    """
    reason = _leaf_fault(value)
    if reason is not None:
        return JsonFault("", reason)
    # A link is (link of the parent, own key): paths are only put together when something is wrong.
    stack: list[tuple[Any, Any, int]] = [(value, None, 1)]
    seen = 1
    while stack:
        container, link, depth = stack.pop()
        if isinstance(container, dict):
            for key in container:
                if not isinstance(key, str):
                    return JsonFault(_path_of(link), f"the key {key!r} is not a string")
                if not key.isascii() and not _encodable(key):
                    return JsonFault(_path_of(link), "a key holds an unpaired surrogate")
            members: Iterable[tuple[Any, Any]] = container.items()
        elif isinstance(container, list):
            members = enumerate(container)
        else:
            continue
        if depth > max_depth:
            return JsonFault(_shortened(_path_of(link)), f"nested more than {max_depth} levels deep")
        seen += len(container)
        if seen > max_values:
            return JsonFault("", f"has more than {max_values:,} values")
        for key, member in members:
            if isinstance(member, (dict, list)):
                stack.append((member, (link, key), depth + 1))
            elif not (type(member) is str and member.isascii()):  # By far the most frequent leaf.
                reason = _leaf_fault(member)
                if reason is not None:
                    return JsonFault(_path_of((link, key)), reason)
    return None


def _leaf_fault(value: Any) -> str | None:
    if value is None or isinstance(value, (bool, dict, list)):
        return None
    if isinstance(value, int):
        return None if value.bit_length() <= MAX_BITS else "an integer of more than 3,900 digits"
    if isinstance(value, str):
        return None if value.isascii() or _encodable(value) else "holds an unpaired surrogate"
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{value} is not a JSON number"
    return f"a Python {type(value).__name__} is not a JSON value"


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _path_of(link: Any) -> str:
    tokens: list[str | int] = []
    while link is not None:
        link, key = link
        tokens.append(key)
    return json_path(reversed(tokens))


def _shortened(path: str, limit: int = 80) -> str:
    return path if len(path) <= limit else f"{path[:limit]}…"
