"""Names that every provider accepts, and the way back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.router.selection.names import SafeNames

ACCEPTED = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


def test_plain_names_stay_as_they_are() -> None:
    assert SafeNames(["search_text", "list-issues"]).safe("search_text") == "search_text"


@given(st.lists(st.text(min_size=1, max_size=80), unique=True, max_size=20))
def test_every_name_is_accepted_unique_and_leads_back(names: list[str]) -> None:
    safe = SafeNames(names, taken=["no_tool_fits"])
    shown = [safe.safe(name) for name in names]
    assert all(ACCEPTED.fullmatch(name) for name in shown)
    assert len(set(shown)) == len(names) and "no_tool_fits" not in shown
    assert [safe.original(name) for name in shown] == names


def test_names_that_collapse_to_one_are_kept_apart() -> None:
    safe = SafeNames(["a.b", "a/b", "a_b", "查询", "天气", "1x", "x" * 70, "x" * 71])
    assert safe.safe("a_b") == "a_b" and len({safe.safe("a.b"), safe.safe("a/b"), "a_b"}) == 3


def test_a_name_does_not_change_with_its_company() -> None:
    assert SafeNames(["github.list"]).safe("github.list") == SafeNames(["x.y", "github.list"]).safe("github.list")


@pytest.mark.parametrize("name", ["nonsense", "", "a b"])
def test_an_invented_name_leads_nowhere(name: str) -> None:
    assert SafeNames(["a.b"]).original(name) is None


def test_the_tools_own_name_is_understood_too() -> None:
    assert SafeNames(["a.b"]).original("a.b") == "a.b"
