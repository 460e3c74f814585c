"""Short ways to write catalogs, labelled requests and decisions in tests of the scoring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from toolpath.catalog import Catalog, Tool, ToolCall
from toolpath.router import Candidate, Intent, RoutingDecision, Selection, Usage
from toolpath.router.evaluation import Outcome, Query, judge

LETTERS = "abcdefghij"


def letters(categories: dict[str, str] | None = None) -> Catalog:
    """Ten tools called "a" to "j"."""
    return Catalog(Tool(name=name, category=(categories or {}).get(name)) for name in LETTERS)


def query(tools: str = "", **fields: Any) -> Query:
    """A request that wants the tools named by single letters; none: no tool fits."""
    return Query(
        **{
            "id": "q",
            "query": "please",
            "tools": tuple(tools),
            "expect_none": not tools,
            **fields,
        }
    )


def decision(
    found: str = "",
    calls: str | Iterable[ToolCall] = "",
    *,
    catalog: Catalog | None = None,
    intent: Intent | None = None,
    confidence: float = 0.5,
    usage: Usage | None = None,
    served_by: str = "rank",
) -> RoutingDecision:
    """A decision with candidates and calls named by single letters; without calls the router abstained."""
    catalog = catalog if catalog is not None else letters()
    made = tuple(ToolCall(tool=call) if isinstance(call, str) else call for call in calls)
    candidates = tuple(Candidate(catalog.get(name), -place) for place, name in enumerate(found))
    return RoutingDecision(
        request="please",
        calls=made,
        candidates=candidates,
        intent=intent if intent is not None else Intent(),
        selection=Selection(made, not made, confidence, served_by=served_by),
        abstained=not made,
        usage=usage if usage is not None else Usage(),
    )


def outcome(
    tools: str, found: str = "", calls: str | Sequence[ToolCall] = "", *, confidence: float = 0.5, **fields: Any
) -> Outcome:
    """A request judged over the ten letters."""
    return judge(query(tools, **fields), decision(found, calls, confidence=confidence), letters())
