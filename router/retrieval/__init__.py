"""Stage 2 of the router: from a request to the tools that may serve it, by meaning (FAISS) and by words (BM25)."""

from .embedders import Embedder, HashEmbedder, SentenceTransformerEmbedder
from .fusion import FusionWeights
from .language import detect_language
from .opening import open_retriever
from .retriever import Retriever
from .vectors import FaissIndex, VectorIndex

__all__ = [
    "Embedder",
    "FaissIndex",
    "FusionWeights",
    "HashEmbedder",
    "Retriever",
    "SentenceTransformerEmbedder",
    "VectorIndex",
    "detect_language",
    "open_retriever",
]
