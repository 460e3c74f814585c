"""Reads query files, with an eye on everything in a row that could silently spoil a score."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...catalog.errors import ToolFormatError
from ...catalog.json_values import json_fault
from ...catalog.sources.text_files import parse_json
from .queries import Query, QueryError

QUERY_FILE = "queries.jsonl"


def load_queries(path: str | Path) -> list[Query]:
    """Reads a query file: one JSON object a line, blank lines ignored.

    Needed: `id`, `query`, and either `tools` (gold names, not empty) or ``"expect_none": true``. Optional:
    `tools_alt`, `args` and `args_accept` (each parallel to `tools`; null where there is nothing to say),
    `candidates`, `history` (``[{"role", "content"}]``), `main_tool` (the one of `tools` that does what is asked; the
    others are what it needs, and are scored apart). Other keys are kept for filters and breakdowns.

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
        raise QueryError(
            f"{file} is not UTF-8 text: byte {error.start} cannot be read; save the file as UTF-8"
        ) from error
    queries: list[Query] = []
    first_line: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        query = _parse(line, f"{file}, line {number}")
        if query.id in first_line:
            raise QueryError(f"{query.where}, field 'id': {query.id!r} stands already in {first_line[query.id]}")
        first_line[query.id] = query.where
        queries.append(query)
    if not queries:
        raise QueryError(f"{file} holds no requests: expected one JSON object a line")
    return queries


def _parse(line: str, where: str) -> Query:
    try:
        data = parse_json(line)
    except ToolFormatError as error:
        raise QueryError(f"{where}: {error.reason}") from error
    if not isinstance(data, dict):
        raise QueryError(f"{where}: expected a JSON object, got {_kind(data)}")
    fault = json_fault(data)
    if fault is not None:
        raise QueryError(f"{where}, field {fault.path!r}: {fault.reason}")
    row = _Row(data, where)
    expect_none = row.flag("expect_none")
    tools = row.names("tools", needed=not expect_none) or ()
    if expect_none and tools:
        raise row.error("tools", "must be empty in a row with expect_none")
    if not expect_none and not tools:
        raise row.error("tools", 'is empty; a request that no tool serves says "expect_none": true')
    main_tool = row.text("main_tool") if data.get("main_tool") is not None else None
    if main_tool is not None and main_tool not in tools:
        raise row.error("main_tool", f"{main_tool!r} is not among the row's tools")
    return Query(
        id=row.identity(),
        query=row.text("query"),
        tools=tools,
        alternatives=tuple(row.alternatives(len(tools))),
        args=tuple(row.objects("args", len(tools))),
        args_accept=tuple(row.objects("args_accept", len(tools))),
        candidates=row.names("candidates"),
        expect_none=expect_none,
        main_tool=main_tool,
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
