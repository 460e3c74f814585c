"""Makes the incident's world in a folder: metrics, logs, runbooks and records, the same bytes of story every time."""

from __future__ import annotations

import datetime as dt
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from .log_data import write_logs
from .metric_data import write_metrics, write_snapshot
from .story import FACTS, Facts
from .story_records import write_records

SEED = 20251118
RUNBOOKS = Path(__file__).parent / "runbooks"


@dataclass(frozen=True, slots=True)
class World:
    """Where the pieces of the world lie, and what is true in it.

    Attributes:
        folder: holds everything else.
        facts: what really happened; `facts.now` is the present.
    """

    folder: Path
    facts: Facts = FACTS

    @property
    def now(self) -> dt.datetime:
        """The present in this world (UTC)."""
        return self.facts.now

    @property
    def metrics(self) -> Path:
        """SQLite database of the metrics store."""
        return self.folder / "metrics.sqlite"

    @property
    def metrics_snapshot(self) -> Path:
        """What the metrics gateway last wrote: older than the store, and always readable."""
        return self.folder / "metrics_snapshot.sqlite"

    @property
    def records(self) -> Path:
        """SQLite database of deployments, incidents and duty shifts."""
        return self.folder / "records.sqlite"

    @property
    def logs(self) -> Path:
        """Folder with one log file per service."""
        return self.folder / "logs"

    @property
    def runbooks(self) -> Path:
        """Folder with one Markdown file per procedure."""
        return self.folder / "runbooks"

    @property
    def reports(self) -> Path:
        """Folder that report documents are written into; the only place where a handler writes files."""
        return self.folder / "reports"

    @property
    def trace_spool(self) -> Path:
        """Folder that a trace collector would write spans into. This world has none."""
        return self.folder / "traces"

    @contextmanager
    def metrics_locked(self) -> Iterator[None]:
        """Holds the metrics store's exclusive lock, as a compaction does: readers get "database is locked"."""
        with closing(sqlite3.connect(self.metrics, isolation_level=None)) as db:
            db.execute("BEGIN EXCLUSIVE")
            try:
                yield
            finally:
                db.execute("ROLLBACK")


def build_world(folder: Path, *, seed: int = SEED) -> World:
    """Makes the world in `folder`, replacing one that is there; written reports stay.

    Args:
        folder: is created when missing; files that are not the world's own are left alone.
        seed: other noise, same story.

    Raises:
        NotADirectoryError: `folder` is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"the world needs a folder, but {folder.name!r} is a file")
    world = World(folder)
    for part in (world.logs, world.runbooks):
        if part.exists():
            shutil.rmtree(part)
        part.mkdir(parents=True)
    world.reports.mkdir(exist_ok=True)
    with _fresh(world.metrics) as metrics, _fresh(world.metrics_snapshot) as snapshot:
        write_metrics(metrics, seed)
        write_snapshot(snapshot, metrics)
    with _fresh(world.records) as records:
        write_records(records)
    write_logs(world.logs, seed)
    for source in sorted(RUNBOOKS.glob("*.md")):
        shutil.copyfile(source, world.runbooks / source.name)
    return world


@contextmanager
def _fresh(path: Path) -> Iterator[sqlite3.Connection]:
    """An empty database at `path`, committed at the end. Durability does not matter here, speed does."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA synchronous = OFF")
        yield db
        db.commit()
