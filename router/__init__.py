"""From a request to checked tool calls: rules narrow, retrieval ranks, a selector picks."""

from typing import TYPE_CHECKING

from ..catalog.errors import EmbedderError, IndexMismatchError, ModelError, RoutingError, RuleError
from .decision import RoutingDecision
from .intent import IntentClassifier, IntentRule, RuleIntentClassifier, load_rules
from .records import Candidate, Intent, Selection, Usage
from .router import Router
from .selection import RankSelector, Selector

if TYPE_CHECKING:
    from .embedding import Embedder, HashEmbedder, SentenceTransformerEmbedder
    from .retrieval import Retriever, open_retriever
    from .selection import LLMSelector

__all__ = [
    "Candidate",
    "Embedder",
    "EmbedderError",
    "HashEmbedder",
    "IndexMismatchError",
    "Intent",
    "IntentClassifier",
    "IntentRule",
    "LLMSelector",
    "ModelError",
    "RankSelector",
    "Retriever",
    "Router",
    "RoutingDecision",
    "RoutingError",
    "RuleError",
    "RuleIntentClassifier",
    "Selection",
    "Selector",
    "SentenceTransformerEmbedder",
    "Usage",
    "load_rules",
    "open_retriever",
]

_LATE = {
    "Embedder": "embedding",
    "HashEmbedder": "embedding",
    "LLMSelector": "selection",
    "Retriever": "retrieval",
    "SentenceTransformerEmbedder": "embedding",
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
