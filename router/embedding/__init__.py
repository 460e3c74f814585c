"""Embedders turn texts into unit vectors: the protocol, sentence-transformers behind it, and one without a model."""

from .hashing import HashEmbedder
from .protocol import Embedder, TextKind, Vectors
from .sentence_transformer import SentenceTransformerEmbedder

__all__ = ["Embedder", "HashEmbedder", "SentenceTransformerEmbedder", "TextKind", "Vectors"]
