"""Arguments that several commands share, and how they become objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import platformdirs
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..catalog import Catalog, load_catalog
from .output import ERR, chatter_to_stderr, fail, note

if TYPE_CHECKING:
    from ..router import Embedder, Reranker, Retriever, Selector

CatalogArgument = Annotated[
    str, typer.Argument(metavar="CATALOG", help="A file (.jsonl, .json, .yaml), a folder, or module:attribute.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")]
EmbedderOption = Annotated[
    str | None,
    typer.Option(
        help="default, minilm (untuned), onnx, onnx-int8, multilingual, hash (no model), the .safetensors file that "
        "tune made, or a sentence-transformers model by name or path."
    ),
]
RerankerOption = Annotated[
    str | None, typer.Option(help="A cross-encoder of sentence-transformers by name or path, to reorder the best.")
]
IndexOption = Annotated[
    Path | None, typer.Option(help="Folder of the index, made when it is not there. Default: in the user's cache.")
]
LenientOption = Annotated[bool, typer.Option("--lenient", help="Leave out malformed entries instead of stopping.")]
ModelOption = Annotated[
    str | None,
    typer.Option(help="Model for stage 3, such as openai:gpt-5-mini or anthropic:claude-haiku-4-5."),
]
BaseUrlOption = Annotated[
    str | None, typer.Option(help="An OpenAI-compatible server for --model, such as http://127.0.0.1:8080/v1.")
]


def open_catalog(spec: str, *, lenient: bool = False) -> Catalog:
    """The catalog that `spec` names; entries that a lenient reading leaves out are noted.

    Raises:
        CatalogError: it cannot be read.
    """
    with chatter_to_stderr():
        catalog = load_catalog(spec, strict=not lenient)
    for left_out in catalog.left_out:
        note(f"left out: {left_out}")
    return catalog


def open_embedder(name: str | None) -> Embedder | None:
    """The embedder that an option names; None: the default one.

    Raises:
        MissingExtraError: the embedder needs an extra that is not installed.
    """
    if name is None:
        return None
    from ..router.embedding.named import embedder_named

    if not name.strip():
        fail("--embedder is blank: name an embedder, or leave the option out")
    return embedder_named(name)


def open_reranker(name: str | None) -> Reranker | None:
    """The cross-encoder that an option names, loaded, so that a wrong name is an error here; None: no reranker.

    Raises:
        RerankerError: it cannot be loaded.
    """
    if name is None:
        return None
    from ..router import CrossEncoderReranker

    if not name.strip():
        fail("--reranker is blank: name a cross-encoder, or leave the option out")
    reranker = CrossEncoderReranker(name)
    reranker.load()
    return reranker


def open_selector(model: str | None, base_url: str | None, catalog: Catalog, retriever: Retriever) -> Selector | None:
    """The selector that the model options ask for; None: the ranking decides.

    Raises:
        MissingExtraError: the extra for language models is not installed.
        ModelError: the model has an unknown name.
    """
    if model is None and base_url is None:
        return None
    from ..router import LLMSelector, RankSelector

    return LLMSelector(model, base_url=base_url, fallback=RankSelector(catalog, retriever))


def open_index(
    catalog: Catalog, folder: Path | None, embedder: Embedder | None, *, rebuild: bool = False
) -> tuple[Retriever, int]:
    """The retriever of `catalog`, with its index in `folder` or in the user's cache, and how many tools it embedded.

    Raises:
        IndexMismatchError: the given folder holds a damaged index or one of another model. An index in the cache
            is made anew instead.
    """
    from ..router import Retriever, default_embedder, open_retriever

    embedder = embedder if embedder is not None else default_embedder()
    cached = folder is None
    if folder is None:
        folder = cached_index(catalog, embedder)
        rebuild = True
    embedded = 0
    with Progress(
        TextColumn("embedding tools"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=ERR,
        transient=True,
        disable=not ERR.is_terminal,
    ) as bar:
        task = bar.add_task("", total=None, visible=False)

        def progress(done: int, total: int) -> None:
            nonlocal embedded
            embedded = done
            bar.update(task, completed=done, total=total, visible=True)

        try:
            retriever = open_retriever(catalog, folder, embedder, rebuild=rebuild, progress=progress)
        except OSError as error:
            reason = error.strerror or error
            if not cached:
                fail(f"the index cannot be kept in {folder}: {reason}; name another folder")
            note(f"the index is not kept for the next time: {folder}: {reason}")
            retriever = Retriever(catalog, embedder)
    return retriever, embedded


def cached_index(catalog: Catalog, embedder: Embedder) -> Path:
    """Where the index of this catalog and embedder is kept when the user names no folder."""
    name = f"{catalog.digest[:16]}-{embedder.fingerprint[-16:]}"
    return Path(platformdirs.user_cache_dir("toolpath")) / "index" / "".join(c if c.isalnum() else "-" for c in name)
