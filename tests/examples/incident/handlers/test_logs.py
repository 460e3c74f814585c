"""Log tools and the reader beneath them, on the world's files and on hostile ones."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import ToolError

from examples.incident.handlers.log_lines import LEVELS, _parse, at_least, read_log
from examples.incident.handlers.logs import MAX_TEXT, LogTools
from examples.incident.world import World

AT = dt.datetime(2025, 11, 18, 14, 28, 11, 120_000, tzinfo=dt.UTC)


@pytest.fixture
def tools(world: World) -> LogTools:
    return LogTools(world)


def failing(call: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize(
    ("raw", "level", "message"),
    [
        ('{"ts": "2025-11-18T14:28:11.120Z", "level": "ERROR", "msg": "no"}', "error", "no"),
        ('{"time": 1763476091120, "severity": "warn", "message": "拒付"}', "warning", "拒付"),
        ("2025-11-18 14:28:11.120 UTC [4312] shop@orders FATAL:  too many clients", "fatal", "too many clients"),
        ("2025-11-18T14:28:11.120Z INFO [worker-3] saved", "info", "[worker-3] saved"),
        ('ts=2025-11-18T14:28:11.120Z level=warn msg="a b" sku=1', "warning", "a b"),
    ],
)
def test_each_format_is_read(raw: str, level: str, message: str) -> None:
    assert _parse(raw) == (AT, level, message)


def test_an_access_line_gets_its_level_from_the_status() -> None:
    line = '10.0.0.1 - - [18/Nov/2025:14:28:11 +0000] "GET / HTTP/1.1" {} 0.1'
    levels = [parsed[1] for status in (200, 404, 503) if (parsed := _parse(line.format(status)))]
    assert levels == ["info", "warning", "error"]


@given(st.text(max_size=200) | st.text('{}[]":,0123456789tsmg ', max_size=60).map(lambda text: "{" + text))
def test_no_line_breaks_the_reader(raw: str) -> None:
    parsed = _parse(raw)
    assert parsed is None or parsed[1] in LEVELS


@pytest.mark.parametrize(
    "raw",
    [
        "",
        '{"ts": "yesterday", "msg": "x"}',
        '{"ts": null, "msg": "x"}',
        '{"time": 1e400, "message": "x"}',
        '{"time": 99999999999999999, "message": "x"}',
        '{"ts": "2025-11-18T14:28:11Z", "msg": 5}',
        "[" * 100_000,
        "{" * 100_000,
        '{"a":' * 100_000,
        "2025-99-18T14:28:11Z ERROR no such day",
    ],
)
def test_a_line_that_only_looks_like_a_format_is_plain_text(raw: str) -> None:
    assert _parse(raw) is None


def test_a_stack_trace_has_the_time_and_level_of_its_error(tmp_path: Path) -> None:
    file = tmp_path / "cart.log"
    file.write_bytes(b"orphan \xff\n2025-11-18T14:28:11.120Z ERROR boom\n    at f (x.ts:1)\n")
    lines = list(read_log(file))
    assert [(line.number, line.level, line.at.year) for line in lines] == [
        (1, "info", 1970),
        (2, "error", 2025),
        (3, "error", 2025),
    ]
    assert lines[2].at == AT


def test_levels_are_ordered() -> None:
    assert at_least("error") == {"error", "fatal"}
    assert at_least(None) == set(LEVELS)


def test_a_search_goes_across_services_in_order_of_time(tools: LogTools) -> None:
    answer = tools.search_logs("POOL", ["checkout", "orders-db"], "2025-11-18T14:15:00Z", limit=5)
    assert "started checkout 4.18.0" in answer["lines"][0]["text"]
    assert [line["at"] for line in answer["lines"]] == sorted(line["at"] for line in answer["lines"])
    assert answer["returned"] == 5 < answer["matched"]
    assert answer["truncated"]


def test_a_search_keeps_to_period_and_level(tools: LogTools) -> None:
    answer = tools.search_logs("", start="2025-11-18T14:30:00Z", end="2025-11-18T14:31:00Z", level="fatal")
    assert answer["matched"] > 0
    assert {line["service"] for line in answer["lines"]} == {"orders-db"}
    assert all(line["at"].startswith("2025-11-18T14:30") for line in answer["lines"])


def test_a_search_finds_chinese_and_regular_expressions(tools: LogTools) -> None:
    assert tools.search_logs("羽绒服", limit=1)["matched"] > 100
    assert tools.search_logs(r"waited \d{4} ms", ["payments"], regex=True)["matched"] > 10
    assert tools.search_logs(r"waited \d{4} ms", ["payments"])["matched"] == 0


def test_nothing_found_is_an_answer_and_no_error(tools: LogTools) -> None:
    assert tools.search_logs("no such words")["lines"] == []


@pytest.mark.parametrize("pattern", ["(", "(a+)+b", "x+x+x+y"])
def test_a_wrong_or_dangerous_expression_is_refused(tools: LogTools, pattern: str) -> None:
    error = failing(lambda: tools.search_logs(pattern, regex=True))
    assert error.error_type == "validation_error"
    assert "query" in error.info.fields


def test_a_very_long_line_is_cut(own_world: World) -> None:
    (own_world.logs / "cart.log").write_text("2025-11-18T14:28:11Z ERROR " + "x" * 500_000 + "\n")
    started = time.perf_counter()
    answer = LogTools(own_world).search_logs("x+x+y", ["cart"], regex=True)
    assert time.perf_counter() - started < 15  # 40 s and more when the whole of what is shown is searched
    assert answer["matched"] == 0
    (line,) = LogTools(own_world).tail_logs("cart")["lines"]
    assert len(line["text"]) == MAX_TEXT + 1


@pytest.mark.parametrize("service", ["chekout", "../records", "/etc/passwd", "", "checkout.log", "checkout\x00"])
def test_only_services_that_have_a_log_can_be_read(tools: LogTools, service: str) -> None:
    error = failing(lambda: tools.tail_logs(service))
    assert error.error_type == "not_found"
    assert "checkout" in error.info.suggestion


def test_the_tail_is_the_end_of_the_file(tools: LogTools, world: World) -> None:
    answer = tools.tail_logs("checkout", 3)
    assert [line["text"] for line in answer["lines"]] == (world.logs / "checkout.log").read_text().splitlines()[-3:]
    assert {line["level"] for line in tools.tail_logs("checkout", 30, "error")["lines"]} == {"error"}


def test_counts_are_those_of_the_search(tools: LogTools) -> None:
    counted = tools.count_log_lines("too many clients", group_by="minute")
    assert counted["total"] == tools.search_logs("too many clients")["matched"]
    assert counted["total"] == sum(group["lines"] for group in counted["groups"])
    assert counted["groups"][0]["minute"] == "2025-11-18T14:28:00Z"


def test_counts_group_by_service_and_level(tools: LogTools) -> None:
    period = ("2025-11-18T14:30:00Z", "2025-11-18T14:40:00Z")
    by_service = tools.count_log_lines("", [], *period, level="error")
    assert by_service["groups"][0]["service"] == "checkout"
    by_level = tools.count_log_lines("", ["orders-db", "orders-db"], *period, group_by="level")
    assert by_level["groups"][0]["level"] == "fatal"
    assert by_level["total"] == sum(group["lines"] for group in by_level["groups"])


def test_errors_are_grouped_whatever_their_numbers(tools: LogTools) -> None:
    answer = tools.cluster_error_patterns("checkout", "2025-11-18T14:00:00Z")
    first = answer["patterns"][0]
    assert first["pattern"].startswith("could not get a connection from pool <text> within <n> ms")
    assert first["count"] > 500
    assert answer["distinct_patterns"] == 2
    assert sum(pattern["count"] for pattern in answer["patterns"]) == answer["lines"]


def test_lines_of_a_stack_trace_are_no_errors_of_their_own(tools: LogTools) -> None:
    answer = tools.cluster_error_patterns("cart")
    assert [pattern["pattern"] for pattern in answer["patterns"]] == [
        "[worker-<n>] call to checkout timed out after <n> ms"
    ]


def test_a_limit_keeps_the_most_frequent_patterns(tools: LogTools) -> None:
    full, cut = tools.cluster_error_patterns(level="warning"), tools.cluster_error_patterns(level="warning", limit=2)
    assert cut["patterns"] == full["patterns"][:2]
    assert cut["distinct_patterns"] == full["distinct_patterns"] > 2


def test_the_context_stops_at_the_ends_of_the_file(tools: LogTools) -> None:
    lines = tools.get_log_context("checkout", 2, before=10, after=1)["lines"]
    assert [line["line_number"] for line in lines] == [1, 2, 3]
    error = failing(lambda: tools.get_log_context("checkout", 10**9))
    assert error.error_type == "not_found"
    assert "there is no line" in str(error)
