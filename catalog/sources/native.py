"""Toolpath's own rows: all fields of `Tool`, and plainer rows from elsewhere (name, description, parameters, ...).

Keys that `Tool` does not know are kept as metadata. ``depends_on`` may hold objects that name a tool.
"""

from __future__ import annotations

from typing import Any

from ..errors import ToolFormatError
from ..json_values import json_type
from ..tool import Tool
from .shape import Entry, Put, Shape, schema, text

_FIELDS = frozenset(Tool.model_fields) - {"handler"}
_TEXTS = ("category", "server", "owner", "version", "source")


def _read(entry: Entry) -> dict[str, Any]:
    fields = {key: value for key, value in entry.items() if key in _FIELDS and value is not None}
    metadata = fields.get("metadata", {})
    if not isinstance(metadata, dict):
        raise ToolFormatError(f"must be an object, not {json_type(metadata)}", field="metadata")
    foreign = {key: value for key, value in entry.items() if key not in _FIELDS}
    depends_on = fields.get("depends_on", [])
    if isinstance(depends_on, list) and any(isinstance(link, dict) for link in depends_on):
        fields["depends_on"] = tuple(dict.fromkeys(_linked_tool(link, i) for i, link in enumerate(depends_on)))
        foreign["depends_on"] = depends_on
    for key in _TEXTS:
        if key in fields:
            text(fields, key)
    return fields | {
        "name": text(entry, "name", required=True),
        "description": text(entry, "description"),
        "parameters": schema(entry, "parameters"),
        "metadata": foreign | metadata,
    }


def _linked_tool(link: Any, index: int) -> str:
    where = f"depends_on[{index}]"
    if isinstance(link, str):
        return link
    if isinstance(link, dict):
        return text(link, "tool", f"{where}.tool", required=True)
    raise ToolFormatError(f"must be a tool's name or an object with 'tool', not {json_type(link)}", field=where)


def _put_field(name: str) -> Put:
    def put(entry: Entry, value: Any) -> None:
        # Through the model, so that enums, dates and nested records become JSON in one way only.
        entry[name] = Tool.model_construct(**{name: value}).model_dump(mode="json", include={name})[name]

    return put


TOOLPATH = Shape(
    name="toolpath",
    matches=lambda entry: "name" in entry,
    read=_read,
    blank=dict,
    put={name: _put_field(name) for name in Tool.model_fields if name != "handler"},
    always=frozenset({"name", "description", "parameters"}),
)
