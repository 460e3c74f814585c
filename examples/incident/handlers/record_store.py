"""Reads and writes the records database (deployments, incidents, shifts) with bound parameters only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolpath.catalog import ToolError

LOCK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RecordStore:
    """One SQLite file of records. Each call opens its own connection: handlers run in several threads."""

    path: Path

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """The rows of a query, by column name.

        Raises:
            ToolError: "unavailable", when the file is not there or locked.
        """
        with self._open() as db:
            cursor = db.execute(sql, values)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def insert(self, sql: str, values: Sequence[Any]) -> int:
        """Runs one INSERT, commits, and returns the new row's number.

        Raises:
            ToolError: as `rows`.
        """
        with self._open() as db, db:
            return int(db.execute(sql, values).lastrowid or 0)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        if not self.path.exists():
            raise ToolError(f"the records database {self.path.name} is not there", "unavailable")
        try:
            with closing(sqlite3.connect(self.path, timeout=LOCK_SECONDS)) as db:
                yield db
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise ToolError("the records database is locked by a writer", "unavailable") from error
