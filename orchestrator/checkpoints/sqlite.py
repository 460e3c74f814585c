"""Runs in one SQLite file. One thread writes; what arrives while it commits goes into the next commit together."""

from __future__ import annotations

import contextlib
import json
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ...catalog.errors import CheckpointError
from .records import Done, RunRecord, StepRecord

MAX_BATCH = 5_000
"""Records in one transaction."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY, pipeline TEXT NOT NULL, fingerprints TEXT NOT NULL, inputs TEXT NOT NULL,
    origin TEXT NOT NULL, state TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, owner TEXT NOT NULL,
    created REAL NOT NULL, updated REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS steps (
    run_id TEXT NOT NULL, step TEXT NOT NULL, item INTEGER NOT NULL, outcome TEXT NOT NULL, value TEXT NOT NULL,
    level INTEGER NOT NULL, confidence REAL NOT NULL, note TEXT NOT NULL, error TEXT NOT NULL, reason TEXT NOT NULL,
    attempts INTEGER NOT NULL, elapsed REAL NOT NULL, committed REAL NOT NULL,
    PRIMARY KEY (run_id, step, item)
) WITHOUT ROWID;
"""
_INSERT = "INSERT OR REPLACE INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_WHOLE_STEP = -1


class _Job(NamedTuple):
    row: tuple[Any, ...]
    in_loop: Callable[..., object]
    done: Done


class SQLiteStore:
    """Keeps runs in a file, so that they can be resumed after the process has died.

    A step counts as done when its outcome is committed; what waits for it starts after that. Many outcomes share one
    commit. They survive the death of the process, and with `durable` that of the machine, too.

    Args:
        path: of the file; made when it does not exist.
        durable: waits for the disk at every commit. Default: the operating system decides when it writes.

    Raises:
        CheckpointError: the file cannot be opened, or is no store.

    Example:
        >>> store = SQLiteStore("runs.sqlite")
        >>> report = await pipeline.run(inputs, store=store)
        >>> report = await pipeline.resume(report.run_id, store=store)
    """

    def __init__(self, path: str | Path, *, durable: bool = False) -> None:
        self._path = str(path)
        self._durable = durable
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._writer: threading.Thread | None = None
        with self._opened() as db:
            db.executescript(_SCHEMA)

    def begin(self, run: RunRecord) -> None:
        """Keeps a new run, or takes over one that is there, with `run` as its new state."""
        now = time.time()
        fingerprints = json.dumps(run.fingerprints, sort_keys=True)
        row = (run.run_id, run.pipeline, fingerprints, run.inputs, run.origin, "running", "", "", run.owner)
        with self._opened() as db:
            db.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id) DO UPDATE SET "
                "pipeline = excluded.pipeline, fingerprints = excluded.fingerprints, state = excluded.state, "
                "outcome = '', reason = '', owner = excluded.owner, updated = excluded.updated",
                (*row, now, now),
            )

    def submit(self, run_id: str, record: StepRecord, in_loop: Callable[..., object], done: Done) -> None:
        """Keeps an outcome, soon; does not block. `in_loop` schedules `done` on the caller's event loop."""
        row = (
            run_id,
            record.step,
            _WHOLE_STEP if record.item is None else record.item,
            record.outcome,
            record.value,
            record.level,
            record.confidence,
            record.note,
            record.error,
            record.reason,
            record.attempts,
            record.elapsed,
            time.time(),
        )
        with self._lock:
            if self._writer is None:
                self._writer = threading.Thread(target=self._write, name="toolpath store", daemon=True)
                self._writer.start()
        self._jobs.put(_Job(row, in_loop, done))

    def finish(self, run_id: str, outcome: str, reason: str) -> None:
        """Notes that a run has ended."""
        with self._opened() as db:
            db.execute(
                "UPDATE runs SET state = 'ended', outcome = ?, reason = ?, updated = ? WHERE run_id = ?",
                (outcome, reason, time.time(), run_id),
            )

    def load(self, run_id: str) -> tuple[RunRecord, list[StepRecord]] | None:
        """A run and the outcomes of its steps."""
        with self._opened() as db:
            run = db.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
            rows = db.execute("SELECT * FROM steps WHERE run_id = ? ORDER BY committed", (run_id,)).fetchall()
        if run is None:
            return None
        records = [StepRecord(row[1], None if row[2] == _WHOLE_STEP else row[2], *row[3:12]) for row in rows]
        return _run_record(run, sum(record.item is None for record in records)), records

    def runs(self, limit: int = 100) -> list[RunRecord]:
        """Runs that are no part of another one, the newest first."""
        with self._opened() as db:
            rows = db.execute(
                "SELECT runs.*, (SELECT count(*) FROM steps WHERE steps.run_id = runs.run_id AND item = -1) FROM runs "
                "WHERE instr(run_id, ':') = 0 ORDER BY created DESC LIMIT ?",
                (limit,),
            ).fetchall()
        return [_run_record(row[:11], row[11]) for row in rows]

    def delete(self, run_id: str) -> bool:
        """Forgets a run, and the runs inside it, and says whether there was one."""
        inside = f"{run_id}:"
        with self._opened() as db:
            found = False
            for table in ("steps", "runs"):
                gone = db.execute(
                    f"DELETE FROM {table} WHERE run_id = ? OR substr(run_id, 1, ?) = ?",
                    (run_id, len(inside), inside),
                )
                found = found or gone.rowcount > 0
        return found

    def close(self) -> None:
        """Writes what is left, and lets go of the file."""
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is not None:
            self._jobs.put(None)
            writer.join()

    @contextlib.contextmanager
    def _opened(self) -> Any:
        """A connection with a transaction of its own.

        Raises:
            CheckpointError: SQLite refuses.
        """
        try:
            db = self._connect()
            try:
                db.execute("BEGIN IMMEDIATE")
                yield db
                db.execute("COMMIT") if db.in_transaction else None
            finally:
                db.close()
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, isolation_level=None, timeout=30, check_same_thread=False)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(f"PRAGMA synchronous={'FULL' if self._durable else 'NORMAL'}")
        return db

    def _fault(self, error: Exception) -> CheckpointError:
        return CheckpointError(f"the store {self._path} does not work: {error}")

    def _write(self) -> None:
        """Commits what is queued, batch by batch, until told to stop."""
        db: sqlite3.Connection | None = None
        stopping = False
        while not stopping:
            batch = [self._jobs.get()]
            while len(batch) < MAX_BATCH:
                try:
                    batch.append(self._jobs.get_nowait())
                except queue.Empty:
                    break
            jobs = [job for job in batch if job is not None]
            stopping = len(jobs) < len(batch)
            fault: CheckpointError | None = None
            try:
                db = db or self._connect()
                db.execute("BEGIN IMMEDIATE")
                db.executemany(_INSERT, [job.row for job in jobs])
                db.execute("COMMIT")
            except (sqlite3.Error, OverflowError, ValueError) as error:
                fault = self._fault(error)
                if db is not None and db.in_transaction:
                    with contextlib.suppress(sqlite3.Error):  # the fault is reported as it is
                        db.execute("ROLLBACK")
            _report(jobs, fault)
        if db is not None:
            db.close()


def _report(jobs: list[_Job], fault: CheckpointError | None) -> None:
    """Tells each event loop once what has become of its records."""
    by_loop: dict[Callable[..., object], list[Done]] = {}
    for job in jobs:
        by_loop.setdefault(job.in_loop, []).append(job.done)
    for in_loop, waiting in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits any more
            in_loop(_call_all, waiting, fault)


def _call_all(waiting: list[Done], fault: CheckpointError | None) -> None:
    for done in waiting:
        done(fault)


def _run_record(row: tuple[Any, ...], done: int) -> RunRecord:
    run_id, pipeline, fingerprints, inputs, origin, state, outcome, reason, owner, created, updated = row
    return RunRecord(
        run_id,
        pipeline,
        json.loads(fingerprints),
        inputs=inputs,
        origin=origin,
        state=state,
        outcome=outcome,
        reason=reason,
        owner=owner,
        created=created,
        updated=updated,
        done=done,
    )
