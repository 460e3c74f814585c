"""Utilities for numbers: units, percentiles, durations, availability, subnets."""

from __future__ import annotations

import ipaddress
import re
import statistics
from collections.abc import Sequence
from fractions import Fraction

from .arguments import Handler, Json, invalid
from .series_math import percentile

_SECONDS = {"ms": Fraction(1, 1000)} | {
    unit: Fraction(size) for unit, size in (("s", 1), ("min", 60), ("h", 3600), ("d", 86_400), ("week", 604_800))
}
_BITS = {"bit": 1, "B": 8}
_SCALES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}


def _unit_table() -> dict[str, tuple[str, Fraction]]:
    """Unit to its dimension and its size in the dimension's base unit."""
    table = {unit: ("time", size) for unit, size in _SECONDS.items()}
    for base, bits in _BITS.items():
        for prefix, scale in (_SCALES | _BINARY).items():
            table[prefix + base] = ("data", Fraction(bits * scale))
            for per, seconds in _SECONDS.items():
                table[f"{prefix}{base}/{per}"] = ("data rate", Fraction(bits * scale) / seconds)
    table |= {f"req/{per}": ("request rate", 1 / seconds) for per, seconds in _SECONDS.items()}
    table |= {"rps": ("request rate", Fraction(1)), "rpm": ("request rate", Fraction(1, 60))}
    shares = {"fraction": 1, "percent": 100, "%": 100, "permille": 1000, "bp": 10_000, "ppm": 1_000_000}
    return table | {unit: ("share", Fraction(1, size)) for unit, size in shares.items()}


UNITS = _unit_table()
_ALIASES = {"bytes": "B", "byte": "B", "bits": "bit", "sec": "s", "seconds": "s", "minutes": "min", "hours": "h"}
_ALIASES |= {"days": "d", "day": "d", "weeks": "week", "KB": "kB", "Mbps": "Mbit/s", "Gbps": "Gbit/s", "kbps": "kbit/s"}

_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_DURATION_UNITS = {
    "ms": "ms", "s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "m": "min", "min": "min",
    "mins": "min", "minute": "min", "minutes": "min", "h": "h", "hr": "h", "hrs": "h", "hour": "h", "hours": "h",
    "d": "d", "day": "d", "days": "d", "w": "week", "week": "week", "weeks": "week",
}  # fmt: skip
_ISO_DURATION = re.compile(
    r"P(?:(?P<week>\d+)W)?(?:(?P<d>\d+)D)?(?:T(?=\d)(?:(?P<h>\d+)H)?(?:(?P<min>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?"
)
_MAX_DURATION_TEXT = 200


def number_handlers() -> dict[str, Handler]:
    """Tool name to handler."""
    return {
        "convert_units": convert_units,
        "calculate_percentiles": calculate_percentiles,
        "parse_duration": parse_duration,
        "calculate_availability": calculate_availability,
        "describe_subnet": describe_subnet,
    }


def convert_units(value: float, from_unit: str, to_unit: str) -> Json:
    """The amount in the other unit, calculated exactly and rounded once."""
    source, target = _unit("from_unit", from_unit), _unit("to_unit", to_unit)
    if source[0] != target[0]:
        raise invalid("to_unit", f"measures {target[0]}, but {from_unit} measures {source[0]}")
    try:
        result = float(Fraction(value) * source[1] / target[1])
    except (OverflowError, ValueError) as error:
        raise invalid("value", "is too large or not a number") from error
    return {"value": float(f"{result:.12g}"), "unit": to_unit, "dimension": source[0]}


def calculate_percentiles(values: Sequence[float], percentiles: Sequence[float] = (50, 90, 95, 99)) -> Json:
    """Percentiles by linear interpolation, and the usual summary."""
    return {
        "count": len(values),
        "percentiles": {f"p{percent:g}": round(percentile(values, percent), 6) for percent in percentiles},
        "mean": round(statistics.fmean(values), 6),
        "stddev": round(statistics.pstdev(values), 6),
        "min": min(values),
        "max": max(values),
    }


def parse_duration(text: str) -> Json:
    """Seconds of a duration in words ("1h30m", "90 min") or in ISO 8601 ("PT45M", without months and years)."""
    compact = text.strip()
    if len(compact) > _MAX_DURATION_TEXT:
        raise invalid("text", f"has more than {_MAX_DURATION_TEXT} characters")
    seconds = _iso_seconds(compact.upper()) if compact[:1] in "Pp" else _word_seconds(compact.lower())
    if seconds is None:
        raise invalid("text", f"is no duration such as '1h30m', '90 min' or 'PT45M': {compact!r}")
    return {"seconds": float(seconds), "text": _tidy(seconds)}


def calculate_availability(
    period_days: float = 30.0, downtime_minutes: float | None = None, availability_percent: float | None = None
) -> Json:
    """The one of downtime and availability that was not given."""
    if (downtime_minutes is None) == (availability_percent is None):
        raise invalid("downtime_minutes", "or availability_percent must be given, and not both")
    minutes = period_days * 24 * 60
    if downtime_minutes is None:
        assert availability_percent is not None  # one of the two is given
        downtime_minutes = minutes * (1 - availability_percent / 100)
    elif downtime_minutes > minutes:
        raise invalid("downtime_minutes", f"is longer than the period of {minutes:g} minutes")
    else:
        availability_percent = 100 * (1 - downtime_minutes / minutes)
    return {
        "period_days": period_days,
        "availability_percent": round(availability_percent, 6),
        "downtime_minutes": round(downtime_minutes, 4),
        "downtime": _tidy(Fraction(round(downtime_minutes * 60))),
    }


def describe_subnet(cidr: str, address: str | None = None) -> Json:
    """A network's bounds and size; IPv4 and IPv6."""
    try:
        network = ipaddress.ip_network(cidr.strip(), strict=False)
    except ValueError as error:
        raise invalid("cidr", f"is no network such as 10.20.0.0/22: {error}") from error
    has_broadcast = network.version == 4 and network.prefixlen < 31
    described: Json = {
        "network": str(network),
        "first_address": str(network[0]),
        "last_address": str(network[-1]),
        "netmask": str(network.netmask),
        "broadcast": str(network.broadcast_address) if has_broadcast else None,
        "addresses": network.num_addresses,
        "usable_hosts": network.num_addresses - 2 if has_broadcast else network.num_addresses,
        "private": network.is_private,
    }
    if address is not None:
        try:
            described["contains_address"] = ipaddress.ip_address(address.strip()) in network
        except ValueError as error:
            raise invalid("address", f"is no IP address: {error}") from error
    return described


def _unit(argument: str, name: str) -> tuple[str, Fraction]:
    unit = UNITS.get(_ALIASES.get(name, name))
    if unit is None:
        raise invalid(
            argument, f"is unknown: {name!r}; known are {', '.join(_SECONDS)}, B, kB, MiB, GB, Mbit/s, rps, %"
        )
    return unit


def _word_seconds(text: str) -> Fraction | None:
    parts = _DURATION_PART.findall(text)
    if not parts or _DURATION_PART.sub("", text).strip(" ,"):
        return None
    if any(unit not in _DURATION_UNITS for _, unit in parts):
        return None
    return sum((Fraction(amount) * _SECONDS[_DURATION_UNITS[unit]] for amount, unit in parts), Fraction())


def _iso_seconds(text: str) -> Fraction | None:
    match = _ISO_DURATION.fullmatch(text)
    given = {unit: amount for unit, amount in match.groupdict().items() if amount} if match else {}
    return sum((Fraction(amount) * _SECONDS[unit] for unit, amount in given.items()), Fraction()) if given else None


def _tidy(seconds: Fraction) -> str:
    """E.g. ``"1d 2h 30min"``; "0s" for nothing."""
    parts = []
    for unit in ("d", "h", "min"):
        whole, seconds = divmod(seconds, _SECONDS[unit])
        if whole:
            parts.append(f"{whole}{unit}")
    if seconds or not parts:
        parts.append(f"{float(seconds):g}s")
    return " ".join(parts)
