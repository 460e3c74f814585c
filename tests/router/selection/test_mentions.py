"""What in a request could be an argument, by its form."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.router.selection.mentions import MAX_MENTIONS, Kind, find_mentions


def read(text: str) -> list[tuple[Kind, object]]:
    return [(mention.kind, mention.value) for mention in find_mentions(text)]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("mail ann.berg+x@mail.example.com.", Kind.EMAIL, "ann.berg+x@mail.example.com"),
        ("see https://example.com/a?b=c#d.", Kind.URL, "https://example.com/a?b=c#d"),
        ("打开https://example.com/页。", Kind.URL, "https://example.com/页"),
        ("cat /var/log/app.log", Kind.PATH, "/var/log/app.log"),
        (r"open C:\temp\a.txt", Kind.PATH, r"C:\temp\a.txt"),
        ("read notes/plan.md please", Kind.PATH, "notes/plan.md"),
        ("order ORD-77 now", Kind.CODE, "ORD-77"),
        ("ticket #4711", Kind.CODE, "4711"),
        ("id 1987XCV", Kind.CODE, "1987XCV"),
        ("pay 1,234.50 now", Kind.NUMBER, 1234.5),
        ("minus -5 degrees", Kind.NUMBER, -5),
        ("run 5km", Kind.NUMBER, 5),
        ("8.5 million people", Kind.NUMBER, 8_500_000),
        ("共3万人", Kind.NUMBER, 30_000),
        ("for seven days", Kind.NUMBER, 7),
        ("a rate of 5 %", Kind.PERCENT, 5),
        ("say “你好” to her", Kind.QUOTED, "你好"),
        ("the song 'It's me' now", Kind.QUOTED, "It's me"),
        ('titled "New Launch," they said', Kind.QUOTED, "New Launch"),
        ("the note ‘x y’ it is", Kind.QUOTED, "x y"),
        ('day "2024-03-05" only', Kind.DATE, "2024-03-05"),
    ],
)
def test_a_piece_is_known_by_its_form(text: str, kind: Kind, value: object) -> None:
    assert read(text) == [(kind, value)]


@pytest.mark.parametrize(
    "text",
    [
        "hello there",
        "a six-sided die",
        "either/or",
        "5M",
        "10K",
        "1.2.3.4",
        "don't",
        "and/or",
        "#",
        "@home",
        "",
        "' ' and x",
        'a "" b',
    ],
)
def test_words_and_unclear_pieces_are_no_mentions(text: str) -> None:
    assert read(text) == []


def test_a_request_that_is_one_quotation_is_read_like_any_other() -> None:
    assert read('"check the address 5"') == [(Kind.NUMBER, 5)]


def test_the_more_specific_form_wins_and_nothing_overlaps() -> None:
    mentions = find_mentions("https://x.example/2024-01-02/a.txt and 2024-01-02 at bob9@x.example, 'see #12'")
    assert [mention.kind for mention in mentions] == [Kind.URL, Kind.DATE, Kind.EMAIL, Kind.QUOTED]
    assert all(left.end <= right.start for left, right in pairwise(mentions))


@given(st.text(max_size=200))
def test_any_text_gives_ordered_pieces_inside_it(text: str) -> None:
    mentions = find_mentions(text)
    assert all(0 <= mention.start < mention.end <= len(text) for mention in mentions)
    assert all(left.end <= right.start for left, right in pairwise(mentions))


@pytest.mark.parametrize(
    "piece", ["a", "1", "a1-", "/a", "a.b@", "'", "1:", "https://", "a/", "$1,", "“", "a_", "1. ", "'x' "]
)
def test_long_hostile_requests_take_no_time(piece: str) -> None:
    started = time.perf_counter()
    assert len(find_mentions(piece * 100_000)) <= MAX_MENTIONS
    assert time.perf_counter() - started < 5
