"""Number utilities: units, percentiles, durations, availability, subnets."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import ToolError

from examples.incident.handlers.number_tools import (
    UNITS,
    calculate_availability,
    calculate_percentiles,
    convert_units,
    describe_subnet,
    parse_duration,
)


def failing(call: Callable[[], object], argument: str) -> str:
    with pytest.raises(ToolError) as caught:
        call()
    assert caught.value.error_type == "validation_error"
    assert argument in caught.value.info.fields
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (1536, "MiB", "GB", 1.610612736),
        (1, "GiB", "MiB", 1024),
        (100, "Mbps", "MB/s", 12.5),
        (90, "rpm", "rps", 1.5),
        (1000, "rps", "req/d", 86_400_000),
        (0.05, "fraction", "percent", 5),
        (25, "bp", "%", 0.25),
        (36, "hours", "d", 1.5),
        (0.1, "s", "ms", 100),
        (-3, "KB", "B", -3000),
    ],
)
def test_amounts_are_converted(value: float, source: str, target: str, result: float) -> None:
    assert convert_units(value, source, target)["value"] == result


@given(st.floats(-1e9, 1e9), st.sampled_from(sorted(UNITS)), st.data())
def test_there_and_back_is_the_same(value: float, unit: str, data: st.DataObject) -> None:
    other = data.draw(st.sampled_from(sorted(name for name, (kind, _) in UNITS.items() if kind == UNITS[unit][0])))
    there = convert_units(value, unit, other)["value"]
    assert convert_units(there, other, unit)["value"] == pytest.approx(value, rel=1e-9, abs=1e-200)


def test_what_cannot_be_converted_is_refused() -> None:
    assert "measures time" in failing(lambda: convert_units(1, "GB", "h"), "to_unit")
    assert "unknown" in failing(lambda: convert_units(1, "parsec", "h"), "from_unit")
    assert failing(lambda: convert_units(float("inf"), "s", "h"), "value")
    assert failing(lambda: convert_units(float("nan"), "s", "h"), "value")
    assert failing(lambda: convert_units(1e308, "PB", "bit"), "value")


def test_percentiles_come_with_the_usual_summary() -> None:
    answer = calculate_percentiles([4, 1, 3, 2], [0, 50, 99.9, 100])
    assert answer["percentiles"] == {"p0": 1, "p50": 2.5, "p99.9": 3.997, "p100": 4}
    assert (answer["count"], answer["mean"], answer["min"], answer["max"]) == (4, 2.5, 1, 4)
    assert calculate_percentiles([7])["percentiles"] == {"p50": 7, "p90": 7, "p95": 7, "p99": 7}


@pytest.mark.parametrize(
    ("text", "seconds", "tidy"),
    [
        ("1h30m", 5400, "1h 30min"),
        ("90 min", 5400, "1h 30min"),
        ("PT45M", 2700, "45min"),
        ("p1dt2h", 93_600, "1d 2h"),
        ("P2W", 1_209_600, "14d"),
        ("1.5 hours", 5400, "1h 30min"),
        ("250ms", 0.25, "0.25s"),
        ("2 days, 3 hours", 183_600, "2d 3h"),
        ("0s", 0, "0s"),
        ("PT0.5S", 0.5, "0.5s"),
    ],
)
def test_durations_are_read(text: str, seconds: float, tidy: str) -> None:
    assert parse_duration(text) == {"seconds": seconds, "text": tidy}


@pytest.mark.parametrize(
    "text", ["", "soon", "5", "5 parsecs", "P", "PT", "P1M", "-5s", "1h and 3m", "h5", "9" * 300 + "s", "1h;rm -rf"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    failing(lambda: parse_duration(text), "text")


def test_availability_and_downtime_follow_from_each_other() -> None:
    assert calculate_availability(availability_percent=99.95)["downtime_minutes"] == 21.6
    assert calculate_availability(downtime_minutes=21.6)["availability_percent"] == 99.95
    assert calculate_availability(365, availability_percent=99.9)["downtime"] == "8h 45min 36s"
    assert calculate_availability(availability_percent=100)["downtime"] == "0s"


def test_availability_needs_exactly_one_side() -> None:
    failing(calculate_availability, "downtime_minutes")
    failing(lambda: calculate_availability(30, 5, 99), "downtime_minutes")
    assert "longer than the period" in failing(lambda: calculate_availability(1, 2000), "downtime_minutes")


def test_a_subnet_is_described() -> None:
    answer = describe_subnet("10.20.3.7/22", "10.20.1.9")
    assert (answer["network"], answer["broadcast"]) == ("10.20.0.0/22", "10.20.3.255")
    assert (answer["usable_hosts"], answer["contains_address"], answer["private"]) == (1022, True, True)
    assert describe_subnet("10.20.0.0/22", "::1")["contains_address"] is False
    assert "contains_address" not in describe_subnet("10.20.0.0/22")


@pytest.mark.parametrize(("cidr", "usable"), [("192.0.2.0/31", 2), ("192.0.2.1/32", 1), ("2001:db8::/64", 2**64)])
def test_networks_without_broadcast_use_every_address(cidr: str, usable: int) -> None:
    answer = describe_subnet(cidr)
    assert (answer["usable_hosts"], answer["broadcast"]) == (usable, None)
    assert answer["addresses"] == ipaddress.ip_network(cidr).num_addresses


def test_what_is_no_network_is_refused() -> None:
    failing(lambda: describe_subnet("10.20.0.0/33"), "cidr")
    failing(lambda: describe_subnet("10.0.0.0/8", "somewhere"), "address")
