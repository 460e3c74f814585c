"""Enriches a catalog: what is missing or stale is written, sifted and kept in a file, one tool at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from ...catalog import Catalog, Enrichment, Tool, read_enrichments, save_enrichments
from ...catalog.sources import append_enrichment, definition_digest
from ..searching import SearchesTools
from .filtering import ROUND_TRIP, sift
from .prompts import DEFAULT_STYLES
from .writing import Written, write_requests

if TYPE_CHECKING:
    from pydantic_ai.models import Model


@dataclass(slots=True)
class EnrichmentReport:
    """What a run did.

    Attributes:
        written: tools that were written for in this run.
        kept: requests that were kept in this run.
        dropped: why requests were dropped to how many.
        failed: tool to why the model wrote nothing; it is asked again in the next run.
        ready: tools whose enrichment was in the file already and still holds.
        left: tools that are still to be written for.
        input_tokens: read by the model in this run.
        output_tokens: written by the model in this run.
    """

    written: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)
    ready: int = 0
    left: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        return {
            "written": self.written,
            "kept": self.kept,
            "dropped": dict(self.dropped),
            "failed": self.failed,
            "ready": self.ready,
            "left": self.left,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
        }


async def enrich(
    catalog: Catalog,
    path: Path,
    model: Model | str | None = None,
    *,
    base_url: str | None = None,
    retriever: SearchesTools | None = None,
    styles: Sequence[str] = DEFAULT_STYLES,
    limit: int | None = None,
    k: int = ROUND_TRIP,
    progress: Callable[[int, int], None] | None = None,
    report: EnrichmentReport | None = None,
    **options: Any,
) -> EnrichmentReport:
    """Lets a model write a when-to-use line and sample requests for each tool, into a file for people to review.

    A tool whose definition has not changed since its entry was written is not written for again, so that a person's
    edits stay. Each tool's entry is in the file before the next one is asked for: an interrupted run loses nothing.
    Entries of tools that the catalog no longer has are kept.

    Args:
        catalog: the tools, without enrichments applied.
        path: the file, ``.yaml`` or ``.jsonl``.
        model: as `LLMSelector` takes it.
        base_url: as `LLMSelector` takes it.
        retriever: over `catalog`, to drop requests that do not find their tool; None: all are kept.
        styles: names out of `STYLES`.
        limit: write for at most so many tools in this run.
        k: a request must find its tool among so many candidates.
        progress: called with tools done and tools to do.
        report: filled as the run goes, so that it is there after an interruption too.
        options: of `write_requests`.

    Raises:
        CatalogError: the file exists and is no file of enrichments.
        ModelError: the model cannot be set up, or fails for several tools in a row.
    """
    report = report if report is not None else EnrichmentReport()
    entries = _entries(path)
    pending = [tool for tool in catalog if not _holds(entries.get(tool.name), tool)]
    report.ready, report.left = len(catalog) - len(pending), len(pending)
    todo = pending if limit is None else pending[:limit]
    if not todo:
        return report
    save_enrichments(path, entries.values())  # a line that a crash has cut off would swallow the next one

    async def keep(written: Written) -> None:
        report.input_tokens += written.usage.input_tokens
        report.output_tokens += written.usage.output_tokens
        if written.problem:
            report.failed[written.tool.name] = written.problem
        else:
            entry, dropped = await anyio.to_thread.run_sync(_sifted, written, retriever, k)
            append_enrichment(path, entry)  # not in a thread: a line is written at once or, after Ctrl-C, not at all
            entries[entry.tool] = entry
            report.dropped.update(dropped.values())
            report.written, report.kept, report.left = (
                report.written + 1,
                report.kept + len(entry.examples),
                report.left - 1,
            )
        if progress is not None:
            progress(report.written + len(report.failed), len(todo))

    try:
        await write_requests(
            todo, model, base_url=base_url, styles=styles, when_to_use=True, on_written=keep, **options
        )
    finally:
        save_enrichments(path, _in_order(entries, catalog))
    return report


def _entries(path: Path) -> dict[str, Enrichment]:
    return read_enrichments(path) if path.exists() else {}


def _holds(entry: Enrichment | None, tool: Tool) -> bool:
    return entry is not None and entry.digest == definition_digest(tool)


def _sifted(written: Written, retriever: SearchesTools | None, k: int) -> tuple[Enrichment, dict[str, str]]:
    kept, dropped = sift(written.requests, written.tool, retriever, k)
    entry = Enrichment(
        tool=written.tool.name,
        digest=definition_digest(written.tool),
        when_to_use=written.when_to_use,
        examples=kept,
    )
    return entry, dropped


def _in_order(entries: Mapping[str, Enrichment], catalog: Catalog) -> list[Enrichment]:
    """Entries in the catalog's order, then those of tools that it has not got (any more)."""
    known = [entries[tool.name] for tool in catalog if tool.name in entries]
    return known + [entry for name, entry in entries.items() if catalog.find(name) is None]
