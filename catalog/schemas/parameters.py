"""Every parameter of a tool, however deep: what the router indexes and reads arguments by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ..errors import SchemaError
from .keywords import Schema
from .merging import same_json
from .references import look_up, pointer_of

MAX_PARAMETERS = 10_000
"""Where the walk stops: a schema of mutually recursive parts has endlessly many parameters."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter, at the top or inside another.

    Attributes:
        path: from the top, such as ``"query"``, ``"filter.date_from"`` or ``"items[].sku"``; ``*`` stands for a key
            that the caller chooses.
        name: the last name of the path.
        schema: its schema with an outermost reference resolved (inner ones still need the tool's ``$defs``).
        description: its description, or its title, or "".
        required: whether every valid call has it; for a member of a list: every member of a list that every call has.
        depth: how many parameters it stands in; 0 at the top.
    """

    path: str
    name: str
    schema: Schema
    description: str
    required: bool
    depth: int


@dataclass(frozen=True, slots=True)
class _Place:
    """A schema on the way down, and what was passed to reach it."""

    schema: Schema
    path: str
    required: bool
    depth: int
    entered: frozenset[str]


def walk_parameters(schema: Schema, max_depth: int = 6) -> Iterator[Parameter]:
    """Yields the parameters that `schema` describes, each path once, outer before inner, in the schema's order.

    Descends into nested objects, list items, values of free-form maps, and all branches of ``anyOf``, ``oneOf``,
    ``allOf`` and conditions; what branches say differently about one path comes as ``anyOf``. A recursive part is
    entered once on each way down. Stops after `MAX_PARAMETERS`.

    Args:
        schema: parameters of a tool, best in normal form.
        max_depth: levels of parameters to yield; 1 gives the top level only.

    Raises:
        SchemaError: a reference leads nowhere.

    Example:
        >>> schema = {"properties": {"items": {"type": "array", "items": {"properties": {"sku": {"type": "string"}}}}}}
        >>> [parameter.path for parameter in walk_parameters(schema)]
        ['items', 'items[].sku']
    """
    top = _Place(schema, "", True, 0, frozenset())
    return islice(_walk(top, schema, max_depth), MAX_PARAMETERS)


@dataclass(slots=True)
class _Member:
    """What the branches at one level say about one name.

    Attributes:
        schemas: what the name's value may be, references resolved.
        inner: those of `schemas` that the way down has not been through yet.
        required: whether any part that always applies requires it.
        entered: references that the way to the value went through.
    """

    schemas: list[Schema]
    inner: list[Schema]
    required: bool
    entered: frozenset[str]


def _walk(place: _Place, document: Schema, max_depth: int) -> Iterator[Parameter]:
    if place.depth >= max_depth:
        return
    members: dict[str, _Member] = {}
    _collect(place.schema, place.entered, certain=True, document=document, into=members)
    for key, member in members.items():
        inner = _any_of(member.inner)
        if key == "[]":
            item = _Place(inner, f"{place.path}[]", place.required, place.depth, member.entered)
            yield from _walk(item, document, max_depth)
            continue
        path = f"{place.path}.{key}" if place.path else key
        required = place.required and member.required
        yield Parameter(path, key, _any_of(member.schemas), _description(member.schemas), required, place.depth)
        yield from _walk(_Place(inner, path, required, place.depth + 1, member.entered), document, max_depth)


def _any_of(schemas: list[Schema]) -> Schema:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas} if schemas else {}


def _collect(
    schema: Schema, entered: frozenset[str], *, certain: bool, document: Schema, into: dict[str, _Member]
) -> None:
    """Gathers the names directly inside `schema`, over all its branches.

    Args:
        schema: what describes the value.
        entered: references that the way to here went through.
        certain: whether this part applies to every value, and not just to those that take this branch.
        document: where references lead.
        into: name (``[]`` for list items, ``*`` for free keys) to what is known of it.
    """
    schema, entered, again = _resolved(schema, entered, document)
    if again:
        return
    required = schema.get("required", []) if certain else []
    found = list(schema.get("properties", {}).items())
    found += [("*", child) for child in schema.get("patternProperties", {}).values()]
    found += [("*", schema["additionalProperties"])] if isinstance(schema.get("additionalProperties"), dict) else []
    found += [("[]", child) for child in schema.get("prefixItems", [])]
    found += [("[]", schema["items"])] if isinstance(schema.get("items"), dict) else []
    for name, child in found:
        if child is False:
            continue  # The name is named in order to forbid it.
        known, inside, again = _resolved({} if child is True else child, entered, document)
        member = into.setdefault(name, _Member([], [], False, inside))
        member.required = member.required or name in required
        member.entered |= inside
        if not any(same_json(known, other) for other in member.schemas):
            member.schemas.append(known)
            if not again:
                member.inner.append(known)
    branches = [(child, certain) for child in schema.get("allOf", [])]
    branches += [(child, False) for keyword in ("anyOf", "oneOf") for child in schema.get(keyword, [])]
    branches += [(schema[keyword], False) for keyword in ("then", "else") if keyword in schema]
    branches += [(child, False) for child in schema.get("dependentSchemas", {}).values()]
    for branch, always in branches:
        if isinstance(branch, dict):
            _collect(branch, entered, certain=always, document=document, into=into)


def _resolved(schema: Schema, entered: frozenset[str], document: Schema) -> tuple[Schema, frozenset[str], bool]:
    """`schema` with the reference at its top replaced by what it leads to.

    Returns:
        The schema, the references entered so far, and whether this one had been entered on the way here already.
    """
    followed: set[str] = set()
    again = False
    while "$ref" in schema:
        reference = schema["$ref"]
        beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
        if reference in followed:
            return beside, entered, True
        followed.add(reference)
        again = again or reference in entered
        try:
            target = look_up(document, pointer_of(reference, document))
        except LookupError:
            raise SchemaError(f"the reference {reference!r} leads nowhere") from None
        schema = (target if isinstance(target, dict) else {}) | beside
    return schema, entered | followed, again


def _description(schemas: list[Schema]) -> str:
    for keyword in ("description", "title"):
        for schema in schemas:
            text = schema.get(keyword)
            if isinstance(text, str) and text:
                return text
    return ""
