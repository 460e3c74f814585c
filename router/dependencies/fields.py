"""What a tool needs and what it gives, read from its two schemas: required parameters, and properties of its result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...catalog import Tool
from ...catalog.schemas import walk_parameters
from .words import Key, Naming, key_of

MAX_NEEDS = 30
"""Required parameters of one tool that are looked at."""
MAX_GIFTS = 200
"""Properties of one result that are looked at; outer ones come first."""
RESULT_DEPTH = 4
"""Levels of a result that are looked at: ``data.items[].owner.id``."""

_ITEM = re.compile(r"\[\]")
_SCALARS = frozenset(("string", "integer", "number", "boolean"))


@dataclass(frozen=True, slots=True)
class Need:
    """A required parameter that another tool might fill.

    Attributes:
        parameter: its name.
        key: the words of its name; those of what the tool is about before a bare "id".
        types: JSON types of its values; empty: any.
        form: its `format`, "" when it has none.
        description: its description.
    """

    parameter: str
    key: Key
    types: frozenset[str]
    form: str
    description: str


@dataclass(frozen=True, slots=True)
class Gift:
    """A property of a tool's result.

    Attributes:
        path: as a reference writes it; the first item of a list stands for the list ("users[0].id").
        key: the words of its name.
        within: the words of what it stands in, or of what the tool is about: "user" for the ``id`` in ``users[]``.
        types: JSON types of its values; empty: any.
        form: its `format`.
        listed: it stands in a list, so that one of several must be chosen.
    """

    path: str
    key: Key
    within: Key
    types: frozenset[str]
    form: str
    listed: bool

    @property
    def keys(self) -> tuple[Key, ...]:
        """The names under which a parameter may ask for it: its own, and that behind what it is within."""
        full = (*self.within, *self.key)
        return (self.key, full) if self.within and self.key[: len(self.within)] != self.within else (self.key,)


def needs_of(tool: Tool, naming: Naming) -> list[Need]:
    """The required parameters at the top of `tool` that no person would rather choose: no enums, no switches."""
    return list(_needs(tool, naming))[:MAX_NEEDS]


def _needs(tool: Tool, naming: Naming) -> Iterator[Need]:
    if not tool.parameters.get("required"):
        return
    for parameter in walk_parameters(tool.parameters, max_depth=1):
        schema = parameter.schema
        types = _types(schema)
        if not parameter.required or types == {"boolean"} or schema.keys() & {"enum", "const", "default"}:
            continue
        key = key_of(parameter.name)
        if len(key) == 1 and naming.thing:
            key = _about(naming, key)
        if key:
            yield Need(parameter.name, key, types, _form(schema), parameter.description)


def _about(naming: Naming, key: Key) -> Key:
    """A bare "id" asks for that of the tool's thing; every other single word asks for itself."""
    return (*naming.thing, *key) if key in (("id",), ("ids",), ("uuid",)) else key


def gifts_of(tool: Tool, naming: Naming) -> list[Gift]:
    """The properties of the result of `tool`, outer ones first; none where nobody describes the result."""
    if not tool.returns:
        return []
    found = sorted(_gifts(tool.returns, naming), key=lambda gift: gift.path.count("."))
    return found[:MAX_GIFTS]


def _gifts(returns: Mapping[str, Any], naming: Naming) -> Iterator[Gift]:
    for parameter in walk_parameters(dict(returns), max_depth=RESULT_DEPTH):
        if "*" in parameter.path or not (key := key_of(parameter.name)):
            continue
        outer = parameter.path.split(".")[:-1]
        holder = next((name for name in map(_holder, reversed(outer)) if name), ())
        yield Gift(
            path=_ITEM.sub("[0]", parameter.path),
            key=key,
            within=holder or naming.thing,
            types=_types(parameter.schema),
            form=_form(parameter.schema),
            listed="[]" in parameter.path,
        )


_WRAPPERS = frozenset(
    "data result results response item items record records object list output body payload content value".split()  # noqa: SIM905
)


def _holder(step: str) -> Key:
    """The name of a property that others stand in; () for those that only wrap a result."""
    name = step.replace("[]", "")
    return () if name.casefold() in _WRAPPERS else key_of(name)


def _form(schema: Mapping[str, Any]) -> str:
    form = schema.get("format", "")
    return form if isinstance(form, str) else ""


def _types(schema: Mapping[str, Any]) -> frozenset[str]:
    """The JSON types that a schema allows, null apart; empty when it does not say."""
    declared = schema.get("type")
    names = [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else []
    for branch in [*_list(schema.get("anyOf")), *_list(schema.get("oneOf"))]:
        if isinstance(branch, dict):
            names = [*names, *_types(branch)]
    return frozenset(name for name in names if isinstance(name, str) and name != "null")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def types_fit(needed: frozenset[str], given: frozenset[str]) -> bool:
    """Whether a value of a type in `given` may be one of a type in `needed`; what is not said may be anything.

    An integer is a number. Whole objects and lists do not pass for one another under a common name unless both say so.
    """
    if not needed or not given:
        return True
    return (
        bool(needed & given)
        or ("number" in needed and "integer" in given)
        or ("integer" in needed and "number" in given)
    )
