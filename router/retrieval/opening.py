"""A retriever whose index lives in a folder: loaded when it is there, built when not, saved whenever it has changed."""

from __future__ import annotations

from pathlib import Path

from ...catalog import Catalog
from ...catalog.errors import IndexMismatchError
from ..embedding import Embedder
from .dense import Progress
from .retriever import Retriever
from .store import MANIFEST
from .weighing import load_weights


def open_retriever(
    catalog: Catalog,
    folder: str | Path,
    embedder: Embedder | None = None,
    *,
    rebuild: bool = False,
    progress: Progress | None = None,
) -> Retriever:
    """Opens the index in `folder` for `catalog`, brings it up to date, and saves it when that took any embedding.

    Weights that `toolpath fit` (or `save_weights`) left there are used.

    Args:
        catalog: the tools.
        folder: made when it does not exist.
        embedder: as for `Retriever`.
        rebuild: start afresh when the folder holds a damaged index or one of another model, instead of raising;
            weights of another model are left aside.
        progress: called now and then with the number of tools embedded and the number to embed.

    Raises:
        IndexMismatchError: the folder holds a damaged index, one of another model, or something else entirely; or
            weights that are damaged or belong to another model.
        EmbedderError: the embedder fails.
        OSError: the folder cannot be written.
    """
    saved = Path(folder) if (Path(folder) / MANIFEST).is_file() else None
    Path(folder).mkdir(parents=True, exist_ok=True)  # where that cannot be, say so before the work and not after it
    retriever = Retriever(catalog, embedder, index=saved, rebuild=rebuild)
    try:
        weights = load_weights(Path(folder), retriever.embedder.fingerprint)
    except IndexMismatchError:
        if not rebuild:
            raise
        weights = None
    if weights is not None:
        retriever.weights = weights
    retriever.folder = Path(folder)
    if retriever.refresh(progress) or saved is None:
        retriever.save(folder)
    return retriever
