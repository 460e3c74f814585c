"""What was written about tools after the fact: when to use one and how people ask for it, in a file that people review.

A tool list often is somebody else's, so additions to it live in a file of their own, each bound to the definition that
it was written for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..catalog import Catalog
from ..digest import digest_of
from ..errors import CatalogError, ToolFormatError
from ..tool import Tool
from .saving import rendered, replace_file
from .text_files import json_lines, parse_yaml, read_text

ENRICHMENT_SUFFIXES = (".yaml", ".yml", ".jsonl")
"""Endings of enrichment files; both kinds can be appended to, so that nothing written is ever lost."""

_MARK = ".enrichment"


class Enrichment(BaseModel):
    """What was written about one tool.

    Attributes:
        tool: the tool's name.
        digest: `definition_digest` of the tool as it was read by the writer.
        when_to_use: one sentence that is put behind the description; may be empty.
        examples: requests that the tool serves.
        reviewed: whether a person has looked at it; set it in the file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str = Field(min_length=1)
    digest: str
    when_to_use: str = ""
    examples: tuple[str, ...] = ()
    reviewed: bool = False


@dataclass(frozen=True, slots=True)
class EnrichedCatalog:
    """A catalog with enrichments in it, and what became of each enrichment.

    Attributes:
        catalog: a new catalog with the same tools in the same order.
        applied: names of the tools that were enriched.
        stale: names of tools whose definition has changed since; they are as they were.
        unknown: names that no tool has.
        unreviewed: names that were passed over because nobody has reviewed them.
    """

    catalog: Catalog
    applied: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unreviewed: tuple[str, ...] = ()


def definition_digest(tool: Tool) -> str:
    """Hex digest (64 bits) of what a writer reads of a tool: name, description and parameters."""
    return digest_of([tool.name, tool.description, tool.parameters])[:16]


def enriched(tool: Tool, enrichment: Enrichment) -> Tool:
    """The tool with the line behind its description and the requests behind its examples, each request once."""
    line = enrichment.when_to_use.strip()
    description = f"{tool.description}\n{line}".strip() if line and line not in tool.description else tool.description
    examples = tuple(dict.fromkeys((*tool.examples, *enrichment.examples)))
    return tool.model_copy(update={"description": description, "examples": examples})


def apply_enrichments(
    catalog: Catalog, enrichments: Iterable[Enrichment], *, reviewed_only: bool = False
) -> EnrichedCatalog:
    """The catalog with what was written about its tools.

    Args:
        catalog: stays as it is.
        enrichments: of several for one tool the last one counts.
        reviewed_only: take only what a person has reviewed.

    Example:
        >>> catalog = Catalog([Tool(name="rain", description="Precipitation by place.")])
        >>> written = Enrichment(tool="rain", digest=definition_digest(catalog.get("rain")), examples=("wet in Oslo?",))
        >>> apply_enrichments(catalog, [written]).catalog.get("rain").examples
        ('wet in Oslo?',)
    """
    by_name = {enrichment.tool: enrichment for enrichment in enrichments}
    tools = {tool.name: tool for tool in catalog}
    groups: dict[str, list[str]] = {"applied": [], "stale": [], "unknown": [], "unreviewed": []}
    for name, enrichment in by_name.items():
        tool = tools.get(name)
        if tool is None:
            groups["unknown"].append(name)
        elif definition_digest(tool) != enrichment.digest:
            groups["stale"].append(name)
        elif reviewed_only and not enrichment.reviewed:
            groups["unreviewed"].append(name)
        else:
            groups["applied"].append(name)
            tools[name] = enriched(tool, enrichment)
    made = Catalog(tools.values())
    made.left_out = catalog.left_out
    return EnrichedCatalog(made, **{group: tuple(names) for group, names in groups.items()})


def read_enrichments(path: str | os.PathLike[str]) -> dict[str, Enrichment]:
    """The enrichments of a file by tool name, in its order; of several for one tool the last one counts.

    A last line that was cut off by a crash while it was written is passed over in a ``.jsonl`` file.

    Raises:
        CatalogError: the file's ending is unknown.
        ToolFormatError: the file cannot be read, or an entry is no enrichment; names file, entry and field.
    """
    source = Path(path)
    text = read_text(source)
    if _suffix(source) == ".jsonl":
        values = list(json_lines(text, str(source)))
        if values and isinstance(values[-1][1], ToolFormatError) and not text.endswith("\n"):
            values.pop()
    else:
        values = list(enumerate(_yaml_list(text, str(source))))
    found: dict[str, Enrichment] = {}
    for number, value in values:
        if isinstance(value, ToolFormatError):
            raise value
        enrichment = _validated(value, str(source), number)
        found.pop(enrichment.tool, None)
        found[enrichment.tool] = enrichment
    return found


def save_enrichments(path: str | os.PathLike[str], enrichments: Iterable[Enrichment]) -> None:
    """Writes a file anew in one step: readers see the old content or the new, also after a crash.

    Raises:
        CatalogError: the file's ending is unknown.
        OSError: the file cannot be written; an older one is untouched.
    """
    target = Path(path)
    entries = [enrichment.model_dump(mode="json") for enrichment in enrichments]
    replace_file(Path(os.path.realpath(target)), rendered(entries, _suffix(target)).encode())


def append_enrichment(path: str | os.PathLike[str], enrichment: Enrichment) -> None:
    """Adds one enrichment at the end of a file, which is made when it is not there.

    Raises:
        CatalogError: the file's ending is unknown.
        OSError: the file cannot be written.
    """
    target = Path(path)
    with target.open("a", encoding="utf-8") as file:
        file.write(rendered([enrichment.model_dump(mode="json")], _suffix(target)))


def is_enrichment_file(path: Path) -> bool:
    """Whether a file's name says that it holds enrichments and no tools (``tools.enrichment.yaml``)."""
    return path.suffix.lower() in ENRICHMENT_SUFFIXES and path.stem.lower().endswith(_MARK)


def enrichment_file(catalog: str) -> Path:
    """Where the enrichments of a catalog are kept by default: beside its file or folder, or here for a module.

    Example:
        >>> str(enrichment_file("tools.jsonl"))
        'tools.enrichment.yaml'
    """
    path = Path(catalog)
    if path.exists() or ":" not in catalog:
        return path.with_name(f"{path.stem}{_MARK}.yaml")
    return Path(f"{catalog.replace(':', '.')}{_MARK}.yaml")


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in ENRICHMENT_SUFFIXES:
        raise CatalogError(f"{str(path)!r} must end in one of {', '.join(ENRICHMENT_SUFFIXES)}")
    return suffix


def _yaml_list(text: str, source: str) -> list[Any]:
    try:
        value = parse_yaml(text)
    except ToolFormatError as error:
        raise ToolFormatError(error.reason, source=source) from None
    if value is None:
        return []
    if not isinstance(value, list):
        raise ToolFormatError("a list of enrichments is expected", source=source)
    return value


def _validated(value: Any, source: str, number: int) -> Enrichment:
    try:
        return Enrichment.model_validate(value if isinstance(value, Mapping) else {})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(step) for step in first["loc"])
        raise ToolFormatError(first["msg"], source=source, index=number, field=field) from None
