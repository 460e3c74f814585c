"""From ranked names to recall, and whether a difference is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from toolpath.router.evaluation import Query
from toolpath.router.evaluation.metrics import Floats, Rank, ratio_intervals, recall_at

RESAMPLES = 10_000
SEED = 0


class Verdict(StrEnum):
    """How a row compares with Toolpath's default."""

    BELOW = "below"
    TIE = "tie"
    ABOVE = "above"


@dataclass(frozen=True)
class Difference:
    """Recall of Toolpath's default less that of a row, over the same requests.

    Attributes:
        mean: in fractions of 1; positive where Toolpath finds more.
        low: of the 95% interval of the paired bootstrap.
        high: of the same.
    """

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        """The row's place; a tie when the interval holds 0."""
        if self.low > 0:
            return Verdict.BELOW
        return Verdict.ABOVE if self.high < 0 else Verdict.TIE


def recalls(queries: Sequence[Query], rankings: Sequence[Sequence[str]], k: int) -> Floats:
    """Recall@k of each request, as `toolpath bench` has it: an alternative counts as the tool that it stands in for."""
    return np.array(
        [recall_at(_ranks(query, ranking), k) for query, ranking in zip(queries, rankings, strict=True)], np.float64
    )


def difference(default: Floats, row: Floats, resamples: int = RESAMPLES) -> Difference:
    """The paired difference of two recalls, with its bootstrap interval: requests are drawn, not answers.

    Args:
        default: recall of each request by Toolpath's default.
        row: the same of the row.
        resamples: draws of the bootstrap.
    """
    less = default - row
    [interval] = ratio_intervals(less[:, None], np.ones((len(less), 1)), SEED, resamples)
    assert interval is not None, "a set holds at least one request"
    return Difference(float(less.mean()), *interval)


def _ranks(query: Query, ranking: Sequence[str]) -> list[Rank]:
    return [
        next((place for place, name in enumerate(ranking, 1) if name in gold.accepted), None) for gold in query.gold
    ]
