"""Reads a whole world for comparison."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from examples.incident.world import World


def dump(world: World) -> dict[str, str]:
    """File name to content; databases as SQL text."""
    content = {}
    for path in (world.metrics, world.metrics_snapshot, world.records):
        with closing(sqlite3.connect(path)) as db:
            content[path.name] = "\n".join(db.iterdump())
    for folder in (world.logs, world.runbooks):
        for path in sorted(folder.iterdir()):
            content[f"{folder.name}/{path.name}"] = path.read_text(encoding="utf-8")
    return content
