"""What speaks for and against some tool serving a request, as numbers that mean the same in every catalog.

A raw score means nothing by itself: a cosine of 0.4 is much for one embedder and little for another, and a short
request for nothing at all shares rare words with some tool. So each number is taken against a yardstick: what the
tools' own words reach (`yardstick`), what the whole catalog reaches for the same request, or the request's own words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields

from ..records import Candidate
from ..retrieval.text import spoken_name, tokenize
from .records import Yardstick
from .yardstick import reach

CEILING = 2.0
"""Ratios to a yardstick are cut here: beyond twice the usual nothing becomes likelier."""
LOOKED_AT = 3
"""Leading candidates among which the one that holds most of the request's words is sought."""


@dataclass(frozen=True, slots=True)
class FitEvidence:
    """Evidence of one request. How many candidates there are is deliberately no part of it.

    Attributes:
        meaning: best cosine of any candidate over the one that the catalog's own words reach, -2 to 2.
        standing: the best cosine in standard deviations from the mean of the whole catalog (T-norm of speaker
            verification: Auckenthaler, Carey and Lloyd-Thomas 2000, "Score normalization for text-independent speaker
            verification systems").
        lead: how far the best candidate stays behind the best tool of the whole catalog, in the same unit, at most 0:
            when tools that the caller may not use fit far better than the allowed ones, none of the allowed fits.
        words: BM25 of the best-matching candidate over what the catalog's own words reach, 0 to 2.
        covered: share, weighted by rarity, that the best candidate holds of those words of the request that any tool
            of the catalog knows, 0 to 1.
        unknown: share, weighted by rarity, of the request's words that no tool knows (names, numbers), 0 to 1.
        name: share of the words in the best candidate's name that the request uses, 0 to 1.
        length: natural logarithm of one plus the number of distinct terms in the request.
        missing: required parameters of the best candidate for which nothing was found in the request.
    """

    meaning: float
    standing: float
    lead: float
    words: float
    covered: float
    unknown: float
    name: float
    length: float
    missing: float

    def values(self) -> tuple[float, ...]:
        """The numbers in the order of `FEATURES`."""
        return astuple(self)


FEATURES: tuple[str, ...] = tuple(field.name for field in fields(FitEvidence))
"""Names of the numbers of a `FitEvidence`, in order."""


def fit_evidence(
    request: str, candidates: Sequence[Candidate], yardstick: Yardstick, missing: int
) -> FitEvidence | None:
    """The evidence in what stage 2 found, or None when nothing was compared by meaning.

    Args:
        request: the user's text.
        candidates: best first, with the parts of `retrieval.ranking`; a part that another search does not give
            counts as if it said nothing.
        yardstick: of the request's language.
        missing: required parameters of the first candidate that stay empty.
    """
    reached = reach(candidates)
    if reached is None:
        return None
    terms = set(tokenize(request))
    name = set(tokenize(spoken_name(candidates[0].name)))

    def best(part: str, among: Sequence[Candidate], otherwise: float) -> float:
        return max((one.parts[part] for one in among if part in one.parts), default=otherwise)

    words = best("lexical", candidates, 0.0)
    return FitEvidence(
        meaning=max(-CEILING, min(CEILING, reached / yardstick.typical)),
        standing=best("standing", candidates, 0.0),
        lead=min(0.0, best("lead", candidates, 0.0)),
        words=min(CEILING, words / yardstick.words) if yardstick.words > 0 else 0.0,
        covered=best("covered", candidates[:LOOKED_AT], 0.0),
        unknown=best("unknown", candidates[:1], 0.0),
        name=len(name & terms) / len(name) if name else 0.0,
        length=math.log1p(len(terms)),
        missing=float(missing),
    )
