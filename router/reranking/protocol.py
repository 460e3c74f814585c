"""What the router asks of a reranker, so that any model can be one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...catalog.errors import RoutingError
from ..records import Candidate


class RerankerError(RoutingError):
    """Raised when a reranking model cannot be loaded, fails, or gives scores that cannot be used."""


class Reranker(Protocol):
    """Reorders candidates by reading each one together with the request. Called in worker threads, several at a time.

    A reranker never makes routing fail: when its model cannot answer, the candidates come back as they were, and say
    so in their reasons.
    """

    @property
    def depth(self) -> int:
        """How many candidates are worth finding for it, however few are asked of the router."""
        ...

    def rerank(self, request: str, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The same candidates, best first; those that the request names outright stay in front."""
        ...

    def rerank_many(self, requests: Sequence[str], found: Sequence[Sequence[Candidate]]) -> list[list[Candidate]]:
        """The same for many requests in one pass of the model; `found` is parallel to `requests`."""
        ...
