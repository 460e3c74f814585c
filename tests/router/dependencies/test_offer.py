"""What the selector is offered beside the candidates, within which budget, and how a decision shows it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from toolpath.catalog import Catalog, Tool, ToolCall
from toolpath.catalog.errors import RoutingError
from toolpath.router import Candidate, Intent, RankSelector, Router, Selection
from toolpath.router.dependencies import ClosureBudget, DependencyGraph, offered_beside

from ..support import WordSearch


def needing(name: str, *others: str, description: str = "") -> Tool:
    return Tool(name=name, description=description, depends_on=others)


def trip() -> Catalog:
    return Catalog(
        [
            needing("book_flight", "find_airport", "check_passport", description="Book a flight."),
            needing("cancel_flight", "find_booking", description="Cancel a flight."),
            needing("find_airport", "locate"),
            needing("check_passport"),
            needing("find_booking"),
            needing("locate"),
        ]
    )


def beside(*found: str, budget: ClosureBudget | None = None, intent: Intent | None = None) -> list[str]:
    """Names of what is offered beside the tools found."""
    catalog = trip()
    candidates = [Candidate(catalog.get(name), 5.0 - place) for place, name in enumerate(found)]
    offered = offered_beside(
        candidates,
        intent or Intent(),
        catalog,
        DependencyGraph(catalog),
        budget or ClosureBudget(),
        lambda tool: 100,
    )
    assert all(one.score == candidates[-1].score and one.needed_by and one.reasons for one in offered)
    return [one.name for one in offered]


def test_what_the_first_candidates_need_is_offered_producers_first() -> None:
    assert beside("book_flight") == ["locate", "find_airport", "check_passport"]
    assert beside("book_flight", "cancel_flight")[-1] == "find_booking"


def test_what_was_found_is_not_offered_twice_but_what_it_needs_is() -> None:
    assert set(beside("book_flight", "find_airport")) == {"locate", "check_passport"}


def test_only_the_leading_candidates_count() -> None:
    only_first = ClosureBudget(picks=1)
    assert beside("cancel_flight", "book_flight", budget=only_first) == ["find_booking"]
    assert beside("book_flight", budget=ClosureBudget(picks=0)) == []
    assert beside() == []


def test_the_budget_keeps_what_is_near_the_first_pick() -> None:
    near = {"find_airport", "check_passport"}
    assert set(beside("book_flight", "cancel_flight", budget=ClosureBudget(tools=2))) == near
    assert set(beside("book_flight", budget=ClosureBudget(tokens=250))) == near
    assert beside("book_flight", budget=ClosureBudget(tokens=99)) == []
    assert set(beside("book_flight", budget=ClosureBudget(depth=1))) == near


def test_a_callers_restriction_holds_for_what_is_needed_and_categories_do_not() -> None:
    within = Intent(within=frozenset({"book_flight", "check_passport", "locate"}))
    assert beside("book_flight", intent=within) == ["check_passport"]
    assert len(beside("book_flight", intent=Intent(categories=("flights",)))) == 3


@pytest.mark.parametrize("name", ["picks", "tools", "tokens", "depth"])
def test_a_budget_cannot_be_negative(name: str) -> None:
    with pytest.raises(RoutingError, match=f"'{name}' must be at least 0"):
        ClosureBudget(**{name: -1})


class Watching(RankSelector):
    """Takes the first candidate and remembers what it was offered."""

    offered: tuple[str, ...] = ()

    async def select(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
        self.offered = tuple(candidate.name for candidate in candidates)
        return await super().select(request, candidates, intent)


@pytest.mark.anyio
async def test_the_selector_sees_the_closure_behind_the_candidates_and_the_decision_shows_it() -> None:
    catalog, selector = trip(), Watching()
    decision = await Router(catalog, retriever=WordSearch(catalog), selector=selector).route("book a flight", k=1)
    assert selector.offered == ("book_flight", "locate", "find_airport", "check_passport")
    assert [candidate.name for candidate in decision.candidates] == ["book_flight"]
    assert decision.ranking == selector.offered
    assert decision.calls[0].tool == "book_flight"
    text = decision.explain()
    assert "offered beside them, for what they need: 3 tools" in text
    assert "find_airport" in text and "comes before book_flight (declared)" in text
    shown = json.loads(json.dumps(decision.to_dict()))["closure"]
    assert shown[0] == {
        "tool": "locate",
        "needed_by": ["find_airport"],
        "reasons": ["comes before find_airport (declared)"],
    }
    without = Router(catalog, retriever=WordSearch(catalog), closure=ClosureBudget(picks=0), selector=RankSelector())
    plain = await without.route("book a flight", k=1)
    assert plain.closure == () and "offered beside" not in plain.explain()
    assert decision.usage.shown_tokens > plain.usage.shown_tokens


@pytest.mark.anyio
async def test_a_call_of_a_tool_that_another_needs_is_marked_in_the_explanation() -> None:
    class Both:
        async def select(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
            first = ToolCall(tool="locate", call_id="c1")
            return Selection((first, ToolCall(tool=candidates[0].name, depends_on=("c1",))))

    catalog = trip()
    decision = await Router(catalog, retriever=WordSearch(catalog), selector=Both()).route("book a flight", k=1)
    assert decision.ranking[:2] == ("book_flight", "locate")
    assert "->  +  locate" in decision.explain()


@pytest.mark.anyio
async def test_what_a_removed_tool_needed_is_offered_no_more() -> None:
    catalog = trip()
    router = Router(catalog, retriever=WordSearch(catalog), selector=RankSelector())
    assert len((await router.route("book a flight", k=1)).closure) == 3
    catalog.remove("find_airport")
    assert [needed.name for needed in (await router.route("book a flight", k=1)).closure] == ["check_passport"]
