"""A retriever's index in a folder: written aside and switched in one step, and checked before it is believed.

The folder holds ``manifest.json`` and the data files that it names, with their SHA-256. A save writes new data files
beside the old ones and then renames a new manifest over the old one, so a crash leaves one whole index.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from ...catalog.errors import IndexMismatchError
from .lexical import LexicalIndex
from .vectors import KeyedVectors

KIND = "toolpath index"
FORMAT = 2
MANIFEST = "manifest.json"
LEFTOVER_AGE = 3600.0
"""Seconds after which a data file that no manifest names is taken for the leftover of a save that never ended."""

REBUILD = "make it anew with `toolpath index --rebuild`, or with Retriever(..., index=folder, rebuild=True) and save()"


@dataclass(frozen=True, slots=True)
class SavedIndex:
    """What a folder holds.

    Attributes:
        fingerprint: of the embedder that made the vectors.
        digests: tool name to digest of the definition that was indexed (`text.tool_digest`).
        lexical: the counts for BM25.
        tools: vectors by tool name.
        parameters: vectors by parameter text's digest, or None when parameters were not embedded.
        parameter_keys: tool name to path of each parameter to its key in `parameters`.
    """

    fingerprint: str
    digests: Mapping[str, str]
    lexical: LexicalIndex
    tools: KeyedVectors
    parameters: KeyedVectors | None
    parameter_keys: Mapping[str, Mapping[str, str]]


def save_index(index: SavedIndex, folder: Path) -> None:
    """Writes `index` into `folder`, in place of the index that is there.

    Raises:
        IndexMismatchError: the folder's manifest.json belongs to something else.
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    before = _manifest_or_none(folder)
    if isinstance(before, Mapping) and not _is_ours(before):
        raise IndexMismatchError(f"{folder / MANIFEST} belongs to something else; save the index to another folder")
    generation = uuid.uuid4().hex[:12]
    try:
        written = {
            "lexical": _write(folder, f"lexical-{generation}.npz", index.lexical.to_arrays()),
            "tools": _write(folder, f"tools-{generation}.npy", index.tools.vectors),
        }
        if index.parameters is not None:
            written["parameters"] = _write(folder, f"parameters-{generation}.npy", index.parameters.vectors)
        manifest = {
            "kind": KIND,
            "format": FORMAT,
            "fingerprint": index.fingerprint,
            "dimension": index.tools.vectors.shape[1],
            "files": written,
            "tools": {name: index.digests[name] for name in index.tools.keys},
            "parameters": [] if index.parameters is None else list(index.parameters.keys),
            "parameter_rows": _rows_of(index),
        }
        aside = folder / f"manifest-{generation}.tmp"
        with aside.open("w", encoding="utf-8") as file:
            json.dump(manifest, file, ensure_ascii=True)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(folder)
        aside.replace(folder / MANIFEST)
        _sync_folder(folder)
    except BaseException:
        _discard(folder, generation)
        raise
    _sweep(folder, generation, before)


def replace_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes a small file that lies beside an index, in one step, in place of the one that is there.

    Raises:
        OSError: the folder cannot be written.
    """
    aside = path.with_name(f"{path.stem}-{uuid.uuid4().hex[:12]}.tmp")
    try:
        aside.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def load_index(folder: Path) -> SavedIndex:
    """Reads the index in `folder`.

    Raises:
        IndexMismatchError: there is none, or it is damaged or of another format; the message says how to rebuild.
    """
    if not (folder / MANIFEST).is_file():
        raise IndexMismatchError(f"{folder} holds no index; {REBUILD}")
    while True:
        manifest = _manifest_or_none(folder)
        if not _is_ours(manifest):
            raise IndexMismatchError(f"{folder / MANIFEST} is damaged or belongs to something else; {REBUILD}")
        if manifest.get("format") != FORMAT:
            raise IndexMismatchError(
                f"the index in {folder} has format {manifest.get('format')!r}, this version reads {FORMAT}; {REBUILD}"
            )
        try:
            return _read(folder, manifest)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, BadZipFile) as error:
            if _manifest_or_none(folder) == manifest:
                raise IndexMismatchError(f"the index in {folder} is damaged ({error}); {REBUILD}") from error
            # another process has saved in the meantime, and removed the files that the old manifest names


def _read(folder: Path, manifest: Mapping[str, Any]) -> SavedIndex:
    files = {part: _verified(folder, entry["name"], entry["sha256"]) for part, entry in manifest["files"].items()}
    digests, dimension = dict(manifest["tools"]), int(manifest["dimension"])
    with np.load(files["lexical"], allow_pickle=False) as arrays:
        lexical = LexicalIndex.from_arrays(arrays)
    tools = _vectors(files["tools"], list(digests), dimension)
    parameters, keys = None, dict[str, dict[str, str]]()
    if "parameters" in files:
        parameters = _vectors(files["parameters"], list(manifest["parameters"]), dimension)
        keys = {
            tool: {path: parameters.keys[row] for path, row in rows.items()}
            for tool, rows in manifest["parameter_rows"].items()
        }
    return SavedIndex(str(manifest["fingerprint"]), digests, lexical, tools, parameters, keys)


def _vectors(path: Path, keys: list[str], dimension: int) -> KeyedVectors:
    vectors = np.load(path, allow_pickle=False)
    if vectors.dtype != np.float32 or vectors.shape != (len(keys), dimension):
        raise ValueError(f"{path.name} does not hold {len(keys)} vectors of {dimension} numbers")
    if len(set(keys)) != len(keys):
        raise ValueError(f"{path.name} came with keys that repeat")
    return KeyedVectors(keys, vectors)


def _rows_of(index: SavedIndex) -> dict[str, dict[str, int]]:
    """`SavedIndex.parameter_keys` with each key's row in its place: a tenth of the size."""
    if index.parameters is None:
        return {}
    rows = {key: row for row, key in enumerate(index.parameters.keys)}
    return {tool: {path: rows[key] for path, key in keys.items()} for tool, keys in index.parameter_keys.items()}


def _write(
    folder: Path, name: str, content: npt.NDArray[np.generic] | dict[str, npt.NDArray[np.generic]]
) -> dict[str, str]:
    path = folder / name
    with path.open("wb") as file:
        if isinstance(content, dict):
            np.savez(file, **content)  # type: ignore[arg-type]
        else:
            np.save(file, content)
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        return {"name": name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _verified(folder: Path, name: str, digest: str) -> Path:
    """The data file, after its digest was compared: numpy is not shown a file that was tampered with."""
    path = folder / name
    if path.parent != folder:
        raise ValueError(f"{name!r} is not a file of the folder")
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise ValueError(f"{name} is not the file that was saved")
    return path


def _manifest_or_none(folder: Path) -> Any:
    try:
        return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _is_ours(manifest: Any) -> bool:
    return isinstance(manifest, Mapping) and manifest.get("kind") == KIND


def _sweep(folder: Path, generation: str, replaced: Any) -> None:
    """Removes the files of the index that was replaced, and old leftovers of saves that never ended.

    Fresh files that no manifest names stay: another process may be about to name them.
    """
    old = {entry["name"] for entry in replaced["files"].values()} if _is_ours(replaced) else set[str]()
    for pattern in ("lexical-*.npz", "tools-*.*", "parameters-*.*", "manifest-*.tmp"):
        for path in folder.glob(pattern):
            if generation not in path.name and (path.name in old or _age(path) > LEFTOVER_AGE):
                path.unlink(missing_ok=True)


def _discard(folder: Path, generation: str) -> None:
    """Removes what a save that failed had written: a full disk must not stay full because of it.

    Nothing is removed when the manifest names those files already, or cannot be read.
    """
    if (folder / MANIFEST).exists():
        named = _manifest_or_none(folder)
        if not _is_ours(named) or any(generation in entry["name"] for entry in named["files"].values()):
            return
    for path in folder.glob(f"*-{generation}.*"):
        path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    """Seconds since the file was written; 0 when somebody else has just removed it."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _sync_folder(folder: Path) -> None:
    """Makes renames in `folder` durable, where the system can do that."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
