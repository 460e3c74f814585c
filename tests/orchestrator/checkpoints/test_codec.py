"""Values as text and back."""

from __future__ import annotations

import dataclasses
import datetime as dt
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from toolpath.orchestrator import CheckpointError
from toolpath.orchestrator.checkpoints.codec import decode, encode


class Colour(Enum):
    RED = "r"


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    tags: frozenset[str] = frozenset()


class Order(BaseModel):
    number: int
    at: dt.datetime


class Pair(NamedTuple):
    left: int
    right: str


VALUES: list[Any] = [
    None,
    {"a": [1, 2.5, "ü", True]},
    {1: "one", (2, 3): "tuple key", "$": "a key of ours"},
    (1, (2, [3])),
    {1, 2},
    frozenset({"a"}),
    b"\x00\xff",
    float("inf"),
    "lone \ud800 surrogate",
    dt.datetime(2026, 12, 7, 10, 0, tzinfo=dt.UTC),
    dt.date(2026, 12, 7),
    dt.time(10, 0),
    dt.timedelta(days=1, microseconds=3),
    Decimal("1.10"),
    UUID(int=7),
    Path("a/b"),
    Colour.RED,
    Point(1, frozenset({"x"})),
    Order(number=1, at=dt.datetime(2026, 1, 1)),
    Pair(1, "b"),
    complex(1, 2),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    back = decode(encode([value], "x"))[0]
    assert back == value
    assert type(back) is type(value) or isinstance(value, Path)


def test_what_is_no_number_comes_back() -> None:
    assert str(decode(encode(float("nan"), "x"))) == "nan"


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary() | st.dates(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(_values)
def test_any_value_comes_back_as_it_was(value: Any) -> None:
    assert decode(encode(value, "x")) == value


def test_what_cannot_be_kept_is_named_with_its_place_and_type() -> None:
    with pytest.raises(
        CheckpointError,
        match=r"the output of step 'fetch' cannot be kept: there is something of type object at 'a.b\[1\]'",
    ):
        encode({"a": {"b": [1, object()]}}, "the output of step 'fetch'")


def test_a_class_inside_a_function_and_a_circle_are_refused() -> None:
    @dataclasses.dataclass
    class Local:
        x: int

    with pytest.raises(CheckpointError, match="defined inside a function"):
        encode(Local(1), "x")
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(CheckpointError, match="contains itself"):
        encode(circle, "x")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"$":"data","t":"no.such.module:Thing","v":{}}', "not there any more"),
        ('{"$":"data","t":"toolpath.orchestrator:Nothing","v":{}}', "not there any more"),
        ('{"$":"data","t":"subprocess:Popen","v":{}}', "no class of a kind"),
        ('{"$":"named","t":"os:system","v":{}}', "no class of a kind"),
        (f'{{"$":"model","t":"{__name__}:Order","v":{{"number":"x"}}}}', "does not fit it any more"),
    ],
)
def test_a_text_that_cannot_be_read_says_why_and_runs_nothing(text: str, says: str) -> None:
    with pytest.raises(CheckpointError, match=says):
        decode(text)
