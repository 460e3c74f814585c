"""From a request to checked tool calls: rules narrow, retrieval ranks, a selector picks."""

from typing import TYPE_CHECKING

from ..catalog.errors import EmbedderError, IndexMismatchError, ModelError, RoutingError, RuleError
from .decision import RoutingDecision
from .intent import IntentClassifier, IntentRule, RuleIntentClassifier, load_rules
from .records import Candidate, Intent, Selection, Usage
from .router import Router
from .selection import RankSelector, Selector

if TYPE_CHECKING:
    from .dependencies import ClosureBudget, DependencyGraph
    from .embedding import (
        Embedder,
        HashEmbedder,
        LanguageCentredEmbedder,
        LowRankUpdate,
        MultilingualEmbedder,
        OnnxEmbedder,
        SentenceTransformerEmbedder,
        default_embedder,
        embedder_named,
    )
    from .feedback import FeedbackStore
    from .reachability import ReachabilityReport, check_reachability
    from .reranking import CrossEncoderReranker, Reranker
    from .retrieval import FusionWeights, Retriever, VectorIndex, open_retriever
    from .selection import LLMSelector
    from .session import ToolSession
    from .splitting import LLMSplitter, Splitter

__all__ = [
    "Candidate",
    "ClosureBudget",
    "CrossEncoderReranker",
    "DependencyGraph",
    "Embedder",
    "EmbedderError",
    "FeedbackStore",
    "FusionWeights",
    "HashEmbedder",
    "IndexMismatchError",
    "Intent",
    "IntentClassifier",
    "IntentRule",
    "LLMSelector",
    "LLMSplitter",
    "LanguageCentredEmbedder",
    "LowRankUpdate",
    "ModelError",
    "MultilingualEmbedder",
    "OnnxEmbedder",
    "RankSelector",
    "ReachabilityReport",
    "Reranker",
    "Retriever",
    "Router",
    "RoutingDecision",
    "RoutingError",
    "RuleError",
    "RuleIntentClassifier",
    "Selection",
    "Selector",
    "SentenceTransformerEmbedder",
    "Splitter",
    "ToolSession",
    "Usage",
    "VectorIndex",
    "check_reachability",
    "default_embedder",
    "embedder_named",
    "load_rules",
    "open_retriever",
]

_LATE = {
    "ClosureBudget": "dependencies",
    "CrossEncoderReranker": "reranking",
    "DependencyGraph": "dependencies",
    "Embedder": "embedding",
    "FeedbackStore": "feedback",
    "FusionWeights": "retrieval",
    "HashEmbedder": "embedding",
    "LLMSelector": "selection",
    "LLMSplitter": "splitting",
    "LanguageCentredEmbedder": "embedding",
    "LowRankUpdate": "embedding",
    "MultilingualEmbedder": "embedding",
    "OnnxEmbedder": "embedding",
    "Reranker": "reranking",
    "ReachabilityReport": "reachability",
    "Retriever": "retrieval",
    "SentenceTransformerEmbedder": "embedding",
    "Splitter": "splitting",
    "ToolSession": "session",
    "VectorIndex": "retrieval",
    "check_reachability": "reachability",
    "default_embedder": "embedding",
    "embedder_named": "embedding",
    "open_retriever": "retrieval",
}
"""Names whose modules import heavy libraries, loaded when they are first asked for."""


def __getattr__(name: str) -> object:
    if name in _LATE:
        from importlib import import_module

        return getattr(import_module(f".{_LATE[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
