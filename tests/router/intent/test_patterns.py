"""The pattern engine must agree with Python's `re` where both can match, and never hang where `re` would."""

import re
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from toolpath.router.intent.patterns import PatternError, SafePattern

ATOMS = st.sampled_from(
    ["a", "b", "ab", ".", r"\d", r"\w", r"\s", "[ab]", "[^a]", "[a-c1]", "(?:a|b)", "(ab|c)", r"\.", "1", "_"]
)
REPEATS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"])
PIECES = st.lists(st.tuples(ATOMS, REPEATS).map("".join), min_size=1, max_size=4).map("".join)
PATTERNS = st.builds(
    lambda start, branches, end: start + "|".join(branches) + end,
    st.sampled_from(["", "", "^", r"\b"]),
    st.lists(PIECES, min_size=1, max_size=3),
    st.sampled_from(["", "", "$", r"\b", r"\B"]),
)


@given(PATTERNS, st.text(alphabet="abcAB1_. \n你", max_size=12))
def test_it_finds_what_re_finds(pattern: str, text: str) -> None:
    assume(text or r"\B" not in pattern)  # before Python 3.14 \B does not match in an empty text; ours does everywhere
    assert SafePattern(pattern, ignore_case=False).found_in(text) == (re.search(pattern, text) is not None)
    assert SafePattern(pattern).found_in(text) == (re.search(pattern, text, re.IGNORECASE) is not None)


@given(st.text(max_size=20), st.text(max_size=20))
def test_an_escaped_text_is_found_in_itself(left: str, text: str) -> None:
    assert SafePattern(re.escape(text), ignore_case=False).found_in(left + text)


def test_one_pattern_serves_many_texts() -> None:
    order = SafePattern(r"\border\s+#?\d{4,}")
    assert order.found_in("Where is Order  #12345?")
    assert not order.found_in("Where is order 12?")
    assert order.found_in("order 9999")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 5_000 + "!"),
        ("(a|aa)*b", "a" * 5_000),
        ("(.*)*x", "y" * 5_000),
        (".*a.*a.*a.*b", "a" * 5_000),
        (r"(\w+\s*)+:", "word " * 1_000),
    ],
)
def test_patterns_that_make_re_hang_are_linear(pattern: str, text: str) -> None:
    started = time.perf_counter()
    assert not SafePattern(pattern).found_in(text)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(?=a)b", "no look-around"),
        (r"(a)\1", "back-references"),
        ("(?P<x>a)", "no look-around"),
        ("(a", "missing ')'"),
        ("a)", "unmatched ')'"),
        ("[ab", "ends too early"),
        ("*a", "nothing to repeat"),
        ("a**", "multiple repeat"),
        ("a{3,1}", "minimum is above"),
        ("[z-a]", "bad range"),
        (r"\q", "unknown escape"),
        ("a\\", "ends too early"),
        ("a{2000}", "counts to 1000"),
        ("(a{100}){100}", "too large"),
        ("(?:){1000000000}", "counts to 1000"),
        ("a" * 1_001, "1001 characters"),
        ("(" * 200 + ")" * 200, "too deeply"),
        ("^*", "nothing to repeat"),
    ],
)
def test_an_unusable_pattern_says_why(pattern: str, says: str) -> None:
    with pytest.raises(PatternError, match=re.escape(says)):
        SafePattern(pattern)


def test_braces_that_count_nothing_are_plain_characters() -> None:
    assert SafePattern("a{b}").found_in("xa{b}")
    assert SafePattern("{").found_in("{")
