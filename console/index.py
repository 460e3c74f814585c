"""`toolpath index`: embeds a catalog once and keeps the vectors in a folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import CatalogArgument, EmbedderOption, JsonOption, LenientOption, open_catalog, open_embedder, open_index
from .output import OUT, note, print_json


def index(
    catalog: CatalogArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the index; made when it is not there.")],
    embedder: EmbedderOption = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Start afresh, also over a damaged index.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Also list tools that their own description does not find.")
    ] = False,
    lenient: LenientOption = False,
    as_json: JsonOption = False,
) -> None:
    """Embed the tools of a catalog; only what changed since the last time is embedded again."""
    tools = open_catalog(catalog, lenient=lenient)
    started = time.perf_counter()
    retriever, embedded = open_index(tools, output, open_embedder(embedder), rebuild=rebuild)
    report: dict[str, Any] = {
        "tools": len(tools),
        "embedded": embedded,
        "folder": str(output),
        "embedder": retriever.embedder.fingerprint,
        "catalog_digest": tools.digest,
        "seconds": round(time.perf_counter() - started, 3),
    }
    if check:
        report["unreachable"] = retriever.unreachable()
    if as_json:
        print_json(report)
        return
    OUT.print(f"{output}: {len(tools)} tools, {embedded} embedded in {report['seconds']:.1f} s", markup=False)
    for name in report.get("unreachable", ()):
        note(f"not among the ten found for its own description: {name}")
