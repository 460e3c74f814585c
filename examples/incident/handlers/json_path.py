"""Finds values in JSON documents by path: the selectors of RFC 9535 without filters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .arguments import invalid

_TOKEN = re.compile(
    r"""(?P<deep>\.\.)?
    (?: (?P<name>(?:(?<=\.\.)|\.)[^\W\d][\w-]*)            # .name, or a name after two dots
      | (?P<star>(?:(?<=\.\.)|\.)\*|\[\s*\*\s*\])          # .* or [*]
      | \[\s*(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*\]
      | \[\s*(?P<slice>(?:-?\d{1,15})?\s*:\s*(?:-?\d{1,15})?(?:\s*:\s*(?:-?\d{1,15})?)?)\s*\]
      | \[\s*(?P<index>-?\d{1,15})\s*\]
    )""",
    re.VERBOSE,
)
MAX_SEGMENTS = 50


def find_all(document: Any, path: str) -> Iterator[Any]:
    """The values that `path` selects, in document order.

    Supports ``.name``, ``['name']``, ``[0]``, ``[-1]``, ``[1:3]``, ``[*]``, ``.*`` and ``..`` before any of them.

    Raises:
        ToolError: "validation_error", when the path cannot be read; says at which character.

    Example:
        >>> list(find_all({"pods": [{"name": "a"}, {"name": "b"}]}, "$.pods[*].name"))
        ['a', 'b']
    """
    found: Iterator[Any] = iter([document])
    for token in _read(path):
        found = _select(found, token)
    return found


def _read(path: str) -> list[re.Match[str]]:
    if not path.startswith("$"):
        raise invalid("path", "must start with '$'")
    position = 1
    tokens: list[re.Match[str]] = []
    while position < len(path):
        token = _TOKEN.match(path, position)
        if token is None:
            raise invalid(
                "path", f"cannot be read from character {position + 1} on: {path[position : position + 20]!r}"
            )
        if len(tokens) == MAX_SEGMENTS:
            raise invalid("path", f"has more than {MAX_SEGMENTS} parts")
        tokens.append(token)
        position = token.end()
    return tokens


def _select(values: Iterator[Any], token: re.Match[str]) -> Iterator[Any]:
    for value in values:
        for holder in _descendants(value) if token["deep"] else (value,):
            yield from _children(holder, token)


def _children(holder: Any, token: re.Match[str]) -> Iterator[Any]:
    """What one selector takes out of one value; nothing where the kinds do not fit."""
    if token["star"]:
        yield from _members(holder)
    elif token["slice"] is not None:
        bounds = [int(bound) if bound.strip() else None for bound in token["slice"].split(":")]
        if isinstance(holder, list) and bounds[2:] != [0]:  # a step of 0 selects nothing (RFC 9535, 2.3.4.2.2)
            yield from holder[slice(*bounds)]
    elif token["index"] is not None:
        index = int(token["index"])
        if isinstance(holder, list) and -len(holder) <= index < len(holder):
            yield holder[index]
    elif isinstance(holder, dict):
        quoted = token["quoted"]
        name = re.sub(r"\\(.)", r"\1", quoted[1:-1]) if quoted else token["name"].removeprefix(".")
        if name in holder:
            yield holder[name]


def _descendants(value: Any) -> Iterator[Any]:
    """The value and everything in it, parents first, without recursion."""
    stack = [value]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(list(_members(top))))


def _members(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value
