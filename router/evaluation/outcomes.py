"""What became of one labelled request: where each gold tool ended up, or which stage lost it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ...catalog import Catalog
from ..decision import RoutingDecision
from .arguments import ArgumentScore, score_calls
from .metrics import Rank
from .queries import Gold, Query


class Fate(StrEnum):
    """What became of one gold tool. Each gold tool has exactly one fate, so their shares add up to 1."""

    CHOSEN = "chosen"
    """Stage 3 calls it."""
    LOST_BY_INTENT = "lost_by_intent"
    """Stage 1 dropped it, and stage 2 therefore never saw it."""
    LOST_BY_RETRIEVAL = "lost_by_retrieval"
    """Stage 1 kept it, but it is not among the candidates of stage 2, nor among what they need."""
    LOST_BY_SELECTION = "lost_by_selection"
    """It was offered to stage 3, which called other tools."""
    LOST_BY_REFUSAL = "lost_by_refusal"
    """It was offered to stage 3, which said that none fits."""


@dataclass(frozen=True, slots=True)
class GoldOutcome:
    """One gold tool: its place in the final ranking (from 1, None: absent), and its fate."""

    name: str
    rank: Rank
    fate: Fate


@dataclass(frozen=True, slots=True)
class Outcome:
    """One labelled request and what the router made of it.

    Attributes:
        query: the request and its labels.
        decision: the router's answer.
        gold: one entry per distinct gold tool; empty when no tool fits.
        wrong: tools that were called though no gold tool and no alternative of one.
        arguments: how the arguments of the right calls did.
        within_candidates: the router could only choose among the row's own candidates.
    """

    query: Query
    decision: RoutingDecision
    gold: tuple[GoldOutcome, ...]
    wrong: tuple[str, ...]
    arguments: ArgumentScore
    within_candidates: bool

    @property
    def ranks(self) -> tuple[Rank, ...]:
        """The places of the gold tools."""
        return tuple(gold.rank for gold in self.gold)

    @property
    def main_rank(self) -> Rank:
        """The place of the main tool; None where it is absent, or the row names none."""
        return next((gold.rank for gold in self.gold if gold.name == self.query.main_tool), None)

    @property
    def needed(self) -> tuple[Gold, ...]:
        """The gold tools that are there for what the main tool needs; none in a row that names no main tool."""
        main = self.query.main_tool
        return () if main is None else tuple(gold for gold in self.query.gold if gold.name != main)

    @property
    def needed_found(self) -> int:
        """How many of them stage 3 was offered, as candidates or as what a candidate needs."""
        offered = {candidate.name for candidate in self.decision.offered}
        return sum(not gold.accepted.isdisjoint(offered) for gold in self.needed)

    @property
    def fit(self) -> float:
        """How sure the router is that some tool fits, 0 to 1: the score behind the AUROC of abstention.

        A decision's confidence is in its answer, so an abstention counts the other way round.
        """
        confidence = self.decision.confidence
        return 1 - confidence if self.decision.abstained else confidence

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON-ready data, one line of an error file."""
        decision = self.decision
        return {
            "id": self.query.id,
            "query": self.query.request,
            "ok": self.ok,
            "expect_none": self.query.expect_none,
            "abstained": decision.abstained,
            "served_by": decision.selection.served_by,
            "confidence": round(decision.confidence, 4),
            "gold": [{"tool": gold.name, "rank": gold.rank, "fate": gold.fate.value} for gold in self.gold],
            "wrong": list(self.wrong),
            "ranking": list(decision.ranking),
            "calls": [{"tool": call.tool, "arguments": call.arguments} for call in decision.calls],
            "arguments": {"compared": self.arguments.arguments, "right": self.arguments.right},
            "categories_kept": list(decision.intent.categories),
            "within_candidates": self.within_candidates,
        }

    @property
    def ok(self) -> bool:
        """Whether the router did exactly what the labels ask, arguments aside."""
        if self.query.expect_none:
            return self.decision.abstained
        return not self.wrong and all(gold.fate is Fate.CHOSEN for gold in self.gold)


@dataclass(frozen=True, slots=True)
class Confusion:
    """A tool that was called in the place of another.

    Attributes:
        gold: the tool that the label wants.
        predicted: the tool that was called.
        count: in how many requests.
        example_id: id of the first of them.
        example: its text.
    """

    gold: str
    predicted: str
    count: int
    example_id: str
    example: str


def judge(query: Query, decision: RoutingDecision, catalog: Catalog, *, within_candidates: bool = False) -> Outcome:
    """Compares a decision with the labels; an alternative counts as the tool that it stands in for."""
    called = tuple(dict.fromkeys(call.tool for call in decision.calls))
    accepted = frozenset().union(*(gold.accepted for gold in query.gold))
    return Outcome(
        query=query,
        decision=decision,
        gold=tuple(
            GoldOutcome(gold.name, _rank(gold, decision.ranking), _fate(gold, decision, catalog)) for gold in query.gold
        ),
        wrong=tuple(name for name in called if name not in accepted),
        arguments=score_calls(query, decision.calls),
        within_candidates=within_candidates,
    )


def confusions(outcomes: Iterable[Outcome]) -> tuple[Confusion, ...]:
    """Pairs of a gold tool that was not called and a wrong one that was, most frequent first.

    In a request with several of both they are paired in order. Refusals are no confusion and left out.
    """
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], Query] = {}
    for outcome in outcomes:
        lost = [gold.name for gold in outcome.gold if gold.fate is not Fate.CHOSEN]
        for pair in zip(lost, outcome.wrong, strict=False):
            counts[pair] += 1
            first.setdefault(pair, outcome.query)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Confusion(*pair, count, first[pair].id, first[pair].request) for pair, count in ordered)


def _rank(gold: Gold, ranking: tuple[str, ...]) -> Rank:
    return next((place for place, name in enumerate(ranking, 1) if name in gold.accepted), None)


def _fate(gold: Gold, decision: RoutingDecision, catalog: Catalog) -> Fate:
    if any(call.tool in gold.accepted for call in decision.calls):
        return Fate.CHOSEN
    if any(candidate.name in gold.accepted for candidate in decision.offered):
        return Fate.LOST_BY_REFUSAL if decision.abstained else Fate.LOST_BY_SELECTION
    if any(decision.intent.keeps(catalog.get(name)) for name in gold.accepted):
        return Fate.LOST_BY_RETRIEVAL
    return Fate.LOST_BY_INTENT
