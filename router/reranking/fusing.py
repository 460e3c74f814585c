"""How a reranker's scores and those of stage 2 become one order: pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..records import Candidate
from ..retrieval.fusion import SMALLEST_SPREAD, standardise

PART = "rerank"
"""Name of the reranker's own score among a candidate's parts."""


def movable(candidates: Sequence[Candidate], depth: int) -> list[Candidate]:
    """The candidates that a reranker may move: the first `depth` of those that the request does not name outright.

    A single one has nothing to change places with and is left out, too.
    """
    pool = [candidate for candidate in candidates if not is_named(candidate)][:depth]
    return pool if len(pool) > 1 else []


def reranked(
    candidates: Sequence[Candidate], scores: Sequence[float], weight: float, depth: int | None = None
) -> list[Candidate]:
    """The candidates in the order of both scores.

    Over the pool that was scored (`movable`) both scores are standardised and joined as
    ``(1 - weight) * z(stage 2) + weight * z(reranker)``. The joined score is brought back to the mean and the spread
    that stage 2's scores had, for what follows (several wishes, recorded outcomes) counts in its points.

    Args:
        candidates: best first.
        scores: the reranker's, one for each of ``movable(candidates, depth)``, of any scale, higher is better.
        weight: 0 leaves the order as it was, 1 follows the reranker alone.
        depth: as in `movable`; default: all.

    Returns:
        Tools that the request names, then the pool by its joined scores (of equal ones the earlier comes first), then
        what lies deeper, as it was. Scores never rise from one candidate to the next.

    Raises:
        ValueError: there is not one score for each movable candidate.
    """
    named = [candidate for candidate in candidates if is_named(candidate)]
    pool = movable(candidates, len(candidates) if depth is None else depth)
    if len(scores) != len(pool):
        raise ValueError(f"{len(pool)} candidates can be reranked, but there are {len(scores)} scores")
    if not pool:
        return list(candidates)
    moved = {id(candidate) for candidate in (*named, *pool)}
    deeper = [candidate for candidate in candidates if id(candidate) not in moved]
    own = np.array([candidate.score for candidate in pool], np.float64)
    joined = (1 - weight) * standardise(own) + weight * standardise(np.asarray(scores, np.float64))
    values = own.mean() + _spread(own) * joined / max(_spread(joined), SMALLEST_SPREAD)
    order = np.argsort(-values, kind="stable")
    ranked = [
        replace(
            pool[at],
            score=float(values[at]),
            parts={**pool[at].parts, PART: float(scores[at])},
            reasons=(*pool[at].reasons, _move(len(named) + int(at) + 1, len(named) + place)),
        )
        for place, at in enumerate(order, start=1)
    ]
    top, bottom = ranked[0].score, ranked[-1].score
    front = [replace(candidate, score=max(candidate.score, top)) for candidate in named]
    rest = [replace(candidate, score=min(candidate.score, bottom)) for candidate in deeper]
    return [*front, *ranked, *rest]


def left_alone(candidates: Sequence[Candidate], trouble: str) -> list[Candidate]:
    """The candidates as they were; each says why the reranker had no say."""
    return [replace(candidate, reasons=(*candidate.reasons, f"not reranked: {trouble}")) for candidate in candidates]


def is_named(candidate: Candidate) -> bool:
    """Whether the request names the tool outright."""
    return "exact" in candidate.parts


def _spread(values: np.typing.NDArray[np.floating]) -> float:
    return max(float(values.std()), SMALLEST_SPREAD)


def _move(before: int, after: int) -> str:
    return f"reranker: kept at {after}" if before == after else f"reranker: from {before} to {after}"
