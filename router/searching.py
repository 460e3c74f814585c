"""What stages 1 and 3 and the router ask of stage 2, so that another search can stand in for `retrieval.Retriever`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .records import Candidate, Intent


class SearchesTools(Protocol):
    """Stage 2."""

    def search(self, request: str, k: int, intent: Intent | None = None) -> list[Candidate]:
        """At most `k` candidates, best first. Called in a worker thread."""
        ...

    def search_many(
        self, requests: Sequence[str], k: int, intents: Sequence[Intent] | None = None
    ) -> list[list[Candidate]]:
        """The same for many requests at once."""
        ...
