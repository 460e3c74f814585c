"""From evidence to the probability that some tool fits: logistic regression, and its adjustment to one catalog."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RIDGE = 1.0
"""Penalty on squared weights of standardised evidence; far below what thousands of requests say."""
STEPS = 50
ENOUGH = 1e-8
LARGEST_LOGIT = 30.0
FLATTEST = 1e-3
"""Slope of an adjustment of probabilities that do not tell what fits from what does not."""
SMALLEST = 1e-9
"""Probabilities are kept this far from 0 and 1 where their log-odds are needed."""


@dataclass(frozen=True, slots=True)
class FitModel:
    """``probability = logistic(intercept + sum of weight * value)`` over the raw values of a `FitEvidence`.

    Attributes:
        intercept: log-odds when all values are 0.
        weights: one per value, in the order of `evidence.FEATURES`.
    """

    intercept: float
    weights: tuple[float, ...]

    def probability(self, values: Sequence[float]) -> float:
        """How likely it is that some tool fits, 0 to 1.

        Raises:
            ValueError: there is not one value per weight.
        """
        pairs = zip(self.weights, values, strict=True)
        return logistic(self.intercept + sum(weight * value for weight, value in pairs))


@dataclass(frozen=True, slots=True)
class Adjustment:
    """Brings the general probability to one catalog's requests: ``logistic(shift + slope * logit(probability))``.

    Source: Platt 1999, "Probabilistic Outputs for Support Vector Machines". It keeps the order of requests (and so
    the AUROC) and mends what the probabilities claim.

    Attributes:
        shift: log-odds added.
        slope: above 0; below 1 the probabilities become less extreme.
    """

    shift: float = 0.0
    slope: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.shift) and math.isfinite(self.slope) and self.slope > 0):
            raise ValueError(f"an adjustment needs a finite shift and a slope above 0, not {self.shift}, {self.slope}")

    def after(self, first: Adjustment) -> Adjustment:
        """The one adjustment that does the same as `first` and then this one."""
        return Adjustment(self.shift + self.slope * first.shift, self.slope * first.slope)

    def __call__(self, probability: float) -> float:
        """The adjusted probability, 0 to 1."""
        return logistic(self.shift + self.slope * logit(probability))


def fit_model(rows: Floats, fits: Sequence[bool], counts: Sequence[float] | None = None) -> FitModel:
    """Logistic regression with a small ridge penalty, by Newton's method.

    Args:
        rows: evidence, shape ``(requests, values)``.
        fits: for each request whether some tool fits.
        counts: how much each request counts; default: all the same. Only their ratios matter.

    Raises:
        ValueError: there are not both kinds of requests, or the numbers of rows and labels differ.
    """
    labels = np.asarray(fits, np.float64)
    if len(rows) != len(labels):
        raise ValueError(f"{len(rows)} rows came with {len(labels)} labels")
    if labels.min(initial=1) == labels.max(initial=0):
        raise ValueError("fitting needs requests that some tool serves and requests that none does")
    weights = np.ones(len(rows)) if counts is None else np.asarray(counts, np.float64)
    weights = weights / weights.mean()
    mean = np.average(rows, axis=0, weights=weights)
    spread = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=weights))
    spread[spread < 1e-9] = 1.0  # what never varies says nothing and gets no weight
    table = np.column_stack([np.ones(len(rows)), (rows - mean) / spread])
    penalty = np.diag([0.0, *[RIDGE] * rows.shape[1]])
    solution = np.zeros(table.shape[1])
    for _ in range(STEPS):
        logits = np.clip(table @ solution, -LARGEST_LOGIT, LARGEST_LOGIT)
        chances = 1 / (1 + np.exp(-logits))
        slope = table.T @ (weights * (labels - chances)) - penalty @ solution
        curvature = (table * (weights * np.maximum(chances * (1 - chances), ENOUGH))[:, None]).T @ table + penalty
        step = np.linalg.solve(curvature, slope)
        solution = solution + step
        if np.abs(step).max() < ENOUGH:
            break
    raw = solution[1:] / spread
    return FitModel(float(solution[0] - raw @ mean), tuple(float(weight) for weight in raw))


def fit_adjustment(probabilities: Sequence[float], fits: Sequence[bool]) -> Adjustment:
    """The `Adjustment` that makes `probabilities` agree with what fits.

    Raises:
        ValueError: there are not both kinds of requests.
    """
    model = fit_model(np.array([[logit(probability)] for probability in probabilities]), fits)
    if model.weights[0] < FLATTEST:  # the order says nothing here, or the opposite: only the mean is right
        return Adjustment(logit(sum(fits) / len(fits)), FLATTEST)
    return Adjustment(model.intercept, model.weights[0])


def logistic(value: float) -> float:
    """``1 / (1 + exp(-value))`` without overflow."""
    return 1 / (1 + math.exp(-max(-LARGEST_LOGIT, min(LARGEST_LOGIT, value))))


def logit(probability: float) -> float:
    """The log-odds of a probability, which is kept `SMALLEST` away from 0 and 1."""
    kept = max(SMALLEST, min(1 - SMALLEST, probability))
    return math.log(kept / (1 - kept))
