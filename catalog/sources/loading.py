"""A catalog from wherever tools are: a file, a folder of files, or a Python module."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ..catalog import Catalog, claim_names
from ..errors import CatalogError, DuplicateToolError, ToolFormatError
from ..tool import Tool
from .enrichment import is_enrichment_file
from .modules import is_module_attribute, load_from_module
from .reading import ToolList, read_numbered, read_tools
from .text_files import SUFFIXES, json_lines, parse_json, parse_yaml, read_text


def load_catalog(spec: str | os.PathLike[str], *, strict: bool = True) -> Catalog:
    """Loads a catalog.

    Args:
        spec: one of

            - a file: ``.jsonl`` (a tool per line), ``.json`` or ``.yaml``/``.yml`` (a list, ``{"tools": [...]}`` or a
              ``tools/list`` response); any of the shapes that `read_tools` knows;
            - a folder: all such files in it in the order of their names; of a benchmark's folder with ``tools.jsonl``
              and ``queries.jsonl`` only the former; files of enrichments (``*.enrichment.*``) are no tool lists;
            - ``module:attribute``: a Catalog, an iterable of Tools, or a function that returns one. The current
              directory is put on ``sys.path``.
        strict: raise for the first entry that cannot be used, instead of leaving it out.

    Returns:
        The catalog. What was left out is in its `left_out`: entries that cannot be read, or whose name is taken.

    Raises:
        CatalogError: there is no such file, folder or module, or it is of no known kind.
        ToolFormatError: (when strict) an entry cannot be read; names file, line or index, and field.
        DuplicateToolError: (when strict) two tools claim one name; names both sources.
    """
    name = os.fspath(spec)
    if not name:
        raise CatalogError("no catalog is named: give a file, a folder or module:attribute")
    path = Path(name)
    if path.is_dir():
        return _from_files(_files_in(path), strict)
    if path.exists():
        return _from_files([path], strict)
    if is_module_attribute(name):
        found = load_from_module(name)
        return found if isinstance(found, Catalog) else _collected(found, [], strict)
    raise CatalogError(f"{name!r} is no file, no folder and not of the form module:attribute")


def _from_files(paths: list[Path], strict: bool) -> Catalog:
    tools: list[Tool] = []
    left_out: list[ToolFormatError] = []
    for path in paths:
        try:
            found = _read_file(path, strict)
        except ToolFormatError as error:
            if strict:
                raise
            left_out.append(error)
        else:
            tools += found
            left_out += found.left_out
    return _collected(tools, left_out, strict)


def _files_in(folder: Path) -> list[Path]:
    if (folder / "tools.jsonl").is_file() and (folder / "queries.jsonl").is_file():
        return [folder / "tools.jsonl"]
    found = sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in SUFFIXES
        and path.is_file()
        and not path.name.startswith(".")
        and not is_enrichment_file(path)
    )
    if not found:
        raise CatalogError(f"the folder {str(folder)!r} holds no file that ends in {', '.join(SUFFIXES)}")
    return found


def _read_file(path: Path, strict: bool) -> ToolList:
    suffix, source = path.suffix.lower(), str(path)
    if suffix not in SUFFIXES:
        raise CatalogError(f"{source!r} is of no known kind; a tool list ends in {', '.join(SUFFIXES)}")
    text = read_text(path)
    if suffix == ".jsonl":
        return _read_lines(text, source, strict)
    try:
        value = parse_json(text) if suffix == ".json" else parse_yaml(text)
    except ToolFormatError as error:
        raise ToolFormatError(error.reason, source=source) from None
    return read_tools([] if value is None else value, source=source, strict=strict)


def _read_lines(text: str, source: str, strict: bool) -> ToolList:
    faults: list[ToolFormatError] = []
    entries = []
    for number, value in json_lines(text, source):
        if not isinstance(value, ToolFormatError):
            entries.append((number, value))
        elif strict:
            raise value
        else:
            faults.append(value)
    tools = read_numbered(entries, source=source, strict=strict)
    tools.left_out = tuple(sorted((*faults, *tools.left_out), key=lambda error: error.index or 0))
    return tools


def _collected(tools: Iterable[Tool], left_out: list[ToolFormatError], strict: bool) -> Catalog:
    if not strict:
        tools = _without_clashes(tools, left_out)
    catalog = Catalog(tools)
    catalog.left_out = tuple(left_out)
    return catalog


def _without_clashes(tools: Iterable[Tool], left_out: list[ToolFormatError]) -> list[Tool]:
    """The tools whose names and aliases are free when their turn comes; a report on each of the others."""
    kept: dict[str, Tool] = {}
    aliases: dict[str, str] = {}
    for tool in tools:
        try:
            claim_names(tool, kept, aliases)
        except DuplicateToolError as error:
            left_out.append(ToolFormatError(str(error), source=tool.source or "", field="name"))
    return list(kept.values())
