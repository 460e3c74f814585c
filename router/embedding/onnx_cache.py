"""Where exports lie: a folder each, written aside and renamed, and checked against its manifest before it is used."""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .minilm import file_sha256

MANIFEST = "manifest.json"
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
LEFTOVER_AGE = 3600.0
"""Seconds after which a folder that was never renamed is taken for the leftover of an export that crashed."""


@dataclass(frozen=True, slots=True)
class Export:
    """An exported model.

    Attributes:
        folder: holds the model, its tokenizer and the manifest.
        dimension: numbers per vector.
        max_tokens: word pieces that are read of a text, the special ones included.
        padding: the word piece that fills a batch up.
        prefixes: what stands before a text, for "query" and "tool".
    """

    folder: Path
    dimension: int
    max_tokens: int
    padding: int
    prefixes: dict[str, str]

    @property
    def model(self) -> Path:
        """The ONNX file."""
        return self.folder / MODEL

    @property
    def tokenizer(self) -> Path:
        """What the tokenizers library reads."""
        return self.folder / TOKENIZER


def seal(folder: Path, described: dict[str, Any]) -> None:
    """Writes the manifest: what `Export` needs, and the digests of the files."""
    files = {name: file_sha256(folder / name) for name in (MODEL, TOKENIZER)}
    (folder / MANIFEST).write_text(json.dumps({**described, "files": files}, indent=2) + "\n", encoding="utf-8")


def valid_export(folder: Path) -> Export | None:
    """The export in `folder`; None when there is none, or its files are not those of its manifest."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if any(file_sha256(folder / name) != manifest["files"][name] for name in (MODEL, TOKENIZER)):
            return None
        return Export(
            folder,
            int(manifest["dimension"]),
            int(manifest["max_tokens"]),
            int(manifest["padding"]),
            {kind: str(manifest["prefixes"][kind]) for kind in ("query", "tool")},
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def open_export(folder: Path, write: Callable[[Path], None]) -> Export:
    """The export in `folder`, put there by `write` when there is none that is whole.

    `write` gets a new folder beside it, which is renamed when it is complete: a crash leaves no half export, and of
    two processes that export at the same time one finds the other's.

    Raises:
        OSError: the folder cannot be written.
        ValueError: what `write` has written is no export.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent)
    aside = folder.with_name(f"{folder.name}-{uuid.uuid4().hex[:12]}.tmp")
    aside.mkdir()
    try:
        write(aside)
        for path in aside.iterdir():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        if (found := valid_export(folder)) is not None:  # another process was quicker
            return found
        if folder.exists():  # damaged
            folder.rename(aside.with_suffix(".old.tmp"))
        try:
            aside.rename(folder)
        except OSError:
            if valid_export(folder) is None:
                raise
    finally:
        for leftover in (aside, aside.with_suffix(".old.tmp")):
            shutil.rmtree(leftover, ignore_errors=True)
    found = valid_export(folder)
    if found is None:
        raise ValueError(f"what was exported to {folder} is not whole")
    return found


def _sweep(parent: Path) -> None:
    """Removes what exports that crashed have left."""
    for path in parent.glob("*.tmp"):
        try:
            if time.time() - path.stat().st_mtime > LEFTOVER_AGE:
                shutil.rmtree(path, ignore_errors=True)
        except FileNotFoundError:
            continue
