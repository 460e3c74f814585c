"""The measures of a benchmark as pure functions: what each number means, and how far chance may have moved it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Rank = int | None
"""Place of a gold tool in the ranking, from 1; None when it is not there."""

RESAMPLES = 1_000
CONFIDENCE = 0.95
_RESAMPLES_AT_ONCE = 100
"""Bounds the memory of a bootstrap to 100 rows of resampled counts (32 MB for 40,000 requests)."""


def recall_at(ranks: Sequence[Rank], k: int) -> float:
    """Fraction of one request's gold tools found in the top `k`: ``|{g : rank(g) <= k}| / |gold|``.

    The benchmark's recall@k is the mean over the requests that have gold tools.
    """
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def complete_at(ranks: Sequence[Rank], k: int) -> float:
    """1.0 when all gold tools of one request are in the top `k`, else 0.0."""
    return float(all(rank is not None and rank <= k for rank in ranks))


def reciprocal_rank(ranks: Sequence[Rank]) -> float:
    """``1 / rank`` of the first gold tool, 0.0 when none was found; MRR is the mean over requests."""
    found = [rank for rank in ranks if rank is not None]
    return 1 / min(found) if found else 0.0


def ratio(numerators: Floats, denominators: Floats) -> float | None:
    """``sum(numerators) / sum(denominators)``, None when there is nothing to divide by.

    A mean over some of the requests is such a ratio: the denominator is 1 for a request that counts, else 0.
    """
    total = float(denominators.sum())
    return float(numerators.sum()) / total if total else None


def auroc(positive: Floats, negative: Floats) -> float | None:
    """Area under the ROC curve: the chance that a positive scores above a negative, ties counting half.

    ``(#{p > n} + #{p = n} / 2) / (|positive| * |negative|)``, the Mann-Whitney statistic (Hanley and McNeil 1982,
    "The meaning and use of the area under a ROC curve"). None when either side is empty.
    """
    if not len(positive) or not len(negative):
        return None
    scores = np.concatenate([positive, negative])
    is_positive = np.arange(len(scores)) < len(positive)
    return float(_weighted_auroc(np.ones((1, len(scores))), scores, is_positive)[0])


def ratio_intervals(
    numerators: Floats, denominators: Floats, seed: int = 0, resamples: int = RESAMPLES
) -> list[tuple[float, float] | None]:
    """95% percentile-bootstrap intervals of several ratios of sums, over the same resampled requests.

    Requests are drawn with replacement, as many as there are; a ratio's interval is the 2.5th and 97.5th percentile
    of its values in the resamples (Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13).
    What is the same in every request gets an interval without width: resampling cannot see beyond the sample.

    Args:
        numerators: shape (requests, ratios).
        denominators: same shape.
        seed: of the random draws; the same seed gives the same intervals.
        resamples: number of draws.

    Returns:
        One (low, high) per ratio; None where no resample had anything to divide by.
    """
    values = np.concatenate(
        [
            _divided(weights @ numerators, weights @ denominators)
            for weights in _resampled_counts(len(numerators), seed, resamples)
        ]
    )
    return [_percentiles(values[:, column]) for column in range(values.shape[1])]


def auroc_interval(
    positive: Floats, negative: Floats, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """95% percentile-bootstrap interval of `auroc`, both sides resampled together as `ratio_intervals` does."""
    if not len(positive) or not len(negative):
        return None
    scores = np.concatenate([positive, negative])
    is_positive = np.arange(len(scores)) < len(positive)
    draws = _resampled_counts(len(scores), seed, resamples)
    return _percentiles(np.concatenate([_weighted_auroc(weights, scores, is_positive) for weights in draws]))


def percentile(values: Sequence[float], q: float) -> float | None:
    """The `q`-th percentile (0 to 100) with linear interpolation, None without values."""
    return float(np.percentile(values, q)) if len(values) else None


def _weighted_auroc(weights: Floats, scores: Floats, is_positive: npt.NDArray[np.bool_]) -> Floats:
    """AUROC for each row of `weights` (shape (draws, scores)): how often each score counts."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    positives = np.add.reduceat(weights[:, order] * is_positive[order], starts, axis=1)
    negatives = np.add.reduceat(weights[:, order] * ~is_positive[order], starts, axis=1)
    below = np.cumsum(negatives, axis=1) - negatives
    wins = (positives * (below + negatives / 2)).sum(axis=1)
    return _divided(wins, positives.sum(axis=1) * negatives.sum(axis=1))


def _resampled_counts(size: int, seed: int, resamples: int) -> Iterator[Floats]:
    """How often each of `size` requests was drawn, a block of resamples at a time; each row sums to `size`."""
    random = np.random.default_rng(seed)
    for start in range(0, resamples, _RESAMPLES_AT_ONCE):
        rows = min(_RESAMPLES_AT_ONCE, resamples - start)
        drawn = random.integers(0, size, (rows, size)) + size * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size).astype(np.float64)


def _divided(numerators: Floats, denominators: Floats) -> Floats:
    """Element by element; NaN where there is nothing to divide by."""
    empty = denominators == 0
    return np.where(empty, np.nan, numerators / np.where(empty, 1.0, denominators))


def _percentiles(values: Floats) -> tuple[float, float] | None:
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(known, [tail, 100 - tail])
    return float(low), float(high)
