"""Yardsticks kept beside a saved index, so that a new process need not search for tools with their own words again."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from ..retrieval.store import replace_json
from .records import Yardstick

FILE = "yardsticks.json"
KIND = "toolpath yardsticks"


def load_yardsticks(folder: Path, key: str) -> dict[str, Yardstick] | None:
    """The yardsticks by language that were kept in `folder` under `key`.

    Args:
        folder: of a saved index.
        key: stands for all that decides them: tools, embedder, weights.

    Returns:
        None when there are none, they were kept under another key, or the file is damaged: they are measured anew then.
    """
    try:
        content = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if content["kind"] != KIND or content["key"] != key:
            return None
        kept = {
            str(language): Yardstick(float(one["typical"]), float(one["words"]), int(one["samples"]))
            for language, one in content["yardsticks"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return kept if all(one.typical > 0 and math.isfinite(one.typical + one.words) for one in kept.values()) else None


def save_yardsticks(folder: Path, key: str, yardsticks: Mapping[str, Yardstick]) -> None:
    """Keeps the yardsticks in `folder`, in one step; where it cannot be written, the next process measures again."""
    content = {"kind": KIND, "key": key, "yardsticks": {name: asdict(one) for name, one in yardsticks.items()}}
    with contextlib.suppress(OSError):
        replace_json(folder / FILE, content)
