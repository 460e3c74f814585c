"""Tools of the Model Context Protocol, as ``tools/list`` gives them.

Annotations are hints of a server that may be wrong: they fill in what nobody else has said, and the text that such a
tool returns stays untrusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ToolFormatError
from ..json_values import json_type
from ..tool import Permission, SideEffect, Trust
from .shape import Entry, Shape, put_key, put_unknown, schema, text, unknown

_KNOWN = frozenset({"name", "description", "inputSchema", "outputSchema"})
_READ_ONLY, _DESTRUCTIVE, _IDEMPOTENT = "readOnlyHint", "destructiveHint", "idempotentHint"
_UNDERSTOOD = frozenset({_READ_ONLY, _DESTRUCTIVE, _IDEMPOTENT})


def _read(entry: Entry) -> dict[str, Any]:
    annotations = entry.get("annotations")
    if annotations is None:
        annotations = {}
    if not isinstance(annotations, dict):
        raise ToolFormatError(f"must be an object, not {json_type(annotations)}", field="annotations")
    permission, side_effect = _meaning_of(_hint(annotations, _READ_ONLY), _hint(annotations, _DESTRUCTIVE))
    metadata = _said(unknown(entry, _KNOWN | {"annotations"}))
    other = _said(unknown(annotations, _UNDERSTOOD))
    if other:
        metadata["annotations"] = other
    return {
        "name": text(entry, "name", required=True),
        "description": text(entry, "description"),
        "parameters": schema(entry, "inputSchema"),
        "returns": schema(entry, "outputSchema") if entry.get("outputSchema") is not None else None,
        "permission": permission,
        "side_effect": side_effect,
        "idempotent": _hint(annotations, _IDEMPOTENT),
        "trust": Trust.UNTRUSTED,
        "metadata": metadata,
    }


def _said(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without null: the protocol's libraries write null for whatever a server has left out."""
    return {key: value for key, value in values.items() if value is not None}


def _hint(annotations: Mapping[str, Any], name: str) -> bool | None:
    value = annotations.get(name)
    if value is not None and not isinstance(value, bool):
        raise ToolFormatError(f"must be true or false, not {json_type(value)}", field=f"annotations.{name}")
    return value


def _meaning_of(read_only: bool | None, destructive: bool | None) -> tuple[Permission | None, SideEffect | None]:
    """Permission and side effect that the two hints stand for (``destructiveHint`` counts only for writing tools).

    | readOnlyHint | destructiveHint | permission      | side effect |
    | true         | any             | safe_read       | none        |
    | not true     | true            | high_risk_write | delete      |
    | not true     | false           | low_risk_write  | write       |
    | false        | missing         | high_risk_write | write       | (the protocol's default is destructive)
    | missing      | missing         | not said        | not said    |
    """
    if read_only:
        return Permission.SAFE_READ, SideEffect.NONE
    if destructive:
        return Permission.HIGH_RISK_WRITE, SideEffect.DELETE
    if destructive is False:
        return Permission.LOW_RISK_WRITE, SideEffect.WRITE
    if read_only is False:
        return Permission.HIGH_RISK_WRITE, SideEffect.WRITE
    return None, None


def _put_permission(entry: Entry, value: Permission | None) -> None:
    reads = value in (Permission.SAFE_READ, Permission.SENSITIVE_READ)
    _put_hint(entry, _READ_ONLY, None if value is None else reads)
    _put_hint(entry, _DESTRUCTIVE, None if value is None or reads else value is Permission.HIGH_RISK_WRITE)


def _put_side_effect(entry: Entry, value: SideEffect | None) -> None:
    """Refines what the permission has written: a risky write that deletes nothing is destructive by default only."""
    if value is SideEffect.WRITE and entry.get("annotations", {}).get(_DESTRUCTIVE):
        _put_hint(entry, _DESTRUCTIVE, None)


def _put_hint(entry: Entry, name: str, value: bool | None) -> None:
    annotations = dict(entry.get("annotations") or {})
    put_key(name)(annotations, value)
    put_key("annotations")(entry, annotations or None)


def _put_metadata(entry: Entry, value: Mapping[str, Any]) -> None:
    hints = {name: hint for name, hint in (entry.get("annotations") or {}).items() if name in _UNDERSTOOD}
    put_unknown(_KNOWN)(entry, {key: inner for key, inner in value.items() if key != "annotations"})
    other = value.get("annotations")
    if isinstance(other, dict):
        hints |= unknown(other, _UNDERSTOOD)
    put_key("annotations")(entry, hints or None)


def _put_returns(entry: Entry, value: dict[str, Any] | None) -> None:
    # The protocol wants an object here; anything else would make the whole list invalid.
    put_key("outputSchema")(entry, value if value is not None and value.get("type") == "object" else None)


MCP = Shape(
    name="mcp",
    matches=lambda entry: "inputSchema" in entry,
    read=_read,
    blank=dict,
    put={
        "name": put_key("name"),
        "description": put_key("description"),
        "parameters": put_key("inputSchema"),
        "returns": _put_returns,
        "metadata": _put_metadata,
        "permission": _put_permission,
        "side_effect": _put_side_effect,
        "idempotent": lambda entry, value: _put_hint(entry, _IDEMPOTENT, value),
    },
    place=lambda _entry, name: {"parameters": "inputSchema", "returns": "outputSchema"}.get(name, name),
)
