"""The ranking's vote beside a model's: whichever of the two is more likely right for this request is followed.

A strong model reads a request better than any search, a weak one worse, and nobody says which one stands behind a URL.
But the ranking knows for many requests that it is right: these are questions with a known answer, and how often the
model agrees there tells how far it can be trusted (`Trust`). It costs no request of its own and needs no labels.

The rule. Let ``p`` be the chance that the ranking's first candidate is right (`chance_of_first`). What is easy for the
ranking is easier for the model too, so the model is taken to be right with ``logistic(ability + SHARED * logit(p))``
(Rasch's model, the ranking's own chance standing for the ease of the question). The ranking overrules the model where
``p`` exceeds that, which is where ``logit(p) > ability / (1 - SHARED)``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..records import Candidate, Intent, Selection
from .protocol import Selector

GAP_INTERCEPT, GAP_SLOPE = -0.03, 0.90
"""Logistic regression of "the first candidate is right" on its lead over the second one, in fused scores (`fusion`:
1.2 per standard deviation of cosines, 0.2 per point of BM25). Fitted on 667 requests of toolalpaca, bfcl_multiple and
bfcl_simple with the default embedder; the AUROC is 0.83 to 0.91 and the mean of a set off by at most 0.02."""
SHARE_INTERCEPT, SHARE_SLOPE = -0.14, 5.64
"""The same on the lead as a share of the first one's lead over the mean of the others: for scores in an unknown unit.
Same requests; AUROC 0.72 to 0.90."""
NAMED = 0.98
"""Chance of a tool that the request names."""
CANDIDATES_READ = 10

SURE = 0.8
"""Chance of the first candidate from which a request is a question with a known answer."""
SHARED = 0.5
"""How far what is easy for the ranking is easy for a model: 0 not at all, 1 just as much. Not fitted: the middle."""
PRIOR_AGREEMENT, PRIOR_LOGIT, PRIOR_WEIGHT = 0.95, 2.2, 8
"""A model that has not been asked yet counts as one that agreed in 95% of 8 questions of chance 0.9: it is overruled
only from a chance of 0.975 on. Not fitted: it should let a strong model pass from the first request on."""


OVER_MODEL = " over llm"
"""How `Selection.served_by` ends when the ranking overruled a model."""


def chance_of_first(candidates: Sequence[Candidate], intent: Intent) -> float | None:
    """How likely the first candidate is right, given that some candidate is; None where the ranking cannot tell.

    Args:
        candidates: what stage 2 found, best first, without pinned and needed tools.
        intent: a request of several wishes has no first tool; one that names a tool has.
    """
    if not candidates or len(intent.parts) > 1:
        return None
    if candidates[0].name in intent.exact:
        return NAMED
    scores = [candidate.score for candidate in candidates[:CANDIDATES_READ]]
    if len(scores) < 2 or not all(map(math.isfinite, scores)):
        return None
    lead = max(0.0, scores[0] - scores[1])
    if {"dense", "lexical"} <= set(candidates[0].parts):
        return _logistic(GAP_INTERCEPT + GAP_SLOPE * lead)
    spread = scores[0] - sum(scores[1:]) / (len(scores) - 1)
    return _logistic(SHARE_INTERCEPT + SHARE_SLOPE * lead / spread) if spread > 0 else 0.5


@dataclass(frozen=True, slots=True)
class Trust:
    """How far a model can be trusted, from the questions whose answer the ranking was sure of.

    Attributes:
        asked: such questions so far.
        agreed: those in which the model chose the ranking's first tool.
        ease: sum of the ranking's log-odds in them.

    Example:
        >>> weak = Trust(asked=40, agreed=28, ease=90.0)
        >>> weak.overruled_at(0.9), Trust(asked=40, agreed=39, ease=90.0).overruled_at(0.9)
        (True, False)
    """

    asked: int = 0
    agreed: int = 0
    ease: float = 0.0

    @property
    def ability(self) -> float:
        """The model's log-odds of being right where the ranking's are even."""
        weight = self.asked + PRIOR_WEIGHT
        agreement = (self.agreed + PRIOR_AGREEMENT * PRIOR_WEIGHT) / weight
        return _logit(agreement) - SHARED * (self.ease + PRIOR_LOGIT * PRIOR_WEIGHT) / weight

    def chance_of_model(self, first: float) -> float:
        """How likely the model is right where the ranking's first candidate is with chance `first`."""
        return _logistic(self.ability + SHARED * _logit(first))

    def overruled_at(self, first: float) -> bool:
        """Whether the ranking overrules the model where its first candidate is right with chance `first`."""
        return first > self.chance_of_model(first)

    def after(self, first: float, agreed: bool) -> Trust:
        """The trust after one more request; one that the ranking was not sure of changes nothing."""
        if first < SURE:
            return self
        return Trust(self.asked + 1, self.agreed + agreed, self.ease + _logit(first))


class RankingVote:
    """Weighs the ranking against a model's selections, and learns from them how good the model is.

    Args:
        ranking: selects in the model's place where the model is overruled.
        trust: what is known about the model. Default: nothing.

    Attributes:
        trust: what is known by now.
    """

    def __init__(self, ranking: Selector, trust: Trust | None = None) -> None:
        self._ranking = ranking
        self.trust = trust if trust is not None else Trust()

    async def weigh(
        self, selection: Selection, request: str, candidates: Sequence[Candidate], intent: Intent
    ) -> Selection:
        """The model's selection, or the ranking's where the ranking is more likely right.

        Args:
            selection: what the model chose.
            request: the user's text.
            candidates: as the ranking found them, best first, without pinned tools.
            intent: what stage 1 made of the request.
        """
        ranked = [candidate for candidate in candidates if not candidate.needed_by]
        first = chance_of_first(ranked, intent)
        if first is None:
            return selection
        agreed = any(call.tool == ranked[0].name for call in selection.calls)
        trust = self.trust
        if not selection.abstained:  # whether anything fits is another question than which one does
            self.trust = trust.after(first, agreed)
        if agreed or not trust.overruled_at(first):
            return selection
        served = await self._ranking.select(request, candidates, intent)
        if selection.abstained and (served.abstained or not trust.overruled_at(first * served.confidence)):
            return selection
        chosen = ", ".join(dict.fromkeys(call.tool for call in selection.calls)) or "none"
        why = (
            f"the ranking is {first:.0%} sure of {ranked[0].name}; the model chose {chosen} and is right in about "
            f"{trust.chance_of_model(first):.0%} of such requests"
        )
        said = (f"the model said: {selection.reason}",) if selection.reason else ()
        return replace(
            served,
            served_by=served.served_by + OVER_MODEL,
            reason=f"{why}; {served.reason}",
            usage=selection.usage,
            notes=(*selection.notes, *said, *served.notes),
        )


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, x))))


def _logit(p: float) -> float:
    p = max(1e-4, min(1 - 1e-4, p))
    return math.log(p / (1 - p))
