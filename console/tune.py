"""`toolpath tune`: the default embedder, taught the words of one catalog's users."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..catalog import Catalog, Tool
from .options import BaseUrlOption, CatalogArgument, JsonOption, LenientOption, ModelOption, open_catalog
from .output import EXIT_NOT_OK, OUT, fail, leave, note, print_json, progress, warn


def tune(
    catalog: CatalogArgument,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The update that is made: a .safetensors file.")],
    queries: Annotated[
        Path | None, typer.Argument(metavar="[QUERIES]", help="Labelled requests, as for bench; else --model writes.")
    ] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the requests.")] = 3,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    plain: Annotated[bool, typer.Option("--plain", help="Begin with plain MiniLM, not with Toolpath's own.")] = False,
    lenient: LenientOption = False,
    as_json: JsonOption = False,
) -> None:
    """Teach the default embedder the words of this catalog's users.

    Learns on a part of the requests and compares the whole retrieval before and after on another part. An update that
    is not better is not written, and the command ends with 1. Use the file with --embedder FILE.
    """
    from ..router.embedding.default import TOOL_UPDATE
    from ..router.embedding.update import LowRankUpdate
    from ..router.evaluation import load_queries
    from ..router.tuning import Recipe, Step
    from ..router.tuning import tune as learn

    if out.suffix != ".safetensors":
        fail(f"the update is a .safetensors file; --out {out} has another ending")
    if not out.parent.is_dir():
        fail(f"cannot write {out}: there is no folder {out.parent}")
    if queries is None and model is None and base_url is None:
        fail("give labelled requests, or --model (and --base-url) so that a model writes them")
    tools = open_catalog(catalog, lenient=lenient)
    labelled = queries if queries is not None else _written(tools, out.with_suffix(".requests.jsonl"), model, base_url)
    requests = [
        (query.request, [(gold.name, *(gold.accepted - {gold.name})) for gold in query.gold])
        for query in load_queries(labelled)
    ]
    start = None if plain else LowRankUpdate.load(TOOL_UPDATE)
    with progress("learning") as advance:

        def show(step: Step) -> None:
            advance(step.done, step.total)

        tuned = learn(tools, requests, start=start, recipe=Recipe(epochs=epochs, seed=seed), progress=show)
    if tuned.better:
        try:
            tuned.update.save(out)
        except OSError as error:
            fail(f"cannot write {out}: {error.strerror or error}")
    if as_json:
        print_json({**tuned.to_dict(), "file": str(out) if tuned.better else None})
    else:
        OUT.print(f"learned from {tuned.learned:,} requests, judged by {tuned.judged:,} others", highlight=False)
        for k, before in tuned.before.items():
            OUT.print(f"recall@{k}   {before:.3f} before, {tuned.after[k]:.3f} after", highlight=False)
    if not tuned.better:
        warn("the tuned embedder is not better on requests that it has not seen: nothing was written")
        leave(EXIT_NOT_OK)
    note(f"wrote {out}: use it with --embedder {out}")


def _written(tools: Catalog, path: Path, model: str | None, base_url: str | None) -> Path:
    """The file with requests that the model writes; what an earlier run wrote for the same tools is kept."""
    from ..router.enrichment import Written, write_requests_sync

    done = _done(path)
    missing = [tool for tool in tools if tool.name not in done]
    finished = len(tools) - len(missing)
    with path.open("a", encoding="utf-8") as file, progress("writing requests") as advance:
        advance(finished, len(tools))

        def keep(written: Written) -> None:
            nonlocal finished
            for style, request in written.requests.items():
                row = {"id": f"{written.tool.name} {style}", "query": request, "tools": [written.tool.name]}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            if written.problem:
                warn(f"no requests for {written.tool.name}: {written.problem}")
            finished += 1
            advance(finished, len(tools))

        if missing:
            write_requests_sync(_shuffled(missing), model, base_url=base_url, on_written=keep)
    note(f"the requests are kept in {path}; a run that is broken off goes on from there")
    return path


def _done(path: Path) -> set[str]:
    """Names of the tools that the file has requests for; a line that a broken-off run left half written is cut off."""
    if not path.is_file():
        return set()
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    try:
        return {name for line in whole.splitlines() for name in json.loads(line)["tools"]}
    except (ValueError, KeyError, TypeError) as error:
        fail(f"{path} does not hold requests that an earlier run wrote ({error}); move it away")


def _shuffled(tools: list[Tool]) -> list[Tool]:
    """The tools in an order in which the first hundred are a fair sample, should the run be broken off."""
    import random

    mixed = list(tools)
    random.Random(0).shuffle(mixed)
    return mixed
