"""Whether types can fit: a table of pairs, and the types of parts."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
import typing
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Mapping, Sequence, Sized
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Protocol, TypedDict, TypeVar, Union

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field
from toolpath.catalog import Degraded
from toolpath.catalog.errors import BindingError
from toolpath.orchestrator import Missing
from toolpath.orchestrator.pipeline.annotations import JsonType, can_fit, follow_type, output_type, type_text
from toolpath.orchestrator.pipeline.refs import parse_path

T = TypeVar("T")
UserId = NewType("UserId", int)
DeepId = NewType("DeepId", UserId)  # type: ignore[valid-newtype]


EitherOld = Union[int, str]  # noqa: UP007
OptionalOld = typing.Optional[int]  # noqa: UP045


class Animal: ...


class Dog(Animal): ...


class Cat(Animal): ...


class Colour(enum.Enum):
    RED = "red"


class Mood(enum.StrEnum):
    GOOD = "good"


class Rank(enum.IntEnum):
    FIRST = 1


class Model(pydantic.BaseModel):
    x: int
    items: list[str] = []

    @property
    def double(self) -> int:
        return 2 * self.x

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def triple(self) -> int:
        return 3 * self.x


class Open(pydantic.BaseModel, extra="allow"):
    x: int


class Listing(pydantic.RootModel[list[int]]): ...


class Record(TypedDict):
    x: int
    note: typing.NotRequired[str]


@dataclasses.dataclass
class Data:
    x: int
    inner: Model
    VERSION: typing.ClassVar[str] = "1"

    def method(self) -> int:
        return self.x


class Point(NamedTuple):
    x: int
    y: str


class HasName(Protocol):
    name: str


class Box(Generic[T]):
    value: T


class Odd(list[int], Generic[T]):
    """A list of int whose argument is something else."""


def schema(**keywords: Any) -> JsonType:
    return JsonType(keywords)


TEXT, WHOLE, NUMBER, FLAG = (schema(type=name) for name in ("string", "integer", "number", "boolean"))
OBJECT, ARRAY, NULL = schema(type="object"), schema(type="array"), schema(type="null")
TEXTS = schema(type="array", items={"type": "string"})

FIT: list[tuple[Any, Any]] = [
    # nothing known
    (Any, int), (int, Any), (object, int), (int, object), (T, int), (int, T), ("Unresolved", int),
    (typing.NoReturn, int), (Missing, int),
    # classes
    (int, int), (Dog, Animal), (Animal, Dog), (bool, int), (Rank, int), (Mood, str), (dt.datetime, dt.date),
    (dt.date, dt.datetime), (Point, tuple), (collections.OrderedDict, dict), (pathlib.PurePath, pathlib.Path),
    # numbers
    (int, float), (int, complex), (float, complex), (bool, float), (Rank, float), (Rank, complex),
    # None, unions
    (None, None), (type(None), int | None), (int, int | None), (int | None, int), (int | str, str),
    (str, EitherOld), (Annotated[int | None, "x"], int), (int | str, float | bytes), (None, OptionalOld),
    # wrappers
    (Annotated[int, Field(ge=1)], int), (int, Annotated[int, Field(ge=1)]), (UserId, int), (int, UserId),
    (DeepId, int), (UserId, float), (Annotated[UserId, "x"], int), (list[Annotated[int, 1]], list[UserId]),
    (typing.Final[int], int), (typing.ClassVar[str], int),
    # literals
    (Literal["a"], str), (str, Literal["a"]), (Literal["a", "b"], Literal["b", "c"]), (Literal[1], float),
    (Literal["a", 1], int), (Literal[None], int | None), (Mood, Literal["good"]), (Literal[True], int),
    (Colour, Literal[Colour.RED]), (Literal[Colour.RED], Colour),
    # containers
    (list, list[int]), (list[int], list), (list[int], list[int]), (list[int], list[float]), (list[Any], list[str]),
    (list[int | str], list[str]), (list[int], Sequence[int]), (Sequence[int], list[int]), (Iterable[int], list[int]),
    (list[int], Iterable[str]), (tuple[int, ...], Sequence[int]), (Sequence[int], tuple[int, ...]),
    (tuple[int, str], tuple), (tuple[int, str], tuple[str, int]), (dict[str, int], Mapping[str, int]),
    (Mapping[str, int], dict[str, float]), (dict[str, int], dict), (dict[str, list[int]], dict[str, Sequence[int]]),
    (collections.defaultdict[str, int], dict[str, int]), (collections.Counter[str], dict[str, int]),
    (collections.deque[int], Sequence[int]), (str, Sequence[str]), (set[int], Collection[int]), (set[int], Iterable),
    (frozenset[int], collections.abc.Set[int]), (typing.List[int], list[int]), (typing.Dict[str, int], dict),  # noqa: UP006
    (Odd[str], list[int]), (list[int], Odd[str]), (Box[int], Box[str]), (Box[int], Box), (Hashable, Sized),
    (Iterable[int], Hashable), (Sequence[int], Hashable),
    # records
    (Record, dict), (dict, Record), (Record, Mapping[str, Any]), (Record, Record), (Model, Model),
    (Model, pydantic.BaseModel), (pydantic.BaseModel, Model), (Data, Data), (Point, Sequence), (Data, object),
    # types whose values are not their instances
    (HasName, int), (int, HasName), (Dog, typing.SupportsInt), (str, pydantic.EmailStr), (dt.date, pydantic.PastDate),
    (str, str), (typing.TextIO, pathlib.Path), (len, Any), (type[int], Callable[..., int]),
    (type[Dog], type[Animal]), (type[Dog], type),
    # towards a schema: what a value is once it is JSON
    (str, TEXT), (int, WHOLE), (int, NUMBER), (float, NUMBER), (bool, FLAG), (None, NULL), (list[str], TEXTS),
    (tuple[str, ...], TEXTS), (set[str], TEXTS), (Sequence[str], TEXTS), (tuple[int, str], TEXTS), (list, TEXTS),
    (dict[str, int], OBJECT), (Model, OBJECT), (Data, OBJECT), (Record, OBJECT), (Point, ARRAY), (Listing, ARRAY),
    (Listing, TEXT), (dt.datetime, TEXT), (decimal.Decimal, NUMBER), (decimal.Decimal, TEXT), (Colour, TEXT),
    (Colour, WHOLE), (Mood, TEXT), (Rank, WHOLE), (bytes, TEXT), (bytearray, TEXT), (pathlib.Path, TEXT),
    (str | None, TEXT), (int | None, NULL), (Any, TEXT), (str, schema()), (str, schema(anyOf=[{"type": "integer"}])),
    (str, schema(type=["string", "null"])), (None, schema(type=["string", "null"])), (str, schema(const="a")),
    (str, schema(enum=["a", "b"])), (Literal["a"], schema(enum=["a", "b"])), (Literal["a"], TEXT), (int, FLAG),
    (float, schema(enum=[0.5])), (None, schema(enum=["a", None])),
    (list[Model], schema(type="array", items={"type": "object"})),
    (Iterable[str], TEXTS), (UserId, WHOLE), (Annotated[str, Field(max_length=5)], TEXT), (str, schema(type="future")),
    (str, schema(type=[])), (bool, schema(type=["boolean", "integer"])), (T, TEXT), (object, TEXT),
    # from a schema
    (TEXT, str), (WHOLE, int), (WHOLE, float), (NUMBER, float), (NUMBER, int), (NULL, str | None), (TEXTS, list[str]),
    (TEXTS, Sequence[str]), (ARRAY, list[int]), (OBJECT, dict[str, int]), (OBJECT, Record), (TEXT, Literal["a"]),
    (schema(enum=["a"]), Literal["a", "b"]), (TEXT, TEXT), (NUMBER, WHOLE), (WHOLE, NUMBER), (TEXTS, ARRAY),
    (schema(), int), (schema(type=["string", "integer"]), int), (OBJECT, OBJECT), (TEXT, Any), (TEXT, HasName),
]  # fmt: skip

CANNOT_FIT: list[tuple[Any, Any]] = [
    (int, str), (str, int), (float, int), (str, float), (Dog, Cat), (int, Dog), (complex, float), (str, bytes),
    (decimal.Decimal, int), (None, int), (int, None), (int | None, str), (int | str, bytes | list[int]),
    (UserId, str), (Annotated[int, 1], str), (DeepId, Dog), (Literal["a"], int), (int, Literal["a"]),
    (Literal["a"], Literal["b"]), (Literal[1], str), (Colour, str), (str, Colour), (Colour, Rank),
    (list[int], list[str]), (list[int], dict), (list[int], tuple), (dict, list), (set[int], list[int]),
    (set[int], Sequence[int]), (dict[str, int], dict[int, int]), (dict[str, int], Mapping[str, str]),
    (Sequence[int], list[str]), (list[list[int]], list[list[str]]), (list[int | None], list[str]), (int, Sequence[int]),
    (int, Iterable[int]), (Record, list), (Record, Model), (dict, Model), (Model, dict), (Model, Data), (Data, Record),
    (list, Hashable), (int, Callable[..., int]),
    (pathlib.Path, str), (dt.date, str), (Box[int], list), (type[int], int),
    (int, TEXT), (str, WHOLE), (bool, WHOLE), (bool, NUMBER), (str, ARRAY), (list[int], TEXTS), (list[str], OBJECT),
    (Model, TEXT), (Data, ARRAY), (Record, ARRAY), (None, TEXT), (float, WHOLE), (list, TEXT), (Point, OBJECT),
    (Literal["c"], schema(enum=["a", "b"])), (int, schema(enum=["a"])), (int | None, TEXT), (set[int], TEXTS),
    (int, schema(type=["string", "null"])), (list[Model], TEXTS),
    (TEXT, int), (WHOLE, str), (TEXT, dt.date), (OBJECT, Model), (OBJECT, list), (TEXTS, list[int]), (NULL, int),
    (schema(enum=["a"]), Literal["b"]), (TEXT, WHOLE), (ARRAY, OBJECT), (schema(type=["string", "null"]), int),
]  # fmt: skip


def _name(given: Any) -> str:
    return repr(given.schema) if isinstance(given, JsonType) else str(given).removeprefix("typing.")


@pytest.mark.parametrize(("produced", "wanted"), FIT, ids=_name)
def test_what_can_fit_is_let_through(produced: Any, wanted: Any) -> None:
    assert can_fit(produced, wanted)


@pytest.mark.parametrize(("produced", "wanted"), CANNOT_FIT, ids=_name)
def test_what_can_never_fit_is_refused(produced: Any, wanted: Any) -> None:
    assert not can_fit(produced, wanted)


ALL_TYPES = [one for pair in FIT + CANNOT_FIT for one in pair]
types = st.sampled_from(ALL_TYPES)


@given(types, types)
def test_any_pair_of_types_gets_an_answer_and_can_be_printed(produced: Any, wanted: Any) -> None:
    assert can_fit(produced, wanted) in (True, False)
    assert type_text(produced)


@given(types)
def test_every_type_fits_itself_and_an_optional_of_it(one: Any) -> None:
    assert can_fit(one, one)
    if not isinstance(one, JsonType | str):
        assert can_fit(one, typing.Optional[Annotated[one, "x"]])  # noqa: UP045


@pytest.mark.parametrize(
    ("produced", "path", "expected"),
    [
        (Model, "x", int),
        (Model, "items[0]", str),
        (Model, "double", Any),
        (Model, "triple", Any),
        (Open, "anything", Any),
        (Data, "inner.items[-1]", str),
        (Data, "VERSION", str),
        (Data, "method", Any),
        (Record, "x", int),
        (Record, "note", typing.NotRequired[str]),
        (Point, "y", str),
        (Point, "[1]", Any),
        (dict[str, list[int]], "a[0]", int),
        (dict, "a.b.c", Any),
        (tuple[int, str], "[1]", str),
        (tuple[int, str], "[-2]", int),
        (tuple[int, ...], "[7]", int),
        (list[int | None], "[0]", int | None),
        (Sequence[Model], "[0].x", int),
        (Annotated[list[int], "x"], "[0]", int),
        (Model | None, "nothing", Any),
        (Any, "a[0]", Any),
        (T, "a", Any),
        (HasName, "name", Any),
        (Animal, "name", Any),
        (collections.Counter[str], "a", Any),
        (schema(type="object", properties={"a": {"type": "array", "items": {"type": "string"}}}), "a[0]", TEXT),
        (schema(type="object", patternProperties={"^x": {}}, additionalProperties=False), "xy", Any),
        (schema(type="array", prefixItems=[{"type": "integer"}], items={"type": "string"}), "[0]", Any),
        (schema(type="array", items=False), "[0]", Any),
        (schema(type=["object", "null"]), "a", Any),
        (schema(), "a[0].b", Any),
        (schema(properties={"a": True}), "a", Any),
    ],
    ids=_name,
)
def test_the_type_of_a_part(produced: Any, path: str, expected: Any) -> None:
    found = follow_type(produced, parse_path(path), "here")
    assert found == expected or (expected is str and found == typing.ClassVar[str])


@pytest.mark.parametrize(
    ("produced", "path", "message"),
    [
        (Model, "itemz", r"Model has no field 'itemz' \(did you mean 'items'\?\)"),
        (Model, "[0]", "Model has no position 0"),
        (Record, "y", "Record has no field 'y'"),
        (Record, "items", "Record has no field 'items'"),
        (Data, "inner.y", "Model has no field 'y'"),
        (Point, "z", "Point has no field 'z'"),
        (tuple[int, str], "[2]", "no position 2"),
        (tuple[int, str], "[-3]", "no position -3"),
        (dict[str, int], "[0]", "no position 0"),
        (dict[str, int], "a.b", "int has no field 'b'"),
        (list[int], "a", "has no field 'a'"),
        (str, "[0]", "str has no position 0"),
        (int, "real", "int has no field 'real'"),
        (TEXT, "[0]", "a value of type string has no position 0"),
        (ARRAY, "a", "a value of type array has no field 'a'"),
        (schema(properties={"path": {}}, additionalProperties=False), "pth", r"no field 'pth' \(did you mean 'path'"),
    ],
    ids=_name,
)
def test_a_part_that_cannot_exist_is_refused(produced: Any, path: str, message: str) -> None:
    with pytest.raises(BindingError, match=f"here: .*{message}"):
        follow_type(produced, parse_path(path), "here")


@pytest.mark.parametrize(
    ("returned", "awaited", "expected"),
    [
        (int, False, int),
        (Degraded, False, Any),
        (list[int] | Degraded, False, Any),
        (Annotated[Degraded, "x"], False, Any),
        (Awaitable[int], True, int),
        (Awaitable[int], False, Awaitable[int]),
        (collections.abc.Coroutine[Any, Any, str], True, str),
        (Awaitable, True, Any),
        (None, False, type(None)),
        (list[int] | None, True, list[int] | None),
    ],
    ids=_name,
)
def test_what_a_step_puts_out(returned: Any, awaited: bool, expected: Any) -> None:
    assert output_type(returned, awaited=awaited) == expected


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", ("a",)),
        ("a.b[0]['c.d'][-1].e", ("a", "b", 0, "c.d", -1, "e")),
        ('["x y"]', ("x y",)),
        ("步骤.结果[2]", ("步骤", "结果", 2)),
        ("", ()),
    ],
)
def test_paths_are_read(text: str, path: tuple[Any, ...]) -> None:
    assert parse_path(text) == path


@pytest.mark.parametrize("text", ["a[", "a]", "a[x]", "a..b", "a[0", "a.", "[]", "a['b]"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(BindingError, match="cannot read the path"):
        parse_path(text)


@pytest.mark.parametrize(
    ("given_type", "text"),
    [
        (int, "int"),
        (list[int], "list[int]"),
        (int | None, "int | None"),
        (OptionalOld, "Optional[int]"),
        (Annotated[int, Field(ge=1)], "int"),
        (Any, "Any"),
        (None, "NoneType"),
        (TEXTS, "list[str]"),
        (Model, "Model"),
        (UserId, "int"),
    ],
    ids=_name,
)
def test_types_are_printed_as_a_person_would_write_them(given_type: Any, text: str) -> None:
    assert type_text(given_type) in (text, text.replace("Optional[int]", "int | None"))
