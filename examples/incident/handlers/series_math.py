"""The arithmetic of the metric tools, as pure functions over plain numbers."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple


def percentile(values: Sequence[float], percent: float) -> float:
    """Linear interpolation between closest ranks (method 7 of Hyndman and Fan 1996, the default of NumPy).

    Args:
        values: at least one, in any order.
        percent: 0 to 100.
    """
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def aggregate(values: Sequence[float], how: str) -> float:
    """One number for many.

    Args:
        values: at least one.
        how: avg, min, max, sum, count, stddev (of a population) or a percentile such as p95.
    """
    match how:
        case "avg":
            return statistics.fmean(values)
        case "min":
            return min(values)
        case "max":
            return max(values)
        case "sum":
            return math.fsum(values)
        case "count":
            return float(len(values))
        case "stddev":
            return statistics.pstdev(values)
    if how.startswith("p") and how[1:].isdecimal() and int(how[1:]) <= 100:
        return percentile(values, float(how[1:]))
    raise ValueError(f"unknown aggregation {how!r}")


class Outlier(NamedTuple):
    """A run of neighbouring points outside their normal band: positions in the series, and the worst z-score."""

    first: int
    last: int
    worst: int
    z: float


MIN_SPREAD = 0.005
"""A history counts as spread by at least this share of its mean, so that a flat one does not make noise abnormal."""


def outliers(values: Sequence[float], history: int, threshold: float) -> Iterator[Outlier]:
    """Runs of points that lie `threshold` standard deviations or more from the mean of the `history` before them.

    Abnormal points do not enter the history: after a step to a new level the run lasts until the old level is back.
    Points without a full history behind them are not judged.
    """
    normal: deque[float] = deque(maxlen=history)
    run: Outlier | None = None
    for position, value in enumerate(values):
        z = _z_score(value, normal) if len(normal) == history else 0.0
        if abs(z) < threshold:
            normal.append(value)
            if run is not None:
                yield run
                run = None
        elif run is None:
            run = Outlier(position, position, position, z)
        else:
            run = run._replace(last=position)
            if abs(z) > abs(run.z):
                run = run._replace(worst=position, z=z)
    if run is not None:
        yield run


def _z_score(value: float, history: Sequence[float]) -> float:
    mean = statistics.fmean(history)
    spread = max(statistics.pstdev(history, mean), MIN_SPREAD * abs(mean), 1e-9)
    return (value - mean) / spread


def best_lag(first: Sequence[float], second: Sequence[float], max_lag: int) -> tuple[int, float]:
    """The shift at which two series on one grid fit best, and Pearson's correlation there.

    A positive lag means that `second` follows `first` by so many steps. Needs three common points at any lag tried.

    Raises:
        ValueError: a series is constant, or too short for every lag.
    """
    best: tuple[int, float] | None = None
    for lag in sorted(range(-max_lag, max_lag + 1), key=abs):
        left = first[max(0, -lag) : len(first) - max(0, lag)]
        right = second[max(0, lag) : len(second) - max(0, -lag)]
        if len(left) < 3 or len(set(left)) == 1 or len(set(right)) == 1:
            continue
        fit = statistics.correlation(left, right)
        if best is None or abs(fit) > abs(best[1]):
            best = lag, fit
    if best is None:
        raise ValueError("a constant or very short series correlates with nothing")
    return best
