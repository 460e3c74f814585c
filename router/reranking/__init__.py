"""Reranking: a slower model reads request and tool together, and reorders the best that stage 2 found."""

from .cross_encoder import CrossEncoderReranker
from .fusing import reranked
from .protocol import Reranker, RerankerError
from .search import RerankedSearch

__all__ = ["CrossEncoderReranker", "RerankedSearch", "Reranker", "RerankerError", "reranked"]
