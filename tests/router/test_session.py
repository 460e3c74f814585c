"""A conversation's tool list grows at its end, and only there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import Catalog, Tool
from toolpath.catalog.errors import RoutingError, UnknownToolError
from toolpath.router import Candidate
from toolpath.router.session import ToolSession

NAMES = "abcdefgh"


def catalog_of(names: str = NAMES) -> Catalog:
    return Catalog(Tool(name=name) for name in names)


def shown(session: ToolSession, names: str) -> str:
    return "".join(tool.name for tool in session.show(Candidate(Tool(name=name), 1.0) for name in names))


@given(st.lists(st.text(NAMES, max_size=4), max_size=8))
def test_every_list_begins_with_the_one_before_it_and_holds_what_was_found(turns: list[str]) -> None:
    session, before = ToolSession(catalog_of(), pinned=["c"]), "c"
    for found in turns:
        now = shown(session, found)
        assert now.startswith(before) and set(now) == {*before, *found} and len(set(now)) == len(now)
        before = now


def test_pinned_tools_come_first_those_of_ones_own_too() -> None:
    session = ToolSession(catalog_of(), pinned=["b", Tool(name="mine"), "a"])
    assert [tool.name for tool in session.tools] == ["b", "mine", "a"]
    assert shown(session, "cb") == "bmineac"


def test_a_removed_tool_is_gone_at_once_and_comes_back_at_the_end() -> None:
    catalog = catalog_of()
    session = ToolSession(catalog)
    assert shown(session, "abc") == "abc"
    catalog.remove("b")
    assert [tool.name for tool in session.tools] == ["a", "c"]
    assert shown(session, "bd") == "acd", "what was found before it was removed is passed over"
    catalog.add(Tool(name="b"))
    assert shown(session, "b") == "acdb"


def test_a_changed_tool_is_shown_as_it_is_now_in_its_old_place() -> None:
    catalog = catalog_of()
    session = ToolSession(catalog)
    shown(session, "ab")
    catalog.replace(Tool(name="a", description="new"))
    assert [(tool.name, tool.description) for tool in session.tools] == [("a", "new"), ("b", "")]


def test_a_name_that_became_anothers_alias_is_not_that_other_tool() -> None:
    catalog = catalog_of("ab")
    session = ToolSession(catalog)
    shown(session, "ab")
    catalog.remove("a")
    catalog.replace(Tool(name="b", aliases=("a",)))
    assert [tool.name for tool in session.tools] == ["b"]


def test_past_the_limit_the_list_starts_afresh_once_and_not_with_every_turn() -> None:
    session = ToolSession(catalog_of(), pinned=["h"], limit=4)
    assert shown(session, "abc") == "habc" and session.restarts == 0
    assert shown(session, "cb") == "habc" and session.restarts == 0
    assert shown(session, "bd") == "hbd" and session.restarts == 1
    assert shown(session, "e") == "hbde" and session.restarts == 1


def test_one_turn_may_exceed_the_limit_rather_than_lose_what_it_found() -> None:
    session = ToolSession(catalog_of(), limit=2)
    assert shown(session, "abc") == "abc" and session.restarts == 0
    assert shown(session, "abc") == "abc" and session.restarts == 0


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UnknownToolError, match="'z'"):
        ToolSession(catalog_of(), pinned=["z"])
    with pytest.raises(RoutingError, match="has a tool called 'a' already"):
        ToolSession(catalog_of(), pinned=[Tool(name="a")])
    with pytest.raises(RoutingError, match="at least 1 tool, not 0"):
        ToolSession(catalog_of(), limit=0)
