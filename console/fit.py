"""`toolpath fit`: weights of the retrieval arms from labelled requests, kept beside the index they belong to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..router import Router, RuleIntentClassifier, load_rules
from ..router.evaluation import load_queries, where_fields
from .options import (
    CatalogArgument,
    EmbedderOption,
    IndexOption,
    JsonOption,
    LenientOption,
    cached_index,
    open_catalog,
    open_embedder,
    open_index,
)
from .output import OUT, fail, note, print_json


def fit(
    catalog: CatalogArgument,
    queries: Annotated[
        Path, typer.Argument(metavar="QUERIES", help="A .jsonl file of labelled requests, or a folder with one.")
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="Recall at this rank decides.")] = 5,
    held_out: Annotated[
        float, typer.Option("--held-out", help="Share of the requests that judge and never choose.")
    ] = 0.4,
    split: Annotated[
        str | None, typer.Option(help="Only requests of this split, so that others stay unseen for `bench`.")
    ] = None,
    rules: Annotated[Path | None, typer.Option(help="A YAML file with intent rules of your own.")] = None,
    embedder: EmbedderOption = None,
    index: IndexOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report only; keep the weights as they are.")] = False,
    lenient: LenientOption = False,
    as_json: JsonOption = False,
) -> None:
    """Choose how much meaning, words and parameters count, on labelled requests.

    The weights go into the index folder, where route and bench find them. They change only if they do better on
    requests that did not choose them. QUERIES is as for bench.
    """
    if not 0 < held_out < 1:
        fail(f"--held-out must lie between 0 and 1, not {held_out:g}")
    tools = open_catalog(catalog, lenient=lenient)
    requests = load_queries(queries)
    if split is not None:
        requests = where_fields(requests, {"split": split})
    retriever, _ = open_index(tools, index, open_embedder(embedder))
    classifier = RuleIntentClassifier(tools, load_rules(rules)) if rules is not None else None
    report = Router(tools, classifier=classifier, retriever=retriever).fit_sync(requests, k=k, held_out=held_out)
    folder = index if index is not None else cached_index(tools, retriever.embedder)
    saved = report.adopted and not dry_run
    if saved:
        from ..router.retrieval.weighing import save_weights

        try:
            save_weights(folder, report.weights, retriever.embedder.fingerprint)
        except OSError as error:
            fail(f"the weights cannot be kept in {folder}: {error.strerror or error}")
    if as_json:
        print_json({**report.to_dict(), "folder": str(folder), "saved": saved})
        return
    OUT.print(report.explain(), markup=False, soft_wrap=True)
    if saved:
        note(f"the weights are kept in {folder}")
        if index is None:
            note("an index in the cache belongs to the catalog as it is; for one that changes, name a folder: --index")
