"""Embedders turn texts into unit vectors: the protocol, sentence-transformers and ONNX behind it, other languages."""

from .centring import LanguageCentredEmbedder
from .default import default_embedder
from .hashing import HashEmbedder
from .multilingual import MultilingualEmbedder
from .named import EMBEDDERS, embedder_named
from .onnx import OnnxEmbedder
from .protocol import Embedder, TextKind, Vectors
from .sentence_transformer import SentenceTransformerEmbedder
from .update import LowRankUpdate

__all__ = [
    "EMBEDDERS",
    "Embedder",
    "HashEmbedder",
    "LanguageCentredEmbedder",
    "LowRankUpdate",
    "MultilingualEmbedder",
    "OnnxEmbedder",
    "SentenceTransformerEmbedder",
    "TextKind",
    "Vectors",
    "default_embedder",
    "embedder_named",
]
