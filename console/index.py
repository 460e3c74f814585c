"""`toolpath index`: embeds a catalog once, keeps the vectors in a folder, and checks that every tool can be found."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..catalog import Catalog
from .options import (
    CatalogArgument,
    EmbedderOption,
    JsonOption,
    LenientOption,
    cached_index,
    open_catalog,
    open_embedder,
    open_index,
)
from .output import EXIT_NOT_OK, OUT, harmless, print_json, progress, warn

if TYPE_CHECKING:
    from ..router import Retriever
    from ..router.reachability import ReachabilityReport

MAX_LINES = 20
"""Lines that each list of the check takes on screen; ``--json`` has all."""

MAX_INSTEAD = 3
"""Names shown of those that were found in a tool's place."""


def index(
    catalog: CatalogArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Folder for the index; made when it is not there. Default: in the user's cache."
        ),
    ] = None,
    embedder: EmbedderOption = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Start afresh, also over a damaged index.")] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Also search for every tool by its own name and description; exit 1 if one fails."
        ),
    ] = False,
    k: Annotated[int, typer.Option("-k", min=1, help="With --check: a tool must be among the first K.")] = 5,
    lenient: LenientOption = False,
    as_json: JsonOption = False,
) -> None:
    """Embed the tools of a catalog; only what changed since the last time is embedded again."""
    tools = open_catalog(catalog, lenient=lenient)
    started = time.perf_counter()
    retriever, embedded = open_index(tools, output, open_embedder(embedder), rebuild=rebuild)
    folder = output if output is not None else cached_index(tools, retriever.embedder)
    report: dict[str, Any] = {
        "tools": len(tools),
        "left_out": [str(error) for error in tools.left_out],
        "embedded": embedded,
        "folder": str(folder),
        "embedder": retriever.embedder.fingerprint,
        "catalog_digest": tools.digest,
        "seconds": round(time.perf_counter() - started, 3),
    }
    checked = _checked(tools, retriever, k) if check else None
    if as_json:
        print_json(report if checked is None else {**report, "check": checked.to_dict()})
    else:
        _say(f"{folder}: {len(tools):,} tools, {embedded:,} embedded in {report['seconds']:.1f} s")
        if checked is not None:
            _show(checked)
    if checked is not None and not checked.complete:
        raise SystemExit(EXIT_NOT_OK)


def _checked(tools: Catalog, retriever: Retriever, k: int) -> ReachabilityReport:
    from ..router import RuleIntentClassifier
    from ..router.reachability import check_reachability

    with progress("checking tools") as advance:
        return check_reachability(tools, retriever, k, classify=RuleIntentClassifier(tools).classify, progress=advance)


def _show(report: ReachabilityReport) -> None:
    among = f"among the first {report.k} for its own words" if report.k > 1 else "first for its own words"
    if report.complete:
        _say(f"check: every tool is {among}")
    else:
        _say(f"check: {len(report.unreachable):,} of {report.tools:,} tools are not {among}")
    _list(
        [
            f"{miss.tool}, by its {miss.by}; found instead: {', '.join(miss.instead[:MAX_INSTEAD]) or 'nothing'}"
            for miss in report.misses
        ]
    )
    if report.twins:
        _say(f"tools that say the same, so that only their names tell them apart, in groups ({len(report.twins):,}):")
        _list([", ".join(group) for group in report.twins])
    if report.wordless:
        _say(f"tools with neither description nor example ({len(report.wordless):,}):")
        _list(report.wordless)
    if report.left_out:
        _say(f"entries left out of the catalog, which cannot be found at all ({len(report.left_out):,}):")
        _list(report.left_out)
    if report.by_words_alone:
        warn(f"{report.by_words_alone:,} of {report.searches:,} searches compared words alone: the embedder failed")


def _list(lines: Sequence[str]) -> None:
    for line in lines[:MAX_LINES]:
        _say(f"  {line}")
    if len(lines) > MAX_LINES:
        _say(f"  and {len(lines) - MAX_LINES:,} more; --json lists all")


def _say(line: str) -> None:
    OUT.print(harmless(line), markup=False, soft_wrap=True)
