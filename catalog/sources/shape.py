"""What a shape is: how one kind of tool list writes a tool, said once for reading and for writing back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ToolFormatError
from ..json_values import json_type
from ..tool import Tool

Entry = dict[str, Any]
"""One entry of a tool list."""

Steps = tuple[str, ...]
"""Keys from an entry to a value in it."""

Put = Callable[[Entry, Any], None]


@dataclass(frozen=True)
class Shape:
    """One way of writing tools.

    Attributes:
        name: what the shape is called in the API.
        matches: whether an entry is of this shape; asked in the order of `SHAPES`.
        read: an entry to fields of `Tool`; raises ToolFormatError with a field.
        blank: an entry without anything specific in it, to write a tool of another origin into.
        put: field of `Tool` to the function that writes a value of it into an entry.
        place: an entry and a field of `Tool` to where the field stands in the entry, for messages.
        always: fields that every entry of this shape has, even when they are empty.
        name_pattern: names that the shape's reader accepts, if it restricts them.
    """

    name: str
    matches: Callable[[Entry], bool]
    read: Callable[[Entry], dict[str, Any]]
    blank: Callable[[], Entry]
    put: Mapping[str, Put]
    place: Callable[[Entry, str], str] = lambda _entry, name: name
    always: frozenset[str] = frozenset({"name", "parameters"})
    name_pattern: re.Pattern[str] | None = None

    def write(self, tool: Tool, entry: Entry, before: Tool | None) -> None:
        """Writes into `entry` what `tool` says differently from `before`, the tool that the entry stands for.

        Args:
            tool: what to write.
            entry: changed in place.
            before: the tool as read from `entry`, or None when the entry is blank.
        """
        for name, put in self.put.items():
            value = getattr(tool, name)
            if before is None:
                unsaid = value == Tool.model_fields[name].get_default(call_default_factory=True)
                if not unsaid or name in self.always:
                    put(entry, value)
            elif value != getattr(before, name):
                put(entry, value)


def put_key(key: str) -> Put:
    """Writes a value under `key`; None takes the key out."""

    def put(entry: Entry, value: Any) -> None:
        if value is None:
            entry.pop(key, None)
        else:
            entry[key] = value

    return put


def put_unknown(known: frozenset[str]) -> Put:
    """Writes metadata as the keys of an entry that the shape does not know."""

    def put(entry: Entry, value: Mapping[str, Any]) -> None:
        for key in [key for key in entry if key not in known]:
            del entry[key]
        entry.update({key: inner for key, inner in value.items() if key not in known})

    return put


def text(entry: Mapping[str, Any], key: str, place: str = "", *, required: bool = False) -> str:
    """The text under `key`; missing or null is "" unless `required`.

    Raises:
        ToolFormatError: something else stands there, or nothing although it is required.
    """
    value = entry.get(key)
    where = place or key
    if value is None:
        if required:
            raise ToolFormatError(f"{key!r} is missing", field=where)
        return ""
    if not isinstance(value, str):
        raise ToolFormatError(f"must be a string, not {json_type(value)}", field=where)
    return value


def schema(entry: Mapping[str, Any], key: str, place: str = "") -> dict[str, Any]:
    """The schema under `key`; missing or null is the schema of a tool without parameters.

    Raises:
        ToolFormatError: something else stands there.
    """
    value = entry.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ToolFormatError(f"must be a JSON Schema object, not {json_type(value)}", field=place or key)
    return value


def unknown(entry: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """What an entry says beyond the keys of its shape."""
    return {key: value for key, value in entry.items() if key not in known}
