"""References in arguments: ``{"$from": "c1", "path": "items[0].id"}`` stands for a part of an earlier call's result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FROM, PATH = "$from", "path"
MAX_DEPTH = 100

_STEPS = re.compile(r"(?:[^.\[\]]+|\[\d{1,9}\])(?:\.[^.\[\]]+|\[\d{1,9}\])*")
_FIRST = re.compile(r"[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference.

    Attributes:
        at: where it stands in the arguments, such as ``"filter.ids[0]"``.
        call: id of the call that it takes its value from.
        path: where in that call's result; "" for all of it.
        problem: what is wrong with its form, "" when nothing is.
    """

    at: str
    call: str
    path: str
    problem: str = ""


def find_references(arguments: Mapping[str, Any]) -> Iterator[Reference]:
    """All references in `arguments`, also malformed ones, outermost first; none is looked for inside another."""
    for name, value in arguments.items():
        yield from _find(value, str(name), 0)


def _find(value: Any, at: str, depth: int) -> Iterator[Reference]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        if FROM in value:
            yield _read(value, at)
            return
        for name, inner in value.items():
            yield from _find(inner, f"{at}.{name}", depth + 1)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _find(inner, f"{at}[{place}]", depth + 1)


def _read(value: dict[str, Any], at: str) -> Reference:
    call, path = value[FROM], value.get(PATH, "")
    if not isinstance(call, str) or not isinstance(path, str):
        return Reference(at, str(call), "", f"{FROM} and {PATH} must be texts")
    if unknown := sorted(key for key in value if key not in (FROM, PATH)):
        return Reference(at, call, path, f"a reference has {FROM} and {PATH}, not {', '.join(map(repr, unknown))}")
    if path and not _STEPS.fullmatch(path):
        return Reference(at, call, path, f"{path!r} is no path; write for example items[0].id")
    return Reference(at, call, path)


def path_problem(path: str, returns: Mapping[str, Any] | None) -> str:
    """Why `path` cannot exist in a result of the schema `returns`; "" when it can, or nothing is known.

    Only the first name is checked, and only against a schema that lists the properties of an object.
    """
    first = _FIRST.match(path)
    properties = (returns or {}).get("properties")
    if first is None or not isinstance(properties, dict) or not properties or first.group() in properties:
        return ""
    if (returns or {}).get("additionalProperties", False) is not False:
        return ""
    return f"the result has no {first.group()!r}; it has {', '.join(sorted(properties))}"


def covers(reference: str, place: str) -> bool:
    """Whether a fault at `place` is about the value that the reference at `reference` stands for."""
    return place == reference or place.startswith((f"{reference}.", f"{reference}[")) or _is_around(place, reference)


def _is_around(place: str, reference: str) -> bool:
    return reference.startswith((f"{place}.", f"{place}["))


def renamed(value: Any, name_of: Callable[[str], str]) -> Any:
    """A copy of `value` whose references name their calls by ``name_of(id)``."""
    if isinstance(value, dict):
        if FROM in value:
            return {**value, FROM: name_of(value[FROM])}
        return {name: renamed(inner, name_of) for name, inner in value.items()}
    if isinstance(value, list):
        return [renamed(inner, name_of) for inner in value]
    return value
