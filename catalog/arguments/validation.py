"""Arguments against a tool's schema: everything that is wrong, by name, in words that a model can act on."""

from __future__ import annotations

import copy
import re
import threading
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from jsonschema_rs import Validator

from ..errors import ToolError
from ..json_values import json_fault
from ..schemas.keywords import Path, Schema
from ..schemas.normalise import compile_schema
from ..tool import Tool
from .expectations import describe_value
from .faults import WHOLE, field_lines, type_faults

MAX_VALUES = 100_000
"""Values that the arguments of one call may hold; listing what is wrong with more would take seconds."""

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,999})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,299})(\.[0-9]{1,300})?([eE][+-]?[0-9]{1,3})?")
_UNCHANGED = object()


def validate_arguments(target: Tool | Schema, arguments: Mapping[str, Any], *, coerce: bool = False) -> dict[str, Any]:
    """The arguments, once they fit; nothing is filled in.

    Formats (date, date-time, e-mail, URI, UUID, IP addresses, ...) are checked.

    Args:
        target: the tool, or a schema of parameters. A schema must not be changed after its first use here.
        arguments: argument name to JSON value.
        coerce: turn text into the number or boolean that the schema wants where nothing is lost by it ("5" to 5,
            "0.5" to 0.5, "true" to True), also inside objects and lists. All other values stay as they are.

    Returns:
        A new dictionary; the values are shared with `arguments` where nothing was converted.

    Raises:
        ToolError: of type validation_error. Its ``fields`` say for each path what was expected and what came; "$"
            stands for the arguments as a whole.
        SchemaError: `target` is a schema that is not valid.

    Example:
        >>> schema = {"properties": {"limit": {"type": "integer", "minimum": 1}}}
        >>> validate_arguments(schema, {"limit": "5"}, coerce=True)
        {'limit': 5}
        >>> validate_arguments(schema, {"limit": None})
        Traceback (most recent call last):
        ...
        toolpath.catalog.errors.ToolError: 1 argument does not fit: limit: expected integer of at least 1, got null
    """
    name, schema = (target.name, target.parameters) if isinstance(target, Tool) else ("", target)
    if not isinstance(arguments, dict):
        if not isinstance(arguments, Mapping):
            raise _refused(name, {WHOLE: f"expected an object of arguments, got {describe_value(arguments)}"})
        arguments = dict(arguments)
    fault = json_fault(arguments, max_values=MAX_VALUES)
    if fault is not None:
        raise _refused(name, {fault.path or WHOLE: fault.reason})
    validator = _VALIDATORS.of(schema)
    if validator.is_valid(arguments):
        return dict(arguments)
    if coerce:
        arguments = _coerced(arguments, validator)
    lines = field_lines(validator.iter_errors(arguments), schema)
    if lines:
        raise _refused(name, lines)
    return dict(arguments)


def _refused(name: str, lines: dict[str, str], shown: int = 3) -> ToolError:
    number = f"{len(lines)} arguments do not fit" if len(lines) > 1 else "1 argument does not fit"
    of = f" what {name!r} takes" if name else ""
    some = "; ".join(f"{path}: {line}" for path, line in list(lines.items())[:shown])
    more = f"; and {len(lines) - shown} more" if len(lines) > shown else ""
    return ToolError(f"{number}{of}: {some}{more}", "validation_error", fields=lines)


def _coerced(arguments: dict[str, Any], validator: Validator) -> dict[str, Any]:
    """A copy with each text converted that the validator finds of the wrong type, as long as that helps."""
    arguments = copy.deepcopy(arguments)
    # Only text turns into something else, so every round has less of it left. A second round is needed where a
    # choice between schemas shows its inner errors only after the outer ones are gone.
    while True:
        changed = False
        for path, kinds in type_faults(validator.iter_errors(arguments)):
            if path and _convert_at(arguments, path, kinds):
                changed = True
        if not changed:
            return arguments


def _convert_at(arguments: dict[str, Any], path: Path, kinds: list[str]) -> bool:
    holder: Any = arguments
    for step in path[:-1]:
        holder = holder[step]
    text = holder[path[-1]]
    value = _converted(text, kinds) if isinstance(text, str) else _UNCHANGED
    if value is _UNCHANGED:
        return False
    holder[path[-1]] = value
    return True


def _converted(text: str, kinds: list[str]) -> Any:
    """The value that `text` writes in one of the `kinds`, if writing it back loses nothing that counts."""
    if "integer" in kinds or "number" in kinds:
        if _INTEGER.fullmatch(text) and text != "-0":
            return int(text)
        if "number" in kinds and _NUMBER.fullmatch(text):
            number = float(text)
            if Decimal(repr(number)) == Decimal(text):
                return number
    if "boolean" in kinds and text in ("true", "false"):
        return text == "true"
    return _UNCHANGED


class _ValidatorCache:
    """Compiled validators by the identity of their schema, the oldest dropped when there are too many.

    The schema is kept beside its validator, so that its identity cannot pass to another object meanwhile.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._entries: dict[int, tuple[Schema, Validator]] = {}

    def of(self, schema: Schema) -> Validator:
        entry = self._entries.get(id(schema))
        if entry is not None:
            return entry[1]
        validator = compile_schema(schema)
        with self._lock:
            self._entries[id(schema)] = (schema, validator)
            if len(self._entries) > self._limit:
                del self._entries[next(iter(self._entries))]
        return validator


_VALIDATORS = _ValidatorCache(limit=4096)
