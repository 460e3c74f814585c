"""Stage 3 without a model: the best-ranked tool, how likely it is that some tool fits, and "none fits" below that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio.to_thread

from ...catalog import Catalog, ToolCall
from ...catalog.errors import RoutingError
from ..calibration import Adjustment, CatalogYardsticks, FitEvidence, fit_evidence
from ..calibration.constants import ACROSS_LANGUAGES, GENERAL, THRESHOLD
from ..records import Candidate, Intent, Selection
from ..searching import SearchesTools
from .extract import extract_call
from .mentions import Clock
from .several import choose_each

NAMED = 0.98
"""Confidence in a tool that the request names."""
UNKNOWN = 0.5
"""Confidence where nothing could be measured: neither sure nor unsure."""
FAR_BEHIND = -2.0
"""`FitEvidence.lead` from which the reason says that a tool out of reach fits better."""


@dataclass(frozen=True, slots=True)
class _Judgement:
    """How likely it is that some tool fits, why, in words, and whether that could be measured at all."""

    probability: float
    why: str
    measured: bool


class RankSelector:
    """Takes the best-ranked candidate and reads its arguments from the request.

    With a catalog and its retriever it says how likely it is that any tool fits (`calibration`), which is the
    confidence of its selection, and answers "none fits" below a threshold. A request that names a tool is never
    turned away, nor is one in a language in which neither descriptions nor embedder can judge it.

    Who wants "none, or nearly sure" sets the threshold to the least probability that is good enough to act on, such
    as 0.9: what the probabilities are worth on requests of one's own is shown by the reliability table of
    ``toolpath bench`` and made right by `evaluation.calibrate`.

    Args:
        catalog: the tools that the candidates come from.
        retriever: what found them. Without it nothing is turned away.
        threshold: probability of fitting below which none fits. Default: `THRESHOLD`; 0 turns nothing away.
        clock: the current local time, for arguments such as "tomorrow"; without it such words are left alone.
        adjustment: of the probability to the requests of this catalog, from `evaluation.calibrate`; default: none.

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
        adjustment: Adjustment | None = None,
    ) -> None:
        if not 0 <= threshold <= 1:
            raise RoutingError(f"the threshold is a confidence between 0 and 1, not {threshold}")
        if (catalog is None) != (retriever is None):
            raise RoutingError("give both the catalog and its retriever, or neither")
        self._yardsticks = (
            CatalogYardsticks(catalog, retriever) if catalog is not None and retriever is not None else None
        )
        self._embedder = getattr(retriever, "embedder", None)
        self._threshold = threshold
        self._clock = clock
        self.adjustment = adjustment if adjustment is not None else Adjustment()
        """Of the probability to this catalog's requests; `evaluation.calibrate` sets it."""

    async def select(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
        """The selection, made in a worker thread."""
        return await anyio.to_thread.run_sync(self.choose, request, candidates, intent)

    def choose(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
        """The same for code that is in a thread already."""
        if len(intent.wishes) > 1:
            return choose_each(self._choose_one, request, candidates, intent, self._clock)
        return self._choose_one(request, candidates, intent)

    def _choose_one(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
        if not candidates:
            return Selection(abstained=True, confidence=1.0, reason="no candidate")
        best = candidates[0]
        call = extract_call(best.tool, request, self._clock)
        found = self._judge(request, candidates, intent, call)
        if found.measured and found.probability < self._threshold:
            reason = (
                f"{best.name} ranks first, but {found.why}: fit {found.probability:.2f} is below {self._threshold:g}"
            )
            return Selection(abstained=True, confidence=1 - found.probability, reason=reason)
        return Selection(calls=(call,), confidence=found.probability, reason=f"{best.name} ranks first; {found.why}")

    def _judge(self, request: str, candidates: Sequence[Candidate], intent: Intent, call: ToolCall) -> _Judgement:
        if candidates[0].name in intent.exact:
            return _Judgement(NAMED, "the request names it", False)
        yardstick = self._yardsticks.of(intent.language) if self._yardsticks is not None else None
        if yardstick is None:
            return self._judge_foreign(candidates, intent.language)
        evidence = fit_evidence(request, candidates, yardstick, len(call.missing))
        if evidence is None:
            return _Judgement(UNKNOWN, "nothing was compared by meaning", False)
        return _Judgement(self.adjustment(GENERAL.probability(evidence.values())), _in_words(evidence), True)

    def _judge_foreign(self, candidates: Sequence[Candidate], language: str) -> _Judgement:
        """For a language in which the catalog hardly describes itself: meaning alone, if the embedder knows it."""
        standing = [one.parts["standing"] for one in candidates if "standing" in one.parts]
        spoken = self._yardsticks is not None and self._yardsticks.languages()
        if not spoken or not standing or self._embedder is None or not self._embedder.knows(language):
            why = f"too few tools describe themselves in {language!r} to judge whether any fits"
            return _Judgement(UNKNOWN, why, False)
        lead = max((one.parts["lead"] for one in candidates if "lead" in one.parts), default=0.0)
        probability = self.adjustment(ACROSS_LANGUAGES.probability((max(standing), min(0.0, lead))))
        why = f"the nearest tool stands {max(standing):.1f} standard deviations above the catalog, across languages"
        return _Judgement(probability, why, True)


def _in_words(evidence: FitEvidence) -> str:
    """The evidence as one line for a person."""
    parts = [
        f"the nearest tool is {evidence.meaning:.0%} as similar to the request as to its own description",
        f"{evidence.covered:.0%} of the words that tools know are covered",
    ]
    if evidence.lead <= FAR_BEHIND:
        parts.append("a tool out of reach fits better")
    return ", ".join(parts)
