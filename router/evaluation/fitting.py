"""Weights of the retrieval arms from the user's labelled requests: chosen on one part of them, judged on another.

What reports the score never chose the weights, and weights that do not win there are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...catalog import Catalog
from ..intent import IntentClassifier
from ..retrieval import FusionWeights, Retriever
from ..retrieval.ranking import PARAMETER_POOL
from ..retrieval.weighing import Evidence, Objective, choose_weights
from .metrics import Rank, ratio_intervals, recall_at, reciprocal_rank
from .queries import HELD_OUT, Query, QueryError, judges_by_text, resolve_names

CUTOFFS = (1, 5, 10)
FEWEST = 20
"""Requests needed on either side; fewer would choose by chance and judge by chance."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure on the held-out requests.

    Attributes:
        before: with the weights that the router had.
        after: with those chosen on the other requests.
        before_interval: 95% bootstrap interval.
        after_interval: the same.
        difference_interval: of `after` minus `before` over the same resampled requests.
    """

    before: float
    after: float
    before_interval: tuple[float, float]
    after_interval: tuple[float, float]
    difference_interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class FitReport:
    """What came of fitting.

    Attributes:
        before: the weights that the router had.
        chosen: the best on the requests to fit on.
        adopted: whether `chosen` won on the held-out requests and is used from now on.
        fitted_on: requests that chose.
        held_out: requests that judged.
        left_out: requests that want no tool, which say nothing about a ranking.
        k: recall at this rank decided.
        measures: by name ("recall@1", "recall@5", "recall@10", "mrr", and recall at `k`), on the held-out requests.
    """

    before: FusionWeights
    chosen: FusionWeights
    adopted: bool
    fitted_on: int
    held_out: int
    left_out: int
    k: int
    measures: dict[str, Measure]

    @property
    def weights(self) -> FusionWeights:
        """The weights in use after the fit."""
        return self.chosen if self.adopted else self.before

    @property
    def verdict(self) -> str:
        """One line for a person."""
        if self.chosen == self.before:
            return "the weights stay: none did better on the requests to fit on"
        if not self.adopted:
            return "the weights stay: the ones chosen did not do better on the held-out requests"
        low, high = self.measures[f"recall@{self.k}"].difference_interval
        sure = "" if low > 0 else "; the difference is within what chance may do, more requests would tell"
        return f"new weights: recall@{self.k} changes by {low:+.3f} to {high:+.3f} (95%){sure}"

    def explain(self) -> str:
        """The report as text for a person."""
        lines = [
            f"{self.fitted_on} requests chose, {self.held_out} held-out ones judged"
            + (f", {self.left_out} want no tool and were left out" if self.left_out else ""),
            f"{'':<10}  {'before':<21}  {'after':<21}",
        ]
        for name, measure in self.measures.items():
            cells = (
                f"{value:.3f} ({low:.3f}-{high:.3f})"
                for value, (low, high) in (
                    (measure.before, measure.before_interval),
                    (measure.after, measure.after_interval),
                )
            )
            lines.append(f"{name:<10}  " + "  ".join(f"{cell:<21}" for cell in cells).rstrip())
        for name, weights in (("before", self.before), ("chosen", self.chosen)):
            lines.append(f"{name:<10}  " + ", ".join(f"{key} {value:g}" for key, value in weights.to_dict().items()))
        return "\n".join([*lines, self.verdict])

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        return {
            "adopted": self.adopted,
            "verdict": self.verdict,
            "fitted_on": self.fitted_on,
            "held_out": self.held_out,
            "left_out": self.left_out,
            "k": self.k,
            "weights": {"before": self.before.to_dict(), "chosen": self.chosen.to_dict()},
            "measures": {
                name: {
                    "before": measure.before,
                    "after": measure.after,
                    "before_interval": list(measure.before_interval),
                    "after_interval": list(measure.after_interval),
                    "difference_interval": list(measure.difference_interval),
                }
                for name, measure in self.measures.items()
            },
        }


def fit_weights(
    retriever: Retriever,
    queries: Sequence[Query],
    catalog: Catalog,
    classifier: IntentClassifier | None = None,
    *,
    k: int = 5,
    held_out: float = HELD_OUT,
    seed: int = 0,
) -> FitReport:
    """Chooses the weights of `retriever` on a part of `queries`, and uses them if they win on the other part.

    Which part a request belongs to depends on its text alone: one and the same request never stands on both sides,
    and a file that grows keeps its split. The arms are asked once; all else is arithmetic.

    Args:
        retriever: whose weights to choose. They change only when the report says `adopted`.
        queries: labelled requests, as `load_queries` reads them.
        catalog: of the retriever.
        classifier: stage 1; default: nothing is narrowed.
        k: recall at this rank decides, between equals the mean reciprocal rank.
        held_out: share of the requests that judge, between 0 and 1.
        seed: of the bootstrap.

    Raises:
        QueryError: too few requests on either side, or a label names a tool that the catalog does not have.
        EmbedderError: the embedder fails.
        ValueError: `k` or `held_out` is out of range.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    if not 0 < held_out < 1:
        raise ValueError(f"the held-out share must lie between 0 and 1, not {held_out!r}")
    usable = [query for query in resolve_names(queries, catalog) if query.gold and query.request.strip()]
    judges = [query for query in usable if judges_by_text(query.request, held_out)]
    teachers = [query for query in usable if not judges_by_text(query.request, held_out)]
    if min(len(judges), len(teachers)) < FEWEST:
        raise QueryError(
            f"{len(usable)} labelled requests are too few: {len(teachers)} would choose the weights and {len(judges)} "
            f"judge them, and each side needs {FEWEST}"
        )
    before = retriever.weights
    objective = Objective(k, max(PARAMETER_POOL, 2 * max(k, *CUTOFFS)))
    taught = _evidence(retriever, teachers, classifier)
    chosen = choose_weights(taught, before, objective, with_parameters=before.parameters > 0)
    judging = _evidence(retriever, judges, classifier)
    adopted = chosen != before and objective(judging, chosen) > objective(judging, before)
    report = FitReport(
        before=before,
        chosen=chosen,
        adopted=adopted,
        fitted_on=len(teachers),
        held_out=len(judges),
        left_out=len(queries) - len(usable),
        k=k,
        measures=_measures(judging, before, chosen, objective, seed),
    )
    retriever.weights = report.weights
    return report


def _evidence(retriever: Retriever, queries: Sequence[Query], classifier: IntentClassifier | None) -> list[Evidence]:
    requests = [query.request for query in queries]
    return retriever.evidence(
        requests,
        [[gold.accepted for gold in query.gold] for query in queries],
        None if classifier is None else [classifier.classify(request) for request in requests],
    )


def _measures(
    evidence: Sequence[Evidence], before: FusionWeights, after: FusionWeights, objective: Objective, seed: int
) -> dict[str, Measure]:
    """Every measure before and after, with intervals over the same resampled requests."""
    cutoffs = sorted({*CUTOFFS, objective.k})
    names = [*(f"recall@{k}" for k in cutoffs), "mrr"]

    def values(weights: FusionWeights) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        ranks: list[list[Rank]] = [one.ranks(weights, objective.pool) for one in evidence]
        return np.array([[*(recall_at(row, k) for k in cutoffs), reciprocal_rank(row)] for row in ranks])

    old, new = values(before), values(after)
    columns = np.concatenate([old, new, new - old], axis=1)
    intervals = [interval or (0.0, 0.0) for interval in ratio_intervals(columns, np.ones_like(columns), seed)]
    width = len(names)
    return {
        name: Measure(
            float(old[:, at].mean()),
            float(new[:, at].mean()),
            intervals[at],
            intervals[width + at],
            intervals[2 * width + at],
        )
        for at, name in enumerate(names)
    }
