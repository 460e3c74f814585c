"""The records that pass between the router's stages: what stage 1 thinks, what stage 2 found, what stage 3 chose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..catalog import Tool, ToolCall


@dataclass(frozen=True, slots=True)
class Intent:
    """What the rules of stage 1 make of a request.

    Attributes:
        categories: the categories kept, most likely first; empty: the rules are not sure and everything is kept.
        reasons: one line per rule that fired, fit for a person ("keyword 'invoice' -> billing").
        exact: names of tools that the request names outright (by name or alias); they always survive.
        parts: the sub-requests that the request seems to hold; a single part is the request itself.
        language: ISO 639-1 code of the request's main language ("en", "zh", ...), "und" when unclear.
        within: names of the only tools that the caller allows, or None: all. Nothing survives outside of them.
        wishes: the parts with what they need of each other; empty when there is only one.
    """

    categories: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    language: str = "und"
    within: frozenset[str] | None = None
    wishes: tuple[Wish, ...] = ()

    @property
    def narrowed(self) -> bool:
        """Whether stage 1 or its caller dropped anything at all."""
        return bool(self.categories) or self.within is not None

    def keeps(self, tool: Tool) -> bool:
        """Whether `tool` may be found: allowed by the caller; kept category, no category or named outright."""
        return (self.within is None or tool.name in self.within) and (
            not self.categories or tool.category is None or tool.category in self.categories or tool.name in self.exact
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool that stage 2 found.

    Attributes:
        tool: the tool.
        score: fused score; higher is better, comparable only within one request.
        parts: name of an arm ("dense", "lexical", "parameters", "exact") to its own raw score.
        reasons: short notes for a person ("words: refund, order", "best parameter: order_id").
        needed_by: names of the tools that need this one's output, for a tool that is here for that reason alone; its
            score then is that of the last candidate and says nothing. Empty: it was found for the request itself.
        serves: places of the wishes that it was found for, when the request has several.
    """

    tool: Tool
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    needed_by: tuple[str, ...] = ()
    serves: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name


@dataclass(frozen=True, slots=True)
class Wish:
    """One of several things that a request asks for.

    Attributes:
        text: the sub-request, as it stands in the request or with what it shares with another one filled in.
        needs: places of the earlier wishes that come first: this one is put behind them ("then") or uses what they
            find ("email it to Ann").
        found: what stage 2 found for this wish, best first, with scores that compare across the request's wishes.
    """

    text: str
    needs: tuple[int, ...] = ()
    found: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a decision cost. Estimates are marked as such.

    Attributes:
        input_tokens: tokens sent to the model (0 without one).
        output_tokens: tokens that the model wrote.
        requests: calls of the model.
        shown_tokens: estimated tokens of the tool schemas that were (or would be) shown.
        catalog_tokens: estimated tokens of all schemas of the catalog, the price of sending everything.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    shown_tokens: int = 0
    catalog_tokens: int = 0

    def plus(self, other: Usage) -> Usage:
        """Both together: what was sent, answered and asked adds up; the estimates are this one's."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.requests + other.requests,
            self.shown_tokens,
            self.catalog_tokens,
        )


AFTER_FAILURE = " after llm failed"
"""How `Selection.served_by` ends when a model was asked in vain."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What stage 3 chose.

    Attributes:
        calls: the chosen calls, in an order that respects their dependencies; empty when none fits.
        abstained: stage 3 says that no candidate serves the request.
        confidence: 0 to 1, how sure stage 3 is of its answer: that the first call's tool is right, or that none fits.
        reason: one line for a person.
        served_by: name of the selector that answered ("rank", "llm", "rank after llm failed").
        usage: tokens spent here.
        notes: what else a person should know: a request that was cut, a repair that was needed.
    """

    calls: tuple[ToolCall, ...] = ()
    abstained: bool = False
    confidence: float = 0.0
    reason: str = ""
    served_by: str = "rank"
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()

    @property
    def model_failed(self) -> bool:
        """Whether a language model was asked in vain, so that another selector answered in its place."""
        return self.served_by.endswith(AFTER_FAILURE)
