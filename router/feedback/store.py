"""Recorded outcomes, in a SQLite file or in memory: counts per tool, nothing of any request."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ...catalog import Catalog, Tool
from ...catalog.digest import digest_of
from ...catalog.errors import RoutingError
from ..decision import RoutingDecision
from ..records import Candidate
from .prior import Prior, Record, reordered

VERSION = 1
APPLICATION = 0x746F6F6C
"""Marks our files ("tool"), so that the database of another program is never written to."""
BUSY_SECONDS = 10.0
"""How long a writer waits for another one."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS outcomes (
    catalog TEXT NOT NULL,
    digest TEXT NOT NULL,
    tool TEXT NOT NULL,
    picked INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    corrected INTEGER NOT NULL DEFAULT 0,
    preferred INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (catalog, digest)
) WITHOUT ROWID
"""


class Outcome(StrEnum):
    """What became of a call."""

    PICKED = "picked"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CORRECTED = "corrected"


class FeedbackError(RoutingError):
    """Raised when outcomes cannot be kept or read: a damaged or foreign file, an unknown tool."""


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """A record with what it belongs to: the name of the catalog, the tool's name and its definition's digest."""

    catalog: str
    tool: str
    digest: str
    record: Record


class FeedbackStore:
    """Keeps what became of calls, for `Router` to prefer, among near-equals, what has served.

    Only counts are kept: no request, no argument, no time, nobody's name. They belong to the definition of a tool
    within a named catalog. When a tool is changed, its record no longer counts and it starts as a new one does; all
    others keep theirs, which one digest of the whole catalog would throw away. Safe in several threads and processes.

    Args:
        path: a SQLite file, made when it is not there; default: memory, gone with the store.
        catalog: a name for the catalog; records of other names in the same file are another matter.

    Raises:
        FeedbackError: the file is damaged, belongs to something else or to a newer version, or cannot be opened.

    Example:
        >>> store = FeedbackStore("feedback.sqlite")
        >>> router = Router(catalog, feedback=store)
        >>> decision = await router.route("close the ticket")
        >>> store.record(decision, "succeeded")
    """

    def __init__(self, path: str | Path | None = None, *, catalog: str = "default") -> None:
        self._where = "memory" if path is None else str(path)
        self._catalog = catalog
        self._lock = threading.Lock()
        self._prior: Prior | None = None
        self._seen = -1
        self._digests: dict[str, tuple[Tool, str]] = {}
        with self._clear_errors():
            self._database = sqlite3.connect(
                ":memory:" if path is None else str(path),
                timeout=BUSY_SECONDS,
                check_same_thread=False,
                isolation_level=None,
            )
        try:
            self._open()
        except BaseException:
            self._database.close()
            raise

    def record(self, decision: RoutingDecision, outcome: Outcome | str, *, instead: Tool | str | None = None) -> None:
        """Records what became of all calls of a decision. Blocks for a write to disk; call it in a thread.

        Args:
            decision: the router's.
            outcome: "picked", "succeeded", "failed" or "corrected".
            instead: the tool that was right, for "corrected": a tool, or the name of one that the decision offered.

        Raises:
            FeedbackError: the outcome is unknown, the decision has no calls, or `instead` is missing, not among what
                was offered, or given with another outcome.
        """
        offered = {candidate.name: candidate.tool for candidate in decision.offered}
        called = [offered[name] for name in dict.fromkeys(call.tool for call in decision.calls) if name in offered]
        if isinstance(instead, str):
            if instead not in offered:
                raise FeedbackError(f"{instead!r} was not offered: give the tool itself, as catalog.get has it")
            instead = offered[instead]
        if not called and instead is None:
            raise FeedbackError("the decision has no calls, so there is nothing that an outcome could belong to")
        self.record_tools(called, outcome, instead=instead)

    def record_tools(self, tools: Sequence[Tool], outcome: Outcome | str, *, instead: Tool | None = None) -> None:
        """The same for tools that were called without a decision; all are recorded, or none.

        Raises:
            FeedbackError: as `record`.
        """
        if outcome not in list(Outcome):
            raise FeedbackError(f"an outcome is one of {', '.join(Outcome)}, not {outcome!r}")
        if (instead is not None) != (outcome == Outcome.CORRECTED):
            raise FeedbackError("say which tool was right, in 'instead', exactly when the outcome is 'corrected'")
        counted = [(tool, str(outcome)) for tool in tools if instead is None or tool.name != instead.name]
        if instead is not None:
            counted.append((instead, "preferred"))
        with self._lock, self._clear_errors(), self._transaction():
            for tool, column in counted:
                self._database.execute(
                    f"INSERT INTO outcomes (catalog, digest, tool, {column}) VALUES (?, ?, ?, 1) "
                    f"ON CONFLICT (catalog, digest) DO UPDATE SET {column} = {column} + 1",
                    (self._catalog, self._digest(tool), tool.name),
                )
            self._prior = None

    def rerank(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The candidates with their scores moved by earlier outcomes, a little, and in the order of these scores."""
        with self._lock:
            prior = self._current()
            digests = [self._digest(candidate.tool) for candidate in candidates]
        return reordered(candidates, digests, prior)

    def records(self, catalog: Catalog | None = None) -> list[ToolRecord]:
        """What is recorded under this store's catalog name, by tool.

        Args:
            catalog: leaves out records of tools that are gone or were changed since.
        """
        with self._lock, self._clear_errors():
            rows = self._database.execute(
                "SELECT tool, digest, picked, succeeded, failed, corrected, preferred FROM outcomes "
                "WHERE catalog = ? ORDER BY tool, digest",
                (self._catalog,),
            ).fetchall()
            current = None if catalog is None else {self._digest(tool) for tool in catalog}
        return [
            ToolRecord(self._catalog, tool, digest, Record(*counts))
            for tool, digest, *counts in rows
            if current is None or digest in current
        ]

    def reset(self, tool: str | None = None) -> int:
        """Forgets what is recorded under this store's catalog name; returns how many records that were.

        Args:
            tool: only this tool's, of all its definitions.
        """
        with self._lock, self._clear_errors():
            self._prior = None
            return self._database.execute(
                "DELETE FROM outcomes WHERE catalog = ? AND (? IS NULL OR tool = ?)", (self._catalog, tool, tool)
            ).rowcount

    def close(self) -> None:
        """Closes the file; the store cannot be used afterwards."""
        with self._lock:
            self._database.close()

    def _open(self) -> None:
        with self._clear_errors():
            application, version = (
                self._database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
            )
            tables = self._database.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if (application, tables) != (0, 0) and application != APPLICATION:
            raise FeedbackError(f"{self._where} is the database of another program; name another file")
        if version > VERSION:
            raise FeedbackError(f"{self._where} has format {version} of a newer Toolpath, this one writes {VERSION}")
        with self._clear_errors():
            if self._where != "memory":
                self._database.execute("PRAGMA journal_mode = WAL")  # readers do not wait for writers
            with self._transaction():
                self._database.execute(_SCHEMA)
                self._database.execute(f"PRAGMA application_id = {APPLICATION}")
                self._database.execute(f"PRAGMA user_version = {VERSION}")

    def _current(self) -> Prior:
        """The prior as of now, read again only when somebody has written; under the lock."""
        with self._clear_errors():
            seen = self._database.execute("PRAGMA data_version").fetchone()[0]  # changes when another connection writes
            if self._prior is None or seen != self._seen:
                rows = self._database.execute(
                    "SELECT digest, picked, succeeded, failed, corrected, preferred FROM outcomes WHERE catalog = ?",
                    (self._catalog,),
                )
                self._prior, self._seen = Prior({digest: Record(*counts) for digest, *counts in rows}), seen
            return self._prior

    def _digest(self, tool: Tool) -> str:
        known = self._digests.get(tool.name)
        if known is None or known[0] is not tool:
            known = self._digests[tool.name] = (tool, definition_digest(tool))
        return known[1]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise FeedbackError(
                f"the outcomes in {self._where} cannot be used: {error}; move the file away to start afresh"
            ) from error


def definition_digest(tool: Tool) -> str:
    """Hex digest (128 bits) of what a model sees of a tool: name, description, parameters, result."""
    return digest_of([tool.name, tool.description, tool.parameters, tool.returns])[:32]
