"""Time utilities: zones with their odd days, and cron expressions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toolpath.catalog import ToolError

from examples.incident.handlers import arguments
from examples.incident.handlers.cron import read_cron
from examples.incident.handlers.time_tools import TimeTools, convert_timezone
from examples.incident.world import World


@pytest.fixture
def tools(world: World) -> TimeTools:
    return TimeTools(world)


def failing(call: Callable[[], object], error_type: str = "validation_error") -> str:
    with pytest.raises(ToolError) as caught:
        call()
    assert caught.value.error_type == error_type
    return str(caught.value)


def test_a_moment_is_told_on_another_clock() -> None:
    answer = convert_timezone("2025-11-18T14:20:00", "Asia/Shanghai")
    assert answer["timestamp"] == "2025-11-18T22:20:00+08:00"
    assert (answer["utc"], answer["offset_minutes"]) == ("2025-11-18T14:20:00Z", 480)


def test_an_offset_in_the_text_wins_over_the_zone() -> None:
    answer = convert_timezone("2025-11-18T09:00:00-05:00", "Asia/Shanghai", "Europe/Berlin")
    assert answer["timestamp"] == "2025-11-18T22:00:00+08:00"


def test_daylight_saving_is_taken_into_account() -> None:
    summer = convert_timezone("2025-07-01T09:00:00", "UTC", "America/New_York")["timestamp"]
    winter = convert_timezone("2025-12-01T09:00:00", "UTC", "America/New_York")["timestamp"]
    assert (summer, winter) == ("2025-07-01T13:00:00+00:00", "2025-12-01T14:00:00+00:00")


def test_an_hour_that_happens_twice_is_marked_and_one_that_never_does_is_refused() -> None:
    twice = convert_timezone("2025-10-26T02:30:00", "UTC", "Europe/Berlin")
    assert (twice["ambiguous"], twice["timestamp"]) == (True, "2025-10-26T00:30:00+00:00")
    assert not convert_timezone("2025-10-26T03:30:00", "UTC", "Europe/Berlin")["ambiguous"]
    message = failing(lambda: convert_timezone("2025-03-30T02:30:00", "UTC", "Europe/Berlin"))
    assert "does not exist in Europe/Berlin" in message


@pytest.mark.parametrize(
    ("timestamp", "zone", "hint"),
    [
        ("noon", "UTC", "ISO 8601"),
        ("2025-11-18T14:20:00", "Mars/Olympus", "IANA"),
        ("2025-11-18T14:20:00", "../../etc/passwd", "IANA"),
        ("2025-11-18T14:20:00", "Europe/Berln", "did you mean 'Europe/Berlin'"),
        ("9999-12-31T23:59:59", "Asia/Tokyo", "2200"),
    ],
)
def test_what_cannot_be_converted_is_refused(timestamp: str, zone: str, hint: str) -> None:
    assert hint in failing(lambda: convert_timezone(timestamp, zone))


def test_a_machine_without_time_zones_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "available_timezones", set)
    message = failing(lambda: convert_timezone("2025-11-18T14:20:00", "UTC"), "dependency_missing")
    assert "no time zone database" in message


@pytest.mark.parametrize(
    ("expression", "meaning"),
    [
        ("0 3 * * 1", "at 03:00, on Monday"),
        ("* * * * *", "every minute"),
        ("*/15 2-4 * * 1-5", "at minute 0, 15, 30, 45 of hour 2 to 4, on Monday to Friday"),
        ("30 8,20 * * *", "at 08:30 and 20:30"),
        ("0 0 1 JAN,jul *", "at 00:00, on day 1 of the month, in January, July"),
        ("0 0 13 * fri", "at 00:00, on day 13 of the month or on Friday"),
        ("5 * * * 7", "at minute 5 of every hour, on Sunday"),
    ],
)
def test_an_expression_is_said_in_words(tools: TimeTools, expression: str, meaning: str) -> None:
    assert tools.explain_cron(expression)["meaning"] == meaning


@pytest.mark.parametrize(
    ("expression", "runs"),
    [
        ("0 3 * * 1", ["2025-11-24T03:00", "2025-12-01T03:00"]),
        ("10 15 * * *", ["2025-11-19T15:10", "2025-11-20T15:10"]),  # the present itself is over
        ("0 0 29 2 *", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("0 0 1 * fri", ["2025-11-21T00:00", "2025-11-28T00:00"]),
        ("0 0 */10 * fri", ["2025-11-21T00:00", "2026-05-01T00:00"]),  # a field that begins with * restricts
        ("55/2 15 * * *", ["2025-11-18T15:55", "2025-11-18T15:57"]),
    ],
)
def test_the_next_runs_are_found(tools: TimeTools, expression: str, runs: list[str]) -> None:
    answer = tools.explain_cron(expression, count=2)
    assert [run[:16] for run in answer["next_runs"]] == runs


def test_fields_are_read_in_the_given_zone(tools: TimeTools) -> None:
    answer = tools.explain_cron("0 3 * * *", timezone="Asia/Shanghai", count=1)
    assert answer["next_runs"] == ["2025-11-19T03:00:00+08:00"]


def test_a_run_in_an_hour_that_the_clocks_skip_is_left_out_and_a_repeated_one_counts_once(tools: TimeTools) -> None:
    spring = tools.explain_cron("30 2 * * *", "2026-03-28T00:00:00Z", 2, "Europe/Berlin")["next_runs"]
    assert [run[:10] for run in spring] == ["2026-03-28", "2026-03-30"]
    autumn = tools.explain_cron("30 2 * * *", "2025-10-25T12:00:00Z", 2, "Europe/Berlin")["next_runs"]
    assert autumn == ["2025-10-26T02:30:00+02:00", "2025-10-27T02:30:00+01:00"]


def test_a_day_that_never_comes_is_refused(tools: TimeTools) -> None:
    assert "never runs" in failing(lambda: tools.explain_cron("0 0 30 2 *"))


@pytest.mark.parametrize(
    "expression",
    ["", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-2 * * * *",
     "*/0 * * * *", "a * * * *", "1,,2 * * * *", "*-5 * * * *", "-1 * * * *", "1- * * * *", "* * * foo *", "٣ * * * *",
     "@daily", "99999 * * * *"],
)  # fmt: skip
def test_what_is_no_cron_expression_is_refused(expression: str) -> None:
    failing(lambda: read_cron(expression))


@settings(deadline=None)  # the first use of a time zone reads its file
@given(
    st.integers(0, 59), st.integers(0, 23), st.datetimes(dt.datetime(2000, 1, 1), dt.datetime(2100, 1, 1)),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]),
)  # fmt: skip
def test_runs_rise_and_lie_after_the_start(minute: int, hour: int, start: dt.datetime, zone: str) -> None:
    after = start.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(zone))
    runs = read_cron(f"{minute} {hour} * * *").runs(after)
    first, second = next(runs), next(runs)
    assert after.timestamp() < first.timestamp() < second.timestamp()
    assert (first.hour, first.minute) == (hour, minute)
    assert first.timestamp() - after.timestamp() <= 50 * 3600
