"""The embedder that Toolpath uses unless told otherwise: MiniLM with the low-rank update that ships with Toolpath."""

from __future__ import annotations

from pathlib import Path

from .sentence_transformer import SentenceTransformerEmbedder

TOOL_UPDATE = Path(__file__).parent / "tool_update.safetensors"
"""Learned on public labelled requests for tools; tool_update.md says on which, how, and what it gains."""


def default_embedder() -> SentenceTransformerEmbedder:
    """all-MiniLM-L6-v2, tuned to requests for tools; `SentenceTransformerEmbedder()` is the plain one.

    Example:
        >>> default_embedder().dimension
        384
    """
    return SentenceTransformerEmbedder(update=TOOL_UPDATE)
