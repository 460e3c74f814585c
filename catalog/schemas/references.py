"""Local references: inlined where the schema ends, kept with their ``$defs`` where it goes round in circles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import jsonschema_rs

from ..errors import SchemaError
from ..json_values import MAX_DEPTH, place
from .dialects import dialect_of, modernise
from .keywords import IN_PLACE, Path, Schema, children, map_children
from .merging import conjunction

MAX_INLINED = 20_000
"""Schemas that inlining may produce; beyond that all references are kept (doubling definitions explode otherwise)."""

Pointer = tuple[str, ...]
"""Tokens of a JSON pointer; () is the whole document."""


@dataclass(frozen=True, slots=True)
class _Body:
    """A schema that references lead to, and what it refers to itself.

    Attributes:
        schema: the body, modernised, its own references untouched.
        uses: pointer to the number of references to it.
        deepest: pointer to the deepest level at which it is referred to.
        in_place: pointers that describe the same value as this body (no property or item in between).
        size: schemas in the body.
        depth: levels of the body.
    """

    schema: Schema
    uses: Counter[Pointer]
    deepest: dict[Pointer, int]
    in_place: frozenset[Pointer]
    size: int
    depth: int


def resolve_references(document: Schema) -> Schema:
    """The document in draft 2020-12, valid, with each reference inlined or pointing into ``$defs``.

    A reference is kept when what it leads to refers back to itself, or when inlining would give more than
    `MAX_INLINED` schemas or go deeper than `MAX_DEPTH`. ``#`` stays. Definitions that nobody uses are dropped.

    Raises:
        SchemaError: a reference leads out of the document, nowhere, or to itself without a level in between; or a
            part is not a valid schema.
    """
    bodies = _reachable_bodies(document)
    root = bodies[()]
    if not root.uses:
        return root.schema
    endless = _on_cycles({pointer: body.in_place for pointer, body in bodies.items()})
    if endless:
        names = ", ".join(sorted("#" + "".join(f"/{token}" for token in pointer) for pointer in endless))
        raise SchemaError(f"references go round in a circle without ever reaching a value: {names}")
    kept = _on_cycles({pointer: body.uses for pointer, body in bodies.items()})
    if not _fits(bodies, kept):
        kept = set(bodies) if () in kept else set(bodies) - {()}
    return _Inliner(document, bodies, kept).document()


def pointer_of(reference: Any, document: Schema) -> Pointer:
    """The tokens of a local reference; a reference to the document's own ``$id`` counts as local.

    Raises:
        SchemaError: the reference leads out of the document, or is not text.
    """
    if not isinstance(reference, str):
        raise SchemaError(f"'$ref' must be a string, not {reference!r}")
    base, _, fragment = reference.partition("#")
    if base and base != str(document.get("$id", document.get("id", ""))).partition("#")[0]:
        raise SchemaError(f"the reference {reference!r} leads out of the schema; copy what it names into '$defs'")
    fragment = unquote(fragment)
    if not fragment:
        return ()
    if not fragment.startswith("/"):
        anchored = _anchored(document, fragment)
        if anchored is None:
            raise SchemaError(f"the reference {reference!r} names an anchor that is not in the schema")
        return anchored
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in fragment[1:].split("/"))


def look_up(document: Schema, pointer: Pointer) -> Any:
    """What stands at `pointer`.

    Raises:
        LookupError: nothing does.
    """
    found: Any = document
    for token in pointer:
        if isinstance(found, list):
            if not token.isdecimal():
                raise LookupError(token)
            found = found[int(token)]
        elif isinstance(found, dict):
            found = found[token]
        else:
            raise LookupError(token)
    return found


def _reachable_bodies(document: Schema) -> dict[Pointer, _Body]:
    dialect = dialect_of(document)
    bodies: dict[Pointer, _Body] = {}
    waiting: list[tuple[Pointer, str]] = [((), "")]
    while waiting:
        pointer, referrer = waiting.pop()
        if pointer in bodies:
            continue
        try:
            found = look_up(document, pointer)
        except LookupError:
            raise SchemaError(f"{referrer}: the reference '#/{'/'.join(pointer)}' leads nowhere") from None
        if isinstance(found, bool):
            found = {} if found else {"not": {}}
        if not isinstance(found, dict):
            raise SchemaError(f"{referrer}: the reference '#/{'/'.join(pointer)}' does not lead to a schema")
        schema = modernise(found, dialect, pointer)
        check_against_metaschema(schema, pointer)
        body, referrers = _survey(schema, document, pointer)
        bodies[pointer] = body
        waiting.extend(referrers.items())
    return bodies


def check_against_metaschema(schema: Schema, path: Path = ()) -> None:
    """Checks the form of a schema in draft 2020-12.

    Raises:
        SchemaError: names the path of the part that is wrong.
    """
    try:
        jsonschema_rs.meta.validate(schema)
    except jsonschema_rs.ValidationError as fault:
        where = (*path, *fault.instance_path)
        what = fault.message
        if where and where[-1] == "type":
            what = f"{fault.instance!r} is not a type; use string, number, integer, boolean, array, object or null"
        raise SchemaError(f"{place(where)}: {_cut(what)}") from None


def _survey(schema: Schema, document: Schema, pointer: Pointer) -> tuple[_Body, dict[Pointer, str]]:
    uses: Counter[Pointer] = Counter()
    deepest: dict[Pointer, int] = {}
    in_place: set[Pointer] = set()
    referrers: dict[Pointer, str] = {}
    size = depth = 0
    stack: list[tuple[Schema, Path, int, bool]] = [(schema, (), 1, True)]
    while stack:
        node, path, level, here = stack.pop()
        size, depth = size + 1, max(depth, level)
        if "$ref" in node:
            where = place((*pointer, *path))
            try:
                target = pointer_of(node["$ref"], document)
            except SchemaError as error:
                raise SchemaError(f"{where}: {error}") from None
            uses[target] += 1
            deepest[target] = max(deepest.get(target, 0), level)
            referrers.setdefault(target, where)
            if here:
                in_place.add(target)
        for step, child in children(node):
            stack.append((child, path + step, level + 1, here and step[0] in IN_PLACE))
    return _Body(schema, uses, deepest, frozenset(in_place), size, depth), referrers


def _on_cycles(edges: Mapping[Pointer, Iterable[Pointer]]) -> set[Pointer]:
    """The pointers on a cycle, and those that lie on a way from one cycle to another."""
    forward = {pointer: set(targets) for pointer, targets in edges.items()}
    backward: dict[Pointer, set[Pointer]] = {pointer: set() for pointer in forward}
    for pointer, targets in forward.items():
        for target in targets:
            backward[target].add(pointer)
    return set(forward) - set(_peeled(forward, backward)) - set(_peeled(backward, forward))


def _peeled(outgoing: Mapping[Pointer, set[Pointer]], incoming: Mapping[Pointer, set[Pointer]]) -> list[Pointer]:
    """The pointers from which no cycle can be reached, each after everything that it leads to (Kahn, 1962)."""
    left = {pointer: len(targets) for pointer, targets in outgoing.items()}
    order = [pointer for pointer, count in left.items() if count == 0]
    for pointer in order:
        for other in incoming[pointer]:
            left[other] -= 1
            if left[other] == 0:
                order.append(other)
    return order


def _inlining_order(bodies: Mapping[Pointer, _Body], kept: set[Pointer]) -> list[Pointer]:
    """The bodies that are inlined, each after everything that is inlined into it."""
    outgoing = {p: {target for target in body.uses if target not in kept} for p, body in bodies.items()}
    incoming: dict[Pointer, set[Pointer]] = {pointer: set() for pointer in bodies}
    for pointer, targets in outgoing.items():
        for target in targets:
            incoming[target].add(pointer)
    return _peeled(outgoing, incoming)


def _fits(bodies: Mapping[Pointer, _Body], kept: set[Pointer]) -> bool:
    """Whether the document stays within `MAX_INLINED` and `MAX_DEPTH` with all but the `kept` bodies inlined."""
    size: dict[Pointer, int] = {}
    depth: dict[Pointer, int] = {}
    for pointer in _inlining_order(bodies, kept):
        body = bodies[pointer]
        inlined = [target for target in body.uses if target not in kept]
        size[pointer] = body.size + sum(body.uses[target] * size[target] for target in inlined)
        depth[pointer] = max([body.depth, *(body.deepest[target] - 1 + depth[target] for target in inlined)])
    written = kept | {()}
    # One level of schemas takes at most two levels of JSON, and each kept body stands below "$defs".
    return (
        sum(size[pointer] for pointer in written) <= MAX_INLINED
        and 2 * max(depth[pointer] for pointer in written) + 2 < MAX_DEPTH
    )


class _Inliner:
    """Writes the document anew, once it is known which bodies are kept."""

    def __init__(self, document: Schema, bodies: Mapping[Pointer, _Body], kept: set[Pointer]) -> None:
        self._source = document
        self._bodies = bodies
        self._kept = kept
        self._names = _names([pointer for pointer in bodies if pointer in kept and pointer])
        self._inlined: dict[Pointer, Schema] = {}

    def document(self) -> Schema:
        for pointer in _inlining_order(self._bodies, self._kept):
            self._inlined[pointer] = self._inline(self._bodies[pointer].schema)
        root = self._inlined[()]
        pointers = {self._reference(pointer): pointer for pointer in self._kept}
        while "$ref" in root:  # The top level must show its properties; a cycle in place has been ruled out.
            root = _with_target(root, self._inlined[pointers[root["$ref"]]])
        definitions = {name: self._inlined[pointer] for pointer, name in self._names.items()}
        return {**root, "$defs": definitions} if definitions else root

    def _inline(self, schema: Schema) -> Schema:
        node = map_children(schema, lambda child, _step: self._inline(child))
        if "$ref" not in node:
            return node
        pointer = pointer_of(node["$ref"], self._source)
        if pointer in self._kept:
            return {**node, "$ref": self._reference(pointer)}
        return _with_target(node, self._inlined[pointer])

    def _reference(self, pointer: Pointer) -> str:
        if not pointer:
            return "#"
        name = self._names[pointer].replace("~", "~0").replace("/", "~1")
        return "#/$defs/" + quote(name, safe="~!$&'()*+,;=:@")


def _with_target(node: Schema, target: Schema) -> Schema:
    """`node` with what its reference leads to in the reference's place; what stands beside it applies as well."""
    beside = {keyword: value for keyword, value in node.items() if keyword != "$ref"}
    return conjunction(beside, target)


def _names(pointers: list[Pointer]) -> dict[Pointer, str]:
    """A name for each kept body: its own below ``$defs``, elsewhere the last word of its pointer, made unique."""
    names: dict[Pointer, str] = {}
    taken: set[str] = set()
    for pointer in sorted(pointers, key=lambda p: (len(p) != 2 or p[0] not in ("$defs", "definitions"), p)):
        name, number = pointer[-1], 2
        while name in taken:
            name, number = f"{pointer[-1]}_{number}", number + 1
        names[pointer] = name
        taken.add(name)
    return names


def _anchored(document: Schema, anchor: str) -> Pointer | None:
    """Where the schema with that ``$anchor`` (or, up to draft-07, an ``$id`` of ``#anchor``) stands."""
    stack: list[tuple[Any, Path]] = [(document, ())]
    while stack:
        node, path = stack.pop()
        if isinstance(node, dict):
            if node.get("$anchor") == anchor or (path and node.get("$id") == f"#{anchor}"):
                return tuple(str(token) for token in path)
            stack.extend((value, (*path, key)) for key, value in node.items())
        elif isinstance(node, list):
            stack.extend((value, (*path, index)) for index, value in enumerate(node))
    return None


def _cut(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
