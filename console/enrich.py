"""`toolpath enrich`: a model writes when to use each tool and how people ask for it, into a file to review."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import anyio
import typer

from ..catalog.sources import enrichment_file
from ..router.enrichment import STYLES, EnrichmentReport, enrich
from ..router.explain import printable
from .options import (
    BaseUrlOption,
    CatalogArgument,
    EmbedderOption,
    IndexOption,
    JsonOption,
    LenientOption,
    ModelOption,
    open_catalog,
    open_embedder,
    open_index,
)
from .output import EXIT_NOT_OK, OUT, note, print_json, progress, warn

MAX_FAILURES_SHOWN = 10


def enrich_command(
    catalog: CatalogArgument,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="File to write, .yaml or .jsonl. Default: CATALOG.enrichment.yaml beside it."),
    ] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    requests: Annotated[int, typer.Option(min=1, max=len(STYLES), help="Sample requests, each of another style.")] = 3,
    limit: Annotated[int | None, typer.Option(min=1, help="Write for at most so many tools this time.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Keep requests that find their tool among so many.")] = 10,
    language: Annotated[
        str | None, typer.Option(help="Language to write in, such as de. Default: that of each description.")
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, help="Questions in flight.")] = 4,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for one tool.")] = 120.0,
    embedder: EmbedderOption = None,
    index: IndexOption = None,
    lenient: LenientOption = False,
    as_json: JsonOption = False,
) -> None:
    """Let a language model write when to use each tool, and sample requests, into a file that you review.

    A tool that has an entry already is asked for again only when its definition has changed. Ctrl-C loses nothing:
    run the command again to go on.
    """
    tools = open_catalog(catalog, lenient=lenient)
    path = output if output is not None else enrichment_file(catalog)
    retriever, _ = open_index(tools, index, open_embedder(embedder))
    report = EnrichmentReport()
    styles = tuple(STYLES)[:requests]

    async def work(advance: Callable[[int, int], None]) -> None:
        await enrich(
            tools,
            path,
            model,
            base_url=base_url,
            retriever=retriever,
            styles=styles,
            limit=limit,
            k=k,
            progress=advance,
            report=report,
            language=language,
            concurrency=parallel,
            timeout=timeout,
        )

    try:
        with progress("writing for tools") as advance:
            anyio.run(work, advance)
    finally:  # after Ctrl-C and after a failure too: what is written is there
        _tell(report, path, as_json)
    if report.failed:
        raise SystemExit(EXIT_NOT_OK)


def _tell(report: EnrichmentReport, path: Path, as_json: bool) -> None:
    for name, reason in list(report.failed.items())[:MAX_FAILURES_SHOWN]:
        warn(f"{printable(name)}: {printable(reason, 200)}")
    if len(report.failed) > MAX_FAILURES_SHOWN:
        warn(f"and {len(report.failed) - MAX_FAILURES_SHOWN} tools more")
    if as_json:
        print_json({"file": str(path), **report.to_dict()})
        return
    OUT.print(
        f"{path}: {report.written} tools written, {report.ready} were there already, {report.left} are left",
        markup=False,
        soft_wrap=True,
    )
    if report.written:
        dropped = ", ".join(f"{count} because a request {why}" for why, count in report.dropped.most_common())
        note(f"{report.kept} requests kept{f'; dropped {dropped}' if dropped else ''}")
        note(f"model: {report.input_tokens:,} tokens read, {report.output_tokens:,} written")
        note("review the file: mend or delete lines, and set reviewed to true")
