"""From a validator's errors to one line per argument: what was expected there and what came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from jsonschema_rs import ValidationError, ValidationErrorKind

from ..errors import did_you_mean
from ..json_values import json_path
from ..schemas.keywords import Path, Schema
from ..schemas.references import look_up
from .expectations import cut, describe_schema, describe_value

WHOLE = "$"
"""The path of what is wrong with the arguments as a whole."""

MAX_FAULTS = 50
"""Lines given back at most: nobody corrects more at once, and hostile input could ask for millions."""

_CHOICES = (ValidationErrorKind.AnyOf, ValidationErrorKind.OneOfNotValid)
_UNEXPECTED = (ValidationErrorKind.AdditionalProperties, ValidationErrorKind.UnevaluatedProperties)


def field_lines(errors: Iterable[ValidationError], schema: Schema) -> dict[str, str]:
    """Argument path to what is wrong there, at most `MAX_FAULTS` paths.

    Args:
        errors: what the validator found.
        schema: the schema that it was made from.
    """
    lines: dict[str, str] = {}
    for path, line in _lines(errors, schema):
        place = json_path(path) or WHOLE
        if place not in lines:
            if len(lines) == MAX_FAULTS:
                lines[WHOLE] = f"only the first {MAX_FAULTS} problems are listed"
                break
            lines[place] = line
        elif line not in lines[place]:
            lines[place] += f"; {line}"
    return lines


def type_faults(errors: Iterable[ValidationError]) -> Iterator[tuple[Path, list[str]]]:
    """Where a value has the wrong type, and the types that would be right; of a choice, the likeliest branch."""
    for error in errors:
        if isinstance(error.kind, ValidationErrorKind.Type):
            yield tuple(error.instance_path), error.kind.types
        elif isinstance(error.kind, _CHOICES):
            here = len(error.instance_path)
            for branch in error.kind.context:
                yield from type_faults(inner for inner in branch if len(inner.instance_path) == here)
            meant = _meant(error)
            if meant:
                yield from type_faults(_likeliest(meant))


def _lines(errors: Iterable[ValidationError], schema: Schema) -> Iterator[tuple[Path, str]]:
    for error in islice(errors, 20 * MAX_FAULTS):
        kind, path = error.kind, tuple(error.instance_path)
        meant = _meant(error)
        if meant:
            yield from _telling_lines(meant) or _lines(_likeliest(meant), schema)
        elif isinstance(kind, _UNEXPECTED):
            known = list(_holder(error, schema).get("properties", {}))
            for name in kind.unexpected[: MAX_FAULTS + 1]:
                hint = did_you_mean(name, known) or f" (known: {cut(', '.join(known))})" if known else ""
                yield (*path, name), f"unknown argument{hint}"
        elif isinstance(kind, ValidationErrorKind.Required):
            yield (*path, kind.property), _missing(error, kind.property, schema)
        else:
            yield path, f"expected {_expected(error, schema)}, got {describe_value(error.instance)}"


def _meant(error: ValidationError) -> list[list[ValidationError]]:
    """The errors of those branches that the value fits on the outside: whatever is wrong lies inside it."""
    if not isinstance(error.kind, _CHOICES):
        return []
    here = len(error.instance_path)
    return [branch for branch in error.kind.context if branch and all(_is_inside(inner, here) for inner in branch)]


def _likeliest(meant: list[list[ValidationError]]) -> list[ValidationError]:
    """The errors of the branch with the fewest; constants count most, since they tell branches apart."""
    return min(meant, key=lambda branch: (sum(_is_telling(inner) for inner in branch), len(branch)))


def _telling_lines(meant: list[list[ValidationError]]) -> list[tuple[Path, str]]:
    """One line for each value that should have told the branches apart and belongs to none of them."""
    if len(meant) < 2:
        return []
    options: list[dict[Path, list[Any]]] = []
    for branch in meant:
        options.append({tuple(error.instance_path): _options(error) for error in branch if _is_telling(error)})
    values = {tuple(error.instance_path): error.instance for error in meant[0]}
    lines = []
    for path in options[0]:
        if all(path in known for known in options):
            wanted = describe_schema({"enum": [option for known in options for option in known[path]]}, {})
            lines.append((path, f"expected {wanted}, got {describe_value(values[path])}"))
    return lines


def _is_telling(error: ValidationError) -> bool:
    return isinstance(error.kind, (ValidationErrorKind.Constant, ValidationErrorKind.Enum))


def _options(error: ValidationError) -> list[Any]:
    if isinstance(error.kind, ValidationErrorKind.Constant):
        return [error.kind.expected_value]
    return list(error.kind.options) if isinstance(error.kind, ValidationErrorKind.Enum) else []


def _is_inside(error: ValidationError, depth: int) -> bool:
    return len(error.instance_path) > depth or isinstance(error.kind, (*_UNEXPECTED, ValidationErrorKind.Required))


def _missing(error: ValidationError, name: str, schema: Schema) -> str:
    holder = _holder(error, schema)
    wanted = holder.get("properties", {}).get(name, schema.get("properties", {}).get(name, True))
    condition = " together with the others" if error.schema_path[-1] == "dependentRequired" else ""
    expected = describe_schema(wanted, schema)
    present = error.instance if isinstance(error.instance, dict) else {}
    given = [key for key in present if key not in holder.get("properties", {})]
    hint = did_you_mean(name, given).replace("did you mean", "is it what you call")
    return f"required{condition} but missing{hint}: expected {expected}"


def _expected(error: ValidationError, schema: Schema) -> str:
    """The phrase after "expected"; what the holding schema says as a whole, unless the keyword needs its own words."""
    kind, holder = error.kind, _holder(error, schema)
    if isinstance(kind, ValidationErrorKind.FalseSchema):
        return "nothing here"
    if isinstance(kind, ValidationErrorKind.Not):
        return f"anything but {describe_schema(holder.get('not', True), schema)}"
    if isinstance(kind, ValidationErrorKind.Contains):
        return f"an array with an item that is {describe_schema(holder.get('contains', True), schema)}"
    if isinstance(kind, ValidationErrorKind.OneOfMultipleValid):
        return f"only one of: {describe_schema({'anyOf': holder.get('oneOf', [])}, schema)}"
    if isinstance(kind, ValidationErrorKind.PropertyNames):
        return f"other names of keys ({cut(kind.error.message)})"
    return describe_schema(holder, schema)


def _holder(error: ValidationError, schema: Schema) -> Schema:
    """The schema that holds the keyword which failed."""
    steps = [str(step) for step in error.schema_path]
    for end in (len(steps) - 1, len(steps) - 2):
        found: Any = look_up(schema, tuple(steps[: max(end, 0)]))
        if isinstance(found, dict):
            return found
    return {}
