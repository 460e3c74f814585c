"""References to results of earlier calls."""

import pytest
from toolpath.router.selection.references import covers, find_references, path_problem, renamed


def test_references_are_found_at_any_depth_and_not_inside_each_other() -> None:
    arguments = {
        "a": {"$from": "c1", "path": "x"},
        "b": [{"c": {"$from": "c2"}}, 5],
        "d": {"$from": "c3", "path": {"$from": "c4"}},
    }
    found = [(reference.at, reference.call, reference.path) for reference in find_references(arguments)]
    assert found == [("a", "c1", "x"), ("b[0].c", "c2", ""), ("d", "c3", "")]


@pytest.mark.parametrize("path", ["", "items", "items[0].id", "a.b.c", "[3]", "items[0][1]", "名称.值", "first-name"])
def test_paths_that_can_be_followed(path: str) -> None:
    (reference,) = find_references({"x": {"$from": "c", "path": path}})
    assert not reference.problem


@pytest.mark.parametrize("path", [".a", "a.", "a..b", "a[x]", "a[-1]", "a[", "]", "a[0]b"])
def test_paths_that_cannot(path: str) -> None:
    (reference,) = find_references({"x": {"$from": "c", "path": path}})
    assert "is no path" in reference.problem


def test_a_malformed_reference_says_what_is_wrong() -> None:
    (reference,) = find_references({"x": {"$from": 3}})
    assert "must be texts" in reference.problem
    (reference,) = find_references({"x": {"$from": "c", "field": "y"}})
    assert "not 'field'" in reference.problem


def test_endless_nesting_is_survived() -> None:
    deep: dict[str, object] = {"$from": "c"}
    for _ in range(5_000):
        deep = {"x": deep}
    assert list(find_references(deep)) == []


def test_a_path_is_held_against_a_known_result() -> None:
    returns = {"type": "object", "properties": {"email": {}}}
    assert path_problem("email", returns) == "" == path_problem("", returns) == path_problem("x", None)
    assert path_problem("phone.home", returns) == "the result has no 'phone'; it has email"
    assert path_problem("phone", {**returns, "additionalProperties": True}) == ""
    assert path_problem("[0]", returns) == ""


def test_faults_at_and_around_a_reference_are_its_own() -> None:
    assert covers("a.b", "a.b") and covers("a.b", "a.b.c") and covers("a.b", "a") and covers("a[0].b", "a[0]")
    assert not covers("a.b", "a.c") and not covers("a.b", "a.bc") and not covers("ab", "a")


def test_renaming_touches_references_only() -> None:
    value = {"x": {"$from": "c1", "path": "p"}, "y": ["c1", {"$from": "c2"}]}
    assert renamed(value, str.upper) == {"x": {"$from": "C1", "path": "p"}, "y": ["c1", {"$from": "C2"}]}
