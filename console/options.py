"""Arguments that several commands share, and how they become objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import platformdirs
import typer

from ..catalog import Catalog, load_catalog
from .output import note

if TYPE_CHECKING:
    from ..router import Embedder

CatalogArgument = Annotated[
    str, typer.Argument(metavar="CATALOG", help="A file (.jsonl, .json, .yaml), a folder, or module:attribute.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")]
EmbedderOption = Annotated[
    str | None,
    typer.Option(help="A sentence-transformers model by name or path; 'hash' needs no model. Default: MiniLM."),
]
IndexOption = Annotated[Path | None, typer.Option(help="Folder of a saved index. Default: one in the user's cache.")]
LenientOption = Annotated[bool, typer.Option("--lenient", help="Leave out malformed entries instead of stopping.")]
ModelOption = Annotated[
    str | None,
    typer.Option(help="Model for stage 3, such as openai:gpt-5-mini or anthropic:claude-haiku-4-5."),
]
BaseUrlOption = Annotated[
    str | None, typer.Option(help="An OpenAI-compatible server, such as http://127.0.0.1:8080/v1.")
]


def open_catalog(spec: str, *, lenient: bool = False) -> Catalog:
    """The catalog that `spec` names; entries that a lenient reading leaves out are noted.

    Raises:
        CatalogError: it cannot be read.
    """
    loaded = load_catalog(spec, strict=not lenient)
    return loaded


def open_embedder(name: str | None) -> Embedder | None:
    """The embedder that an option names; None: the default one."""
    if name is None:
        return None
    from ..router import HashEmbedder, SentenceTransformerEmbedder

    return HashEmbedder() if name == "hash" else SentenceTransformerEmbedder(name)


def open_model(model: str | None, base_url: str | None) -> Any:
    """The selector that the model options ask for; None: the ranking decides."""
    if model is None and base_url is None:
        return None
    from ..router import LLMSelector

    return LLMSelector(model, base_url=base_url)


def index_folder(catalog: Catalog, index: Path | None) -> Path:
    """Where the index of `catalog` is: the given folder, or one of its own in the user's cache."""
    if index is not None:
        return index
    folder = Path(platformdirs.user_cache_dir("toolpath")) / "index" / catalog.digest[:16]
    if not folder.exists():
        note(f"building an index of {len(catalog)} tools; it is kept in the user's cache")
    return folder
