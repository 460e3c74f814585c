"""Stage 2 with a reranker behind it: finds more than is asked for, reorders, and cuts."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..records import Candidate, Intent
from ..searching import SearchesTools
from .protocol import Reranker


class RerankedSearch:
    """A search whose results a reranker reorders. Each sub-request of several is reranked by its own text.

    Args:
        retriever: finds the candidates.
        reranker: reorders them.

    Attributes:
        seconds: spent in the reranker so far.
    """

    def __init__(self, retriever: SearchesTools, reranker: Reranker) -> None:
        self._retriever, self._reranker = retriever, reranker
        self.seconds = 0.0

    def search(self, request: str, k: int, intent: Intent | None = None) -> list[Candidate]:
        """See `SearchesTools`."""
        return self.search_many([request], k, None if intent is None else [intent])[0]

    def search_many(
        self, requests: Sequence[str], k: int, intents: Sequence[Intent] | None = None
    ) -> list[list[Candidate]]:
        """See `SearchesTools`."""
        found = self._retriever.search_many(requests, max(k, self._reranker.depth), intents)
        started = time.perf_counter()
        ranked = self._reranker.rerank_many(requests, found)
        self.seconds += time.perf_counter() - started
        return [candidates[:k] for candidates in ranked]
