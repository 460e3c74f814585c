"""Anthropic's tools: ``name``, ``description``, ``input_schema``."""

from __future__ import annotations

import re
from typing import Any

from ..errors import ToolFormatError
from .shape import Entry, Shape, put_key, put_unknown, schema, text, unknown

_KNOWN = frozenset({"name", "description", "input_schema"})


def _read(entry: Entry) -> dict[str, Any]:
    if entry.get("type", "custom") != "custom":
        raise ToolFormatError(f"{entry['type']!r} runs at the provider; only custom tools can be called", field="type")
    return {
        "name": text(entry, "name", required=True),
        "description": text(entry, "description"),
        "parameters": schema(entry, "input_schema"),
        "metadata": unknown(entry, _KNOWN),
    }


ANTHROPIC = Shape(
    name="anthropic",
    matches=lambda entry: "input_schema" in entry,
    read=_read,
    blank=dict,
    put={
        "name": put_key("name"),
        "description": put_key("description"),
        "parameters": put_key("input_schema"),
        "metadata": put_unknown(_KNOWN),
    },
    place=lambda _entry, name: "input_schema" if name == "parameters" else name,
    name_pattern=re.compile(r"[a-zA-Z0-9_-]{1,128}"),
)
