"""Stage 2 of the router: from a request to the tools that may serve it, by meaning (FAISS) and by words (BM25)."""

from .fusion import FusionWeights
from .opening import open_retriever
from .retriever import Retriever
from .vectors import FaissIndex, VectorIndex

__all__ = [
    "FaissIndex",
    "FusionWeights",
    "Retriever",
    "VectorIndex",
    "open_retriever",
]
