"""Makes the probability that some tool fits honest for one catalog, from labelled requests, and proves it on others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..calibration import Adjustment, Bin, expected_calibration_error, fit_adjustment, reliability, reliability_dict
from ..calibration.model import SMALLEST
from ..router import Router
from ..selection.rank import RankSelector
from .evaluate import evaluate
from .metrics import auroc, auroc_interval
from .outcomes import Outcome
from .queries import HELD_OUT, Query, QueryError, judges_by_text

FEWEST = 10
"""Requests of each kind (some tool fits, none does) needed on either side."""


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """What came of calibrating; all measures are of the held-out requests, which had no part in the adjustment.

    Attributes:
        adjustment: in use from now on: the one fitted when `adopted`, else the one from before.
        adopted: whether the fitted adjustment has the lower log loss on the held-out requests.
        fitted_on: requests that fitted.
        held_out: requests that judged.
        auroc: chance that an answerable request has a higher probability than another; no adjustment changes it.
        auroc_interval: its 95% bootstrap interval.
        loss_before: mean negative log-likelihood with the probabilities from before.
        loss_after: with the fitted adjustment.
        before: reliability table from before.
        after: with the fitted adjustment.
    """

    adjustment: Adjustment
    adopted: bool
    fitted_on: int
    held_out: int
    auroc: float
    auroc_interval: tuple[float, float]
    loss_before: float
    loss_after: float
    before: tuple[Bin, ...]
    after: tuple[Bin, ...]

    def explain(self) -> str:
        """The report as text for a person."""
        low, high = self.auroc_interval
        lines = [
            f"{self.fitted_on} requests fitted, {self.held_out} held-out ones judged",
            f"AUROC {self.auroc:.3f} ({low:.3f}-{high:.3f})",
        ]
        for name, loss, table in (("before", self.loss_before, self.before), ("after", self.loss_after, self.after)):
            error = expected_calibration_error(table) or 0.0
            lines.append(f"{name}: log loss {loss:.3f}, expected calibration error {error:.3f}")
            lines += [f"  said {row.stated:.2f}, was {row.observed:.2f} ({row.count})" for row in table]
        lines.append("adopted" if self.adopted else "not adopted: it does no better on the held-out requests")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        return {
            "adopted": self.adopted,
            "adjustment": {"shift": self.adjustment.shift, "slope": self.adjustment.slope},
            "fitted_on": self.fitted_on,
            "held_out": self.held_out,
            "auroc": self.auroc,
            "auroc_interval": list(self.auroc_interval),
            "log_loss": {"before": self.loss_before, "after": self.loss_after},
            "reliability": {"before": reliability_dict(self.before), "after": reliability_dict(self.after)},
        }


async def calibrate(
    router: Router, queries: Sequence[Query], *, candidates: bool = False, held_out: float = HELD_OUT, seed: int = 0
) -> CalibrationReport:
    """Fits the router's `Adjustment` on a part of `queries`, and uses it if it is better on the other part.

    The probabilities then hold for as many unanswerable requests as the labelled ones have: label what users really
    ask. Which part a request belongs to depends on its text alone.

    Args:
        router: whose selector is a `RankSelector`; its adjustment changes only when the report says `adopted`.
        queries: labelled requests, as `load_queries` reads them, some of them with ``expect_none``.
        candidates: restrict every request to its own candidates, as in `evaluate`.
        held_out: share of the requests that judge, between 0 and 1.
        seed: of the bootstrap.

    Raises:
        QueryError: too few requests of one kind on either side, or a label names an unknown tool.
        EmbedderError: the embedder fails.
        ValueError: `held_out` is out of range, or the router has another selector.

    Example:
        >>> report = await calibrate(router, load_queries("requests.jsonl"))
        >>> print(report.explain())
    """
    selector = router.selector
    if not isinstance(selector, RankSelector):
        raise ValueError(f"only the ranking's own probability can be adjusted, not that of {type(selector).__name__}")
    if not 0 < held_out < 1:
        raise ValueError(f"the held-out share must lie between 0 and 1, not {held_out!r}")
    outcomes = (await evaluate(router, queries, candidates=candidates, by=(), latency_sample=0)).outcomes
    judges = [outcome for outcome in outcomes if judges_by_text(outcome.query.request, held_out)]
    teachers = [outcome for outcome in outcomes if not judges_by_text(outcome.query.request, held_out)]
    for side, part in (("fit", teachers), ("judge", judges)):
        none = sum(outcome.query.expect_none for outcome in part)
        if min(none, len(part) - none) < FEWEST:
            raise QueryError(
                f"too few labelled requests: {len(part) - none} that a tool serves and {none} that none does would "
                f"{side}, and each must be {FEWEST}"
            )
    further = fit_adjustment(_fits(teachers), _labels(teachers))
    before, labels = _fits(judges), _labels(judges)
    after = [further(probability) for probability in before]
    loss_before, loss_after = _log_loss(before, labels), _log_loss(after, labels)
    if adopted := loss_after < loss_before:
        selector.adjustment = further.after(selector.adjustment)
    scores, served = np.array(before), np.array(labels)
    positive, negative = scores[served], scores[~served]
    return CalibrationReport(
        adjustment=selector.adjustment,
        adopted=adopted,
        fitted_on=len(teachers),
        held_out=len(judges),
        auroc=auroc(positive, negative) or 0.0,
        auroc_interval=auroc_interval(positive, negative, seed) or (0.0, 1.0),
        loss_before=loss_before,
        loss_after=loss_after,
        before=reliability(before, labels),
        after=reliability(after, labels),
    )


def _fits(outcomes: Sequence[Outcome]) -> list[float]:
    return [outcome.fit for outcome in outcomes]


def _labels(outcomes: Sequence[Outcome]) -> list[bool]:
    return [not outcome.query.expect_none for outcome in outcomes]


def _log_loss(probabilities: Sequence[float], labels: Sequence[bool]) -> float:
    chances = [p if fits else 1 - p for p, fits in zip(probabilities, labels, strict=True)]
    return -sum(math.log(max(chance, SMALLEST)) for chance in chances) / len(chances)
