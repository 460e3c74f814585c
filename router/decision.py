"""What comes out of the router: the calls, what led to them, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..catalog import ToolCall
from .explain import (
    closure_lines,
    cost_lines,
    intent_lines,
    request_lines,
    retrieval_lines,
    selection_lines,
    wish_lines,
)
from .records import Candidate, Intent, Selection, Usage


@dataclass(frozen=True, slots=True)
class RoutingDecision:
    """The answer to one request.

    Attributes:
        request: the user's text.
        calls: the chosen calls, in an order that respects their dependencies; empty when the router abstained.
        candidates: what stage 2 found, best first, at most `k`.
        closure: tools that the leading candidates need and that are not among them, producers before consumers.
        intent: what stage 1 made of the request.
        selection: what stage 3 chose and why.
        abstained: no tool of the catalog serves the request, as far as the router can tell.
        usage: tokens: sent, answered, and what sending the whole catalog would have cost.
        timings: milliseconds by stage ("intent", "retrieval", "selection") and in "total".
        k: how many candidates were asked for.
        catalog_size: tools in the catalog at the time.
        eligible: tools that stage 1 let through.
    """

    request: str
    calls: tuple[ToolCall, ...]
    candidates: tuple[Candidate, ...]
    intent: Intent
    selection: Selection
    abstained: bool
    usage: Usage = field(default_factory=Usage)
    timings: Mapping[str, float] = field(default_factory=dict)
    k: int = 5
    catalog_size: int = 0
    eligible: int = 0
    closure: tuple[Candidate, ...] = ()

    @property
    def ranking(self) -> tuple[str, ...]:
        """Names of tools, most wanted first: those of the chosen calls, the remaining candidates, what they need.

        The order of several calls says what runs first and not what is surest, so chosen tools stand as they rank.
        """
        places = {candidate.name: place for place, candidate in enumerate(self.candidates)}
        chosen = sorted((call.tool for call in self.calls), key=lambda tool: places.get(tool, len(places)))
        return tuple(dict.fromkeys([*chosen, *(candidate.name for candidate in self.offered)]))

    @property
    def offered(self) -> tuple[Candidate, ...]:
        """All that stage 3 could choose from: the candidates, and after them what they need."""
        return (*self.candidates, *self.closure)

    @property
    def confidence(self) -> float:
        """How sure stage 3 is of its answer, 0 to 1: of the first call's tool, or that none fits."""
        return self.selection.confidence

    def explain(self) -> str:
        """What each stage saw, kept and scored, and why, as text for a terminal. Hostile characters are escaped."""
        took = self.timings.get
        chosen = {call.tool for call in self.calls}
        lines = [
            *request_lines(self.request),
            *intent_lines(self.intent, self.eligible, self.catalog_size, took("intent")),
            *retrieval_lines(self.candidates, chosen, took("retrieval")),
            *wish_lines(self.intent.wishes),
            *closure_lines(self.closure, chosen),
            *selection_lines(self.selection, took("selection")),
            *cost_lines(self.usage, took("total")),
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The decision as JSON-ready data; a candidate is given by its tool's name."""
        return {
            "request": self.request,
            "abstained": self.abstained,
            "calls": [call.model_dump(mode="json") for call in self.calls],
            "ranking": list(self.ranking),
            "confidence": round(self.confidence, 4),
            "candidates": [
                {
                    "tool": candidate.name,
                    "score": round(candidate.score, 6),
                    "parts": {arm: round(float(score), 6) for arm, score in candidate.parts.items()},
                    "reasons": list(candidate.reasons),
                }
                for candidate in self.candidates
            ],
            "closure": [
                {"tool": needed.name, "needed_by": list(needed.needed_by), "reasons": list(needed.reasons)}
                for needed in self.closure
            ],
            "intent": {
                "categories": list(self.intent.categories),
                "reasons": list(self.intent.reasons),
                "exact": list(self.intent.exact),
                "parts": list(self.intent.parts),
                "wishes": [
                    {"text": wish.text, "needs": list(wish.needs), "found": [found.name for found in wish.found]}
                    for wish in self.intent.wishes
                ],
                "language": self.intent.language,
                "eligible": self.eligible,
            },
            "selection": {
                "served_by": self.selection.served_by,
                "reason": self.selection.reason,
                "notes": list(self.selection.notes),
            },
            "usage": {
                "input_tokens": self.usage.input_tokens,
                "output_tokens": self.usage.output_tokens,
                "requests": self.usage.requests,
                "shown_tokens_estimated": self.usage.shown_tokens,
                "catalog_tokens_estimated": self.usage.catalog_tokens,
            },
            "timings_ms": {stage: round(took, 3) for stage, took in self.timings.items()},
            "k": self.k,
            "catalog_size": self.catalog_size,
        }

    def __str__(self) -> str:
        return self.explain()
