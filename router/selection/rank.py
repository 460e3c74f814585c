"""Stage 3 without a model: the best-ranked tool, how sure the ranking is, and "none fits" when it is not."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread

from ...catalog import Catalog
from ...catalog.errors import RoutingError
from ..records import Candidate, Intent, Selection
from ..searching import SearchesTools
from .extract import extract_call
from .mentions import Clock
from .scale import CatalogScales, reach

THRESHOLD = 0.335
"""Confidence below which none fits: reached by a cosine of 0.3 times what the tools' own words reach, which 97% of the
answerable requests of the training sets named in `scale` do."""
NAMED = 0.98
"""Confidence in a tool that the request names."""
UNKNOWN = 0.5
"""Confidence where there is no yardstick: neither sure nor unsure."""


class RankSelector:
    """Takes the best-ranked candidate and reads its arguments from the request.

    With a catalog and its retriever, the nearest candidate's cosine is measured against those with which the catalog's
    tools are found by their own words (`scale`); for a request that stays far below, none fits. A request in a language
    in which the catalog has no descriptions, and one that names a tool, is never turned away.

    Args:
        catalog: the tools that the candidates come from.
        retriever: what found them. Without it nothing is turned away.
        threshold: confidence below which none fits. Default: `THRESHOLD`; 0 turns nothing away.
        clock: the current local time, for arguments such as "tomorrow"; without it such words are left alone.

    Raises:
        RoutingError: the threshold is not between 0 and 1, or only one of catalog and retriever is given.
    """

    def __init__(
        self,
        catalog: Catalog | None = None,
        retriever: SearchesTools | None = None,
        *,
        threshold: float = THRESHOLD,
        clock: Clock | None = None,
    ) -> None:
        if not 0 <= threshold <= 1:
            raise RoutingError(f"the threshold is a confidence between 0 and 1, not {threshold}")
        if (catalog is None) != (retriever is None):
            raise RoutingError("give both the catalog and its retriever, or neither")
        self._scales = CatalogScales(catalog, retriever) if catalog is not None and retriever is not None else None
        self._threshold = threshold
        self._clock = clock

    async def select(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
        """The selection, made in a worker thread."""
        return await anyio.to_thread.run_sync(self.choose, request, candidates, intent)

    def choose(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
        """The same for code that is in a thread already."""
        if not candidates:
            return Selection(abstained=True, confidence=1.0, reason="no candidate")
        best = candidates[0]
        confidence, why, measured = self._confidence(candidates, intent)
        if measured and confidence < self._threshold:
            reason = f"{best.name} ranks first, but {why}: fit {confidence:.2f} is below {self._threshold:g}"
            return Selection(abstained=True, confidence=1 - confidence, reason=reason)
        call = extract_call(best.tool, request, self._clock)
        return Selection(calls=(call,), confidence=confidence, reason=f"{best.name} ranks first; {why}")

    def _confidence(self, candidates: Sequence[Candidate], intent: Intent) -> tuple[float, str, bool]:
        """How sure it is that some tool fits, why, in words, and whether that could be measured at all."""
        best = candidates[0]
        if best.name in intent.exact:
            return NAMED, "the request names it", False
        scale = self._scales.of(intent.language) if self._scales is not None else None
        if scale is None:
            return UNKNOWN, f"too few tools describe themselves in {intent.language!r} to judge whether any fits", False
        reached = reach(candidates)
        if reached is None:
            return UNKNOWN, "nothing was compared by meaning", False
        share = reached / scale.typical
        why = f"the nearest tool is {share:.0%} as similar to the request as to its own description"
        return scale.confidence(reached), why, True
