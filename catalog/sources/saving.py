"""Tools into a file, which is at all times either the old one or the new one."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import yaml

from ..tool import Tool
from .reading import write_tools
from .shape import Entry
from .text_files import SUFFIXES, reads_as_text


def save_tools(
    path: str | os.PathLike[str], tools: Iterable[Tool], *, shape: str = "toolpath"
) -> dict[str, tuple[str, ...]]:
    """Writes tools to a file, in one step: readers see the old content or the new, also after a crash.

    Args:
        path: a file that ends in ``.jsonl`` (a tool per line), ``.json`` or ``.yaml``/``.yml`` (a list).
        tools: what to write.
        shape: the shape of the entries; ``toolpath`` loses nothing but handlers.

    Returns:
        Tool name to fields that the shape cannot express.

    Raises:
        ValueError: the file's ending or the shape is unknown.
        OSError: the file cannot be written; an older one is untouched.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{str(target)!r} must end in one of {', '.join(SUFFIXES)}")
    written = write_tools(tools, shape)
    replace_file(Path(os.path.realpath(target)), rendered(written.entries, suffix).encode())
    return written.losses


def rendered(entries: list[Entry], suffix: str) -> str:
    """The text of a file with that ending."""
    if suffix == ".jsonl":
        return "".join(json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n" for entry in entries)
    if suffix == ".json":
        return json.dumps(entries, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    return yaml.dump(entries, Dumper=_PlainDumper, allow_unicode=True, sort_keys=False, width=120)


class _PlainDumper(yaml.SafeDumper):
    """YAML that repeats what occurs twice, instead of referring back to it."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Quotes text that would come back as something else.

    That is text with YAML's own line breaks in it (NEL, LS, PS), which would be read as spaces, and text that our own
    reading takes for a number although YAML 1.1, after which PyYAML writes, does not (``1e5``).
    """
    breaks = any(char in text for char in "\x85\u2028\u2029")
    style = None if reads_as_text(text) and not breaks else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_PlainDumper.add_representer(str, _represent_text)


def replace_file(target: Path, data: bytes) -> None:
    """Writes a file in one step: readers see the old content or the new, also after a crash."""
    aside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with aside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, aside)
        aside.replace(target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Makes the renaming last, where the system can open a folder."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
