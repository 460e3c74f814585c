"""Dates and times that have one meaning are read; others are left alone."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.router.selection.dates import find_dates


def read(text: str, clock: dt.datetime | None = None) -> list[tuple[str, str]]:
    return [(found.kind, found.iso) for found in find_dates(text, (lambda: clock) if clock else None)]


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("on 2024-03-05.", "2024-03-05"),
        ("2024/3/5", "2024-03-05"),
        ("March 5th, 2024", "2024-03-05"),
        ("the 5th of march 2024", "2024-03-05"),
        ("5 Sept 2024", "2024-09-05"),
        ("2024年3月5日", "2024-03-05"),
        ("2024 年 3 月 5 号", "2024-03-05"),
    ],
)
def test_a_date_with_one_meaning_is_read(text: str, iso: str) -> None:
    assert read(text) == [("date", iso)]


@pytest.mark.parametrize(
    "text", ["03/04/2024", "March 5", "2023-02-30", "1.2.3", "12024-01-011", "May", "in 2024", "5", "25:00"]
)
def test_what_could_mean_two_things_is_left_alone(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("at 5 pm", "17:00"),
        ("12 AM", "00:00"),
        ("12:30 p.m.", "12:30"),
        ("14:05:09", "14:05:09"),
        ("会议9:30开始", "09:30"),
    ],
)
def test_times_are_read(text: str, iso: str) -> None:
    assert read(text) == [("time", iso)]


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024-03-05T14:00:00Z", "2024-03-05T14:00:00Z"),
        ("2024-03-05 14:00", "2024-03-05T14:00:00"),
        ("March 5, 2024 at 2:30 pm", "2024-03-05T14:30:00"),
        ("2024-03-05T14:00+02:00", "2024-03-05T14:00:00+02:00"),
    ],
)
def test_a_date_with_a_time_is_one_moment(text: str, iso: str) -> None:
    assert read(text) == [("datetime", iso)]


def test_relative_words_need_a_clock() -> None:
    now = dt.datetime(2024, 2, 28, 22, 0)
    assert read("tomorrow") == [] == read("明天")
    assert read("tomorrow", now) == [("date", "2024-02-29")] == read("明天", now)
    assert read("the day before yesterday", now) == [("date", "2024-02-26")] == read("前天", now)
    assert read("tomorrow at 9 am", now) == [("datetime", "2024-02-29T09:00:00")]
    assert read("三天之后天气", now) == []


@given(st.dates(min_value=dt.date(1000, 1, 1)))
def test_every_iso_date_is_found(date: dt.date) -> None:
    assert read(f"until {date.isoformat()}, please") == [("date", date.isoformat())]


@given(st.text(alphabet="0123456789-/:. TZapm年月日", max_size=60))
def test_digits_in_any_order_are_survived(text: str) -> None:
    for found in find_dates(text):
        assert 0 <= found.start < found.end <= len(text)
