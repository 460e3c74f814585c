"""The numbers of a set of requests, each with the interval in which chance may have put it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .metrics import (
    Floats,
    auroc,
    auroc_interval,
    complete_at,
    ratio,
    ratio_intervals,
    recall_at,
    reciprocal_rank,
)
from .outcomes import Fate, Outcome

AUROC = "abstention.auroc"
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Scores:
    """Measures by name; a dot in a name stands for a group ("abstention.recall").

    Attributes:
        queries: requests that were scored.
        answerable: those of them that some tool serves.
        values: name to a fraction of 1 (`closure.offered`: to a number of tools); None where no request counts.
        intervals: name to the 95% bootstrap interval (low, high); measures without a value have none.
        counts: name to a whole number ("abstention.abstained", "arguments.calls").
    """

    queries: int
    answerable: int
    values: Mapping[str, float | None]
    intervals: Mapping[str, Interval]
    counts: Mapping[str, int]

    def __getitem__(self, name: str) -> float | None:
        return self.values[name]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: flat keys such as ``"recall@5"``, groups such as ``"abstention"`` as objects of their own."""
        result: dict[str, Any] = {"queries": self.queries, "answerable": self.answerable}
        for name, value in [*self.values.items(), *self.counts.items()]:
            group, _, key = name.rpartition(".")
            target = result.setdefault(group, {}) if group else result
            target[key] = round(value, 6) if isinstance(value, float) else value
        result["intervals"] = {name: [round(low, 6), round(high, 6)] for name, (low, high) in self.intervals.items()}
        return result


def score(outcomes: Sequence[Outcome], cutoffs: Sequence[int], seed: int = 0) -> Scores:
    """Scores requests.

    Args:
        outcomes: at least one.
        cutoffs: the k of ``recall@k`` and ``complete@k``.
        seed: of the bootstrap.
    """
    columns = [
        *_ranking_columns(outcomes, cutoffs),
        *_closure_columns(outcomes, cutoffs),
        *_fate_columns(outcomes),
        *_answer_columns(outcomes),
    ]
    numerators = np.stack([column.numerator for column in columns], axis=1)
    denominators = np.stack([column.denominator for column in columns], axis=1)
    intervals = dict(
        zip((column.name for column in columns), ratio_intervals(numerators, denominators, seed), strict=True)
    )
    values = {column.name: ratio(column.numerator, column.denominator) for column in columns}
    answerable, none = _fit_scores(outcomes)
    values[AUROC], intervals[AUROC] = auroc(answerable, none), auroc_interval(answerable, none, seed)
    return Scores(
        queries=len(outcomes),
        answerable=len(answerable),
        values=values,
        intervals={name: interval for name, interval in intervals.items() if interval is not None},
        counts=_counts(outcomes),
    )


class _Column(NamedTuple):
    """A measure as a ratio of sums over requests; both arrays have one number per request."""

    name: str
    numerator: Floats
    denominator: Floats


def _ranking_columns(outcomes: Sequence[Outcome], cutoffs: Sequence[int]) -> Iterator[_Column]:
    """Recall, completeness and MRR: means over the requests that have gold tools."""
    counts = _array(bool(outcome.gold) for outcome in outcomes)
    for name, measure in (("recall", recall_at), ("complete", complete_at)):
        for k in cutoffs:
            found = _array(measure(outcome.ranks, k) if outcome.gold else 0 for outcome in outcomes)
            yield _Column(f"{name}@{k}", found, counts)
    yield _Column("mrr", _array(reciprocal_rank(outcome.ranks) if outcome.gold else 0 for outcome in outcomes), counts)


def _closure_columns(outcomes: Sequence[Outcome], cutoffs: Sequence[int]) -> Iterator[_Column]:
    """The main tool and what it needs, apart, over the requests that name a main tool.

    ``main.recall@k``: the main tool is among the first `k` of the ranking. ``closure.recall``: mean share of what it
    needs that stage 3 is offered; ``closure.complete``: all of it is; both over the requests where it needs anything.
    ``closure.offered``: mean number of tools that stage 3 is offered, the price of both.
    """
    named = _array(outcome.query.main_tool is not None for outcome in outcomes)
    for k in cutoffs:
        found = _array(outcome.main_rank is not None and outcome.main_rank <= k for outcome in outcomes)
        yield _Column(f"main.recall@{k}", found, named)
    counts = _array(bool(outcome.needed) for outcome in outcomes)
    shares = [outcome.needed_found / len(outcome.needed) if outcome.needed else 0.0 for outcome in outcomes]
    yield _Column("closure.recall", np.array(shares), counts)
    yield _Column("closure.complete", _array(share == 1 for share in shares), counts)
    yield _Column("closure.offered", named * _array(len(outcome.decision.offered) for outcome in outcomes), named)


def _fate_columns(outcomes: Sequence[Outcome]) -> Iterator[_Column]:
    """Mean share of a request's gold tools with each fate, and how much stage 1 let through."""
    counts = _array(bool(outcome.gold) for outcome in outcomes)
    for fate in Fate:
        shares = (
            sum(gold.fate is fate for gold in outcome.gold) / len(outcome.gold) if outcome.gold else 0
            for outcome in outcomes
        )
        yield _Column(f"stages.{fate.value}", _array(shares), counts)
    narrowed = _array(bool(outcome.decision.intent.categories) for outcome in outcomes)
    yield _Column("stages.narrowed_by_intent", narrowed, np.ones(len(outcomes)))


def _answer_columns(outcomes: Sequence[Outcome]) -> Iterator[_Column]:
    """Whether the router abstains where it should, and whether the arguments of right calls are right."""
    abstained = _array(outcome.decision.abstained for outcome in outcomes)
    none = _array(outcome.query.expect_none for outcome in outcomes)
    yield _Column("abstention.precision", abstained * none, abstained)
    yield _Column("abstention.recall", abstained * none, none)
    yield _Column("abstention.false_refusal_rate", abstained * (1 - none), 1 - none)
    calls = _array(outcome.arguments.calls for outcome in outcomes)
    yield _Column("arguments.exact", _array(outcome.arguments.exact for outcome in outcomes), calls)
    compared = _array(outcome.arguments.arguments for outcome in outcomes)
    yield _Column("arguments.per_argument", _array(outcome.arguments.right for outcome in outcomes), compared)


def _fit_scores(outcomes: Sequence[Outcome]) -> tuple[Floats, Floats]:
    """The fit scores of the answerable requests and of the others."""
    return (
        _array(outcome.fit for outcome in outcomes if not outcome.query.expect_none),
        _array(outcome.fit for outcome in outcomes if outcome.query.expect_none),
    )


def _counts(outcomes: Sequence[Outcome]) -> dict[str, int]:
    none = [outcome for outcome in outcomes if outcome.query.expect_none]
    abstained = [outcome for outcome in outcomes if outcome.decision.abstained]
    return {
        "main.queries": sum(outcome.query.main_tool is not None for outcome in outcomes),
        "abstention.none_queries": len(none),
        "abstention.none_queries_within_candidates": sum(outcome.within_candidates for outcome in none),
        "abstention.abstained": len(abstained),
        "abstention.false_refusals": sum(not outcome.query.expect_none for outcome in abstained),
        "arguments.calls": sum(outcome.arguments.calls for outcome in outcomes),
        "arguments.arguments": sum(outcome.arguments.arguments for outcome in outcomes),
    }


def _array(values: Iterator[Any]) -> Floats:
    return np.fromiter(values, dtype=np.float64)
