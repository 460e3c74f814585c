"""Labelled requests: the rows of a query file, read with an eye on everything that could silently spoil a score."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...catalog import Catalog
from ...catalog.errors import RoutingError, did_you_mean

QUERY_FILE = "queries.jsonl"
MAX_NAMES_LISTED = 10


class QueryError(RoutingError):
    """Raised when labelled requests cannot be used: says the file, the line and the field."""


@dataclass(frozen=True, slots=True)
class Gold:
    """One tool that a request wants.

    Attributes:
        name: the labelled tool.
        accepted: `name` and every tool that is equally right in its place.
    """

    name: str
    accepted: frozenset[str]


@dataclass(frozen=True, slots=True)
class Query:
    """One labelled request.

    Attributes:
        id: unique in its file.
        query: the user's text, the last turn of a conversation.
        tools: gold names, one per expected call, so a name may stand twice; empty when no tool fits.
        alternatives: parallel to `tools`: names that are equally right in that place.
        args: parallel to `tools`: gold arguments, or None where nobody has given any.
        args_accept: parallel to `tools`: argument name to its accepted values, or None.
        candidates: the only tools that this row's label was made against, or None: the whole catalog.
        expect_none: no tool fits.
        history: texts that the user wrote in earlier turns, oldest first.
        fields: all keys of the row as read, for filters and breakdowns.
        where: file and line, for messages.
    """

    id: str
    query: str
    tools: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, ...], ...] = ()
    args: tuple[Mapping[str, Any] | None, ...] = ()
    args_accept: tuple[Mapping[str, Any] | None, ...] = ()
    candidates: tuple[str, ...] | None = None
    expect_none: bool = False
    history: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""

    @property
    def request(self) -> str:
        """What is routed: the user's turns, oldest first, a line break between them.

        A label holds for the whole conversation; the last turn alone may be no more than "my number is 4711". On the
        917 rows of ACEBench (Chinese), 435 of them with earlier turns, this finds 0.962 of the tools among the first
        five, the last turns alone 0.875.
        """
        return "\n".join((*self.history, self.query))

    @property
    def gold(self) -> tuple[Gold, ...]:
        """The distinct tools wanted, in the row's order; what is accepted for a repeated name is united."""
        accepted: dict[str, set[str]] = {}
        for place, name in enumerate(self.tools):
            others = self.alternatives[place] if self.alternatives else ()
            accepted.setdefault(name, {name}).update(others)
        return tuple(Gold(name, frozenset(names)) for name, names in accepted.items())

    @property
    def names(self) -> tuple[str, ...]:
        """Every tool name that the row mentions."""
        return (*self.tools, *(name for others in self.alternatives for name in others), *(self.candidates or ()))


def load_queries(path: str | Path) -> list[Query]:
    """Reads a query file: one JSON object a line, blank lines ignored.

    Needed: `id`, `query`, and either `tools` (gold names, not empty) or ``"expect_none": true``. Optional:
    `tools_alt`, `args` and `args_accept` (each parallel to `tools`; null where there is nothing to say),
    `candidates`, `history` (``[{"role", "content"}]``). Other keys are kept for filters and breakdowns.

    Args:
        path: the file, or a folder that holds a `queries.jsonl`.

    Raises:
        QueryError: the file is missing, empty, or a row cannot be used; names file, line and field.
    """
    path = Path(path)
    file = path / QUERY_FILE if path.is_dir() else path
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        hint = f": the folder holds no {QUERY_FILE}" if path.is_dir() else ""
        raise QueryError(f"cannot read {file}: {error.strerror or error}{hint}") from error
    except UnicodeDecodeError as error:
        raise QueryError(f"{file} is not UTF-8 text: byte {error.start} cannot be read") from error
    queries: list[Query] = []
    first_line: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        query = _parse(line, f"{file}, line {number}")
        if query.id in first_line:
            raise _Row({}, query.where).error("id", f"{query.id!r} stands already in {first_line[query.id]}")
        first_line[query.id] = query.where
        queries.append(query)
    if not queries:
        raise QueryError(f"{file} holds no requests: expected one JSON object a line")
    return queries


def resolve_names(queries: Iterable[Query], catalog: Catalog) -> list[Query]:
    """The same requests with every alias replaced by its tool's name.

    A label that names no tool can never be found, so it would lower the score without anybody noticing. That is
    why it is an error here and cannot be waved through; take the row out or mend its label.

    Raises:
        QueryError: a row names tools that the catalog does not have; lists them with their rows.
    """
    queries = list(queries)
    unknown: dict[str, str] = {}
    for query in queries:
        for name in query.names:
            if catalog.find(name) is None:
                unknown.setdefault(name, query.where or f"row {query.id!r}")
    if unknown:
        known = [tool.name for tool in catalog]
        shown = [
            f"  {name!r} ({where}){did_you_mean(name, known, 1)}"
            for name, where in list(unknown.items())[:MAX_NAMES_LISTED]
        ]
        more = [f"  and {len(unknown) - MAX_NAMES_LISTED} more"] if len(unknown) > MAX_NAMES_LISTED else []
        raise QueryError(
            f"the requests name {len(unknown)} tools that the catalog of {len(catalog)} tools does not have:\n"
            + "\n".join([*shown, *more])
        )
    return [_renamed(query, catalog) for query in queries]


def where_fields(queries: Sequence[Query], conditions: Mapping[str, str]) -> list[Query]:
    """The requests whose fields have the given values, as text; a list matches when it holds the value.

    Raises:
        QueryError: a field is unknown, or nothing is left; says which values there are.
    """
    kept = list(queries)
    for name, wanted in conditions.items():
        check_field(queries, name)
        left = [query for query in kept if wanted in _texts(query.fields.get(name))]
        if not left:
            seen = sorted({text for query in kept for text in _texts(query.fields.get(name))})
            few = ", ".join(seen[:MAX_NAMES_LISTED]) + (", …" if len(seen) > MAX_NAMES_LISTED else "")
            raise QueryError(f"no request has {name}={wanted}; values there: {few or 'none'}")
        kept = left
    return kept


def sample(queries: Sequence[Query], size: int, seed: int = 0) -> list[Query]:
    """At most `size` requests, drawn without replacement, in their old order; the same for the same seed."""
    if size < 1:
        raise QueryError(f"a sample needs at least 1 request, asked for {size}")
    if size >= len(queries):
        return list(queries)
    return [queries[place] for place in sorted(random.Random(seed).sample(range(len(queries)), size))]


def check_field(queries: Sequence[Query], name: str) -> None:
    """Raises `QueryError` when no request has a field called `name`."""
    fields = {key for query in queries for key in query.fields}
    if name not in fields:
        raise QueryError(
            f"no request has a field {name!r}{did_you_mean(name, fields)}; fields: {', '.join(sorted(fields))}"
        )


def _texts(value: Any) -> tuple[str, ...]:
    """A field's value as texts to compare with: booleans and null as JSON writes them, a list item by item."""
    if isinstance(value, list):
        return tuple(text for item in value for text in _texts(item))
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),)


def _renamed(query: Query, catalog: Catalog) -> Query:
    return replace(
        query,
        tools=tuple(catalog.get(name).name for name in query.tools),
        alternatives=tuple(tuple(catalog.get(name).name for name in names) for names in query.alternatives),
        candidates=query.candidates and tuple(catalog.get(name).name for name in query.candidates),
    )


def _parse(line: str, where: str) -> Query:
    try:
        data = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise QueryError(f"{where}: not JSON: {error}") from error
    if not isinstance(data, dict):
        raise QueryError(f"{where}: expected a JSON object, got {_kind(data)}")
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise QueryError(f"{where}: holds half of a surrogate pair, which is not a character") from error
    row = _Row(data, where)
    expect_none = row.flag("expect_none")
    tools = row.names("tools", needed=not expect_none) or ()
    if expect_none and tools:
        raise row.error("tools", "must be empty in a row with expect_none")
    if not expect_none and not tools:
        raise row.error("tools", 'is empty; a request that no tool serves says "expect_none": true')
    return Query(
        id=row.identity(),
        query=row.text("query"),
        tools=tools,
        alternatives=tuple(row.alternatives(len(tools))),
        args=tuple(row.objects("args", len(tools))),
        args_accept=tuple(row.objects("args_accept", len(tools))),
        candidates=row.names("candidates"),
        expect_none=expect_none,
        history=tuple(row.user_turns()),
        fields=data,
        where=where,
    )


class _Row:
    """One row with accessors that check its fields."""

    def __init__(self, data: dict[str, Any], where: str) -> None:
        self._data, self._where = data, where

    def error(self, name: str, what: str) -> QueryError:
        return QueryError(f"{self._where}, field {name!r}: {what}")

    def identity(self) -> str:
        value = self._data.get("id")
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self.text("id")

    def text(self, name: str) -> str:
        if name not in self._data:
            raise self.error(name, "is missing")
        value = self._data[name]
        if not isinstance(value, str):
            raise self.error(name, f"must be a string, is {_kind(value)}")
        if not value.strip():
            raise self.error(name, "is blank")
        return value

    def flag(self, name: str) -> bool:
        value = self._data.get(name, False)
        if not isinstance(value, bool):
            raise self.error(name, f"must be true or false, is {_kind(value)}")
        return value

    def names(self, name: str, needed: bool = False) -> tuple[str, ...] | None:
        if self._data.get(name) is None:
            if needed:
                raise self.error(name, "is missing")
            return None
        return self._strings(name, self._data[name])

    def alternatives(self, count: int) -> Iterator[tuple[str, ...]]:
        for value in self._parallel("tools_alt", count):
            yield () if value is None else self._strings("tools_alt", value)

    def objects(self, name: str, count: int) -> Iterator[dict[str, Any] | None]:
        for value in self._parallel(name, count):
            if value is not None and not isinstance(value, dict):
                raise self.error(name, f"must list objects or null, holds {_kind(value)}")
            yield value

    def user_turns(self) -> Iterator[str]:
        for turn in self._list("history"):
            if not isinstance(turn, dict) or not isinstance(turn.get("content"), str):
                raise self.error("history", 'must list turns such as {"role": "user", "content": "…"}')
            if turn.get("role") == "user" and turn["content"].strip():
                yield turn["content"]

    def _parallel(self, name: str, count: int) -> list[Any]:
        values = self._list(name)
        if values and len(values) != count:
            raise self.error(name, f"must be parallel to tools: {count} entries expected, has {len(values)}")
        return values

    def _strings(self, name: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self.error(name, f"must be a list of names, is {_kind(value)}")
        for item in value:
            if not isinstance(item, str) or not item:
                raise self.error(name, f"must list names, holds {_kind(item)}")
        return tuple(value)

    def _list(self, name: str) -> list[Any]:
        value = self._data.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(name, f"must be a list, is {_kind(value)}")
        return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    if value == "":
        return "an empty string"
    return "null" if value is None else names[type(value)]
