"""What the router asks of stage 3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ..records import Candidate, Intent, Selection


@runtime_checkable
class Selector(Protocol):
    """Stage 3: picks among the candidates, fills arguments, or says that none fits."""

    async def select(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
        """Chooses.

        Args:
            request: the user's text.
            candidates: what stage 2 found, best first; may be empty.
            intent: what stage 1 made of the request.

        Returns:
            The selection; a failure of a model is a reason inside it, never an exception.
        """
        ...
