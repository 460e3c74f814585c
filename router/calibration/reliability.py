"""Whether probabilities are honest: of the requests said to fit with 80%, do 80% fit?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Requests whose probabilities lie between `low` and `high` (the last bin takes 1.0 in).

    Attributes:
        low: lower edge.
        high: upper edge.
        count: requests.
        stated: mean of the probabilities.
        observed: share of the requests that came true.
    """

    low: float
    high: float
    count: int
    stated: float
    observed: float


def reliability(probabilities: Sequence[float], outcomes: Sequence[bool], bins: int = BINS) -> tuple[Bin, ...]:
    """The reliability table with equally wide bins; empty ones are left out.

    Args:
        probabilities: of coming true, 0 to 1.
        outcomes: parallel: what came true.
        bins: how many.

    Raises:
        ValueError: the two are not equally long, or a probability lies outside of 0 and 1.

    Example:
        >>> [(row.count, row.observed) for row in reliability([0.1, 0.9, 0.95], [False, True, False], bins=2)]
        [(1, 0.0), (2, 0.5)]
    """
    groups: dict[int, list[tuple[float, bool]]] = {}
    for probability, outcome in zip(probabilities, outcomes, strict=True):
        if not 0 <= probability <= 1:
            raise ValueError(f"a probability lies between 0 and 1, not at {probability}")
        groups.setdefault(min(int(probability * bins), bins - 1), []).append((probability, outcome))
    return tuple(
        Bin(
            low=place / bins,
            high=(place + 1) / bins,
            count=len(group),
            stated=sum(probability for probability, _ in group) / len(group),
            observed=sum(outcome for _, outcome in group) / len(group),
        )
        for place, group in sorted(groups.items())
    )


def expected_calibration_error(table: Sequence[Bin]) -> float | None:
    """``sum over bins of count / all * |stated - observed|``, None for an empty table.

    Source: Naeini, Cooper and Hauskrecht 2015, "Obtaining Well Calibrated Probabilities Using Bayesian Binning".
    """
    total = sum(row.count for row in table)
    return sum(row.count * abs(row.stated - row.observed) for row in table) / total if total else None


def reliability_dict(table: Sequence[Bin]) -> dict[str, Any]:
    """A reliability table as JSON-ready data."""
    error = expected_calibration_error(table)
    return {
        "expected_calibration_error": None if error is None else round(error, 6),
        "bins": [
            {
                "low": row.low,
                "high": row.high,
                "count": row.count,
                "stated": round(row.stated, 6),
                "observed": round(row.observed, 6),
            }
            for row in table
        ],
    }
