"""The report of a benchmark: everything that was measured, and under which conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..calibration import Bin, reliability, reliability_dict
from .metrics import percentile
from .outcomes import Confusion, Outcome
from .scores import Scores

MAX_CONFUSIONS = 20
"""Confused pairs in `BenchReport.to_dict`; the report itself has them all."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Estimated tokens of tool schemas per request.

    Attributes:
        shown: mean over requests of the candidates that stage 3 sees.
        catalog: the whole catalog, the price of sending everything.
        model_input: tokens that a model reports as read, over all requests (0 without one).
        model_output: tokens that it reports as written.
        model_requests: how often it was called.
    """

    shown: float
    catalog: int
    model_input: int
    model_output: int
    model_requests: int

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Tokens:
        """Sums over at least one outcome."""
        usages = [outcome.decision.usage for outcome in outcomes]
        return cls(
            shown=sum(usage.shown_tokens for usage in usages) / len(usages),
            catalog=max(usage.catalog_tokens for usage in usages),
            model_input=sum(usage.input_tokens for usage in usages),
            model_output=sum(usage.output_tokens for usage in usages),
            model_requests=sum(usage.requests for usage in usages),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `share` is what is shown as a fraction of the whole catalog."""
        return {
            "shown_per_query": round(self.shown, 1),
            "whole_catalog": self.catalog,
            "share": round(self.shown / self.catalog, 6) if self.catalog else None,
            "estimated": True,
            "model_input": self.model_input,
            "model_output": self.model_output,
            "model_requests": self.model_requests,
        }


@dataclass(frozen=True, slots=True)
class BenchReport:
    """What a benchmark found.

    Attributes:
        scores: over all requests.
        by: field to its values to their scores, each value's requests scored alone.
        confused: pairs of tools that were confused, most frequent first.
        tokens: what was shown against what everything would cost.
        latencies: milliseconds of single requests, routed one after the other.
        served_by: which selector answered how many requests.
        left_out: why requests were not scored, and how many.
        conversations: scored requests that have earlier turns; all of the user's turns were routed as one text.
        outcomes: every scored request, in the order of the file.
        k: candidates that the router was asked for.
        cutoffs: the k of recall@k and complete@k.
        tools: tools in the catalog.
        catalog_digest: the catalog's digest.
        embedder: what made the vectors.
        within_candidates: every request was restricted to its own candidates.
    """

    scores: Scores
    by: Mapping[str, Mapping[str, Scores]]
    confused: tuple[Confusion, ...]
    tokens: Tokens
    latencies: tuple[float, ...]
    served_by: Mapping[str, int]
    left_out: Mapping[str, int]
    conversations: int
    outcomes: tuple[Outcome, ...] = field(repr=False)
    k: int
    cutoffs: tuple[int, ...]
    tools: int
    catalog_digest: str
    embedder: str
    within_candidates: bool

    @property
    def p50(self) -> float | None:
        """Median latency in milliseconds."""
        return percentile(self.latencies, 50)

    @property
    def p95(self) -> float | None:
        """95th percentile of the latency in milliseconds."""
        return percentile(self.latencies, 95)

    @property
    def reliability(self) -> tuple[Bin, ...]:
        """What the router's probability that some tool fits is worth; empty unless requests of both kinds were scored.

        A probability is right for one share of unanswerable requests: where these are rarer or more frequent than in
        `calibration.constants`, whose training cases are half and half, all bins lie off to one side.
        """
        kinds = {outcome.query.expect_none for outcome in self.outcomes}
        if len(kinds) < 2:
            return ()
        return reliability(
            [outcome.fit for outcome in self.outcomes], [not outcome.query.expect_none for outcome in self.outcomes]
        )

    def __getitem__(self, name: str) -> float | None:
        """A measure over all requests, such as ``report["recall@5"]`` or ``report["abstention.auroc"]``."""
        return self.scores[name]

    def to_dict(self) -> dict[str, Any]:
        """The report as one JSON-ready object, without the single requests.

        Shares are fractions of 1; a measure towards which no request counts is None.
        """
        return {
            **self.scores.to_dict(),
            "k": self.k,
            "tools": self.tools,
            "catalog_digest": self.catalog_digest,
            "embedder": self.embedder,
            "candidates": "each request's own" if self.within_candidates else "whole catalog",
            "reliability": reliability_dict(self.reliability),
            "left_out": dict(self.left_out),
            "conversations": self.conversations,
            "confused": [
                {
                    "gold": pair.gold,
                    "predicted": pair.predicted,
                    "count": pair.count,
                    "example": {"id": pair.example_id, "query": pair.example},
                }
                for pair in self.confused[:MAX_CONFUSIONS]
            ],
            "tokens": self.tokens.to_dict(),
            "latency_ms": {
                "p50": _rounded(self.p50),
                "p95": _rounded(self.p95),
                "queries": len(self.latencies),
                "measured": "one request at a time, after a first one that is not counted",
            },
            "served_by": dict(self.served_by),
            "by": {
                name: {group: scores.to_dict() for group, scores in groups.items()} for name, groups in self.by.items()
            },
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
