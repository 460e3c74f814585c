"""Tools made from functions."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import inspect
import pickle
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import pydantic
import pytest
from pydantic import BaseModel, Field
from toolpath.catalog import CatalogError, Permission, SignatureError, Tool, ToolError, tool, validate_arguments
from typing_extensions import TypedDict

if TYPE_CHECKING:
    from somewhere import Unknown


class Unit(enum.Enum):
    CELSIUS = "C"
    FAHRENHEIT = "F"


class Place(BaseModel):
    city: str
    tags: list[str] = []


@dataclass
class Point:
    x: float
    y: float = 0.0


class Window(TypedDict):
    start: dt.date
    end: dt.date


class Node(BaseModel):
    value: int
    children: list[Node] = []


def properties(made: Tool) -> dict[str, Any]:
    found: dict[str, Any] = made.parameters["properties"]
    return found


def test_a_bare_decorator_reads_name_text_and_parameters() -> None:
    @tool
    def search(query: str, limit: int = 10) -> list[str]:
        """Search the files.

        Whole words only.

        Args:
            query: What to look for.
            limit: How many results.
        """
        return [query] * limit

    assert (search.name, search.description) == ("search", "Search the files.\n\nWhole words only.")
    assert search.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for."},
            "limit": {"type": "integer", "default": 10, "description": "How many results."},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    assert search.returns == {"type": "array", "items": {"type": "string"}}
    assert search.source == f"{__name__}:test_a_bare_decorator_reads_name_text_and_parameters.<locals>.search"


def test_options_are_fields_of_the_tool() -> None:
    @tool(name="mail.send", category="mail", permission=Permission.HIGH_RISK_WRITE, description="Send.", tags=("post",))
    def send(to: str) -> None:
        """Ignored."""

    assert (send.name, send.category, send.permission, send.description, send.tags) == (
        "mail.send",
        "mail",
        Permission.HIGH_RISK_WRITE,
        "Send.",
        ("post",),
    )
    assert send.returns == {"type": "null"}


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(pydantic.ValidationError, match="catgory"):
        tool(catgory="x")(lambda_free)


def lambda_free(x: int) -> int:
    return x


def test_the_function_still_works_as_a_function() -> None:
    @tool
    def add(a: int, b: int = 1) -> int:
        return a + b

    assert (add(1), add(1, 2), add(a=5), add(1, b=4)) == (2, 3, 6, 5)
    with pytest.raises(TypeError, match="too many positional"):
        add(1, 2, 3)
    with pytest.raises(TypeError, match="multiple values"):
        add(1, a=2)


def test_a_tool_without_a_handler_says_how_to_give_it_one() -> None:
    with pytest.raises(CatalogError, match=r"'x' is only described.*with_handler"):
        Tool(name="x")()


def test_json_arguments_become_what_the_annotations_want() -> None:
    got: dict[str, Any] = {}

    @tool
    def everything(
        day: dt.date,
        at: dt.datetime,
        clock: dt.time,
        key: uuid.UUID,
        price: Decimal,
        unit: Unit,
        mode: Literal["fast", "slow"],
        place: Place,
        point: Point,
        window: Window,
        pair: tuple[int, str],
        names: set[str],
        scores: dict[str, float],
        either: int | str,
        maybe: Optional[int],  # noqa: UP045 - the older spelling is what is tested
        anything,
        root: Node,
    ) -> None:
        got.update(locals())

    arguments = {
        "day": "2025-03-31",
        "at": "2025-03-31T10:00:00Z",
        "clock": "10:30:00",
        "key": "2f1d0d3c-7d8f-4c3e-9a51-0f5c8a1f2b3c",
        "price": "1.10",
        "unit": "C",
        "mode": "fast",
        "place": {"city": "Oslo"},
        "point": {"x": 1},
        "window": {"start": "2025-01-01", "end": "2025-01-02"},
        "pair": [1, "a"],
        "names": ["a", "b"],
        "scores": {"a": 1},
        "either": "x",
        "maybe": None,
        "anything": [1, {"k": None}],
        "root": {"value": 1, "children": [{"value": 2}]},
    }
    everything.handler(**validate_arguments(everything, arguments))  # type: ignore[misc]
    got.pop("got", None)
    assert got == {
        "day": dt.date(2025, 3, 31),
        "at": dt.datetime(2025, 3, 31, 10, tzinfo=dt.UTC),
        "clock": dt.time(10, 30),
        "key": uuid.UUID("2f1d0d3c-7d8f-4c3e-9a51-0f5c8a1f2b3c"),
        "price": Decimal("1.10"),
        "unit": Unit.CELSIUS,
        "mode": "fast",
        "place": Place(city="Oslo"),
        "point": Point(1.0),
        "window": {"start": dt.date(2025, 1, 1), "end": dt.date(2025, 1, 2)},
        "pair": (1, "a"),
        "names": {"a", "b"},
        "scores": {"a": 1.0},
        "either": "x",
        "maybe": None,
        "anything": [1, {"k": None}],
        "root": Node(value=1, children=[Node(value=2)]),
    }
    shown = properties(everything)
    assert shown["day"] == {"type": "string", "format": "date"}
    assert shown["unit"] == {"enum": ["C", "F"], "type": "string"}
    assert shown["place"]["properties"]["city"] == {"type": "string"}
    assert shown["root"] == {"$ref": "#/$defs/Node"}
    assert shown["anything"] == {}


def test_real_objects_pass_through_untouched() -> None:
    @tool
    def where(place: Place, unit: Unit, day: dt.date) -> tuple[Place, Unit, dt.date]:
        return place, unit, day

    place = Place(city="Rome")
    got = where(place, unit=Unit.FAHRENHEIT, day=dt.date(2025, 1, 1))
    assert got == (place, Unit.FAHRENHEIT, dt.date(2025, 1, 1))
    assert got[0] is place


def test_what_the_annotation_refuses_is_a_validation_error_naming_the_argument() -> None:
    @tool
    def on(day: dt.date, place: Place) -> None: ...

    with pytest.raises(ToolError, match=r"'on'.*day") as caught:
        on(day="someday", place={"city": 5})
    assert caught.value.error_type == "validation_error"
    assert set(caught.value.info.fields) == {"day", "place.city"}
    with pytest.raises(ToolError, match="extra"):
        on(day="2025-01-01", place={"city": "x"}, extra=1)


def test_an_argument_left_out_keeps_the_functions_own_default() -> None:
    unset = object()

    @tool
    def edit(name: str, note: Any = unset, at: dt.date = dt.date(2025, 1, 1), big: float = float("inf")) -> bool:
        return note is unset

    assert edit("a") is True
    assert edit("a", note=None) is False
    assert "default" not in properties(edit)["note"]
    assert "default" not in properties(edit)["big"]
    assert properties(edit)["at"]["default"] == "2025-01-01"


def test_none_as_a_default_allows_null() -> None:
    @tool
    def find(
        query: str = None,  # type: ignore[assignment]  # noqa: RUF013 - often written, and the None is meant
        limit: Annotated[int, Field(ge=1, description="At most")] = None,  # type: ignore[assignment]  # noqa: RUF013
    ) -> None: ...

    assert validate_arguments(find, {"query": None, "limit": None}) == {"query": None, "limit": None}
    assert properties(find)["limit"]["description"] == "At most"
    with pytest.raises(ToolError):
        validate_arguments(find, {"limit": 0})


def test_field_annotations_win_over_the_docstring() -> None:
    @tool
    def page(
        size: Annotated[int, Field(ge=1, le=100, description="From the annotation")] = 10,
        number: int = Field(3, ge=1),
    ) -> int:
        """Page.

        Args:
            size: From the docstring.
            number: Which page.
        """
        return size * number

    assert properties(page)["size"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 100,
        "default": 10,
        "description": "From the annotation",
    }
    assert properties(page)["number"]["description"] == "Which page."
    assert page() == 30


def test_names_that_pydantic_keeps_for_itself_are_fine_as_parameters() -> None:
    @tool
    def odd(schema: str, model_config: str, _private: str, json: str, 名: int) -> list[Any]:
        return [schema, model_config, _private, json, 名]

    assert list(properties(odd)) == ["schema", "model_config", "_private", "json", "名"]
    assert odd(schema="a", model_config="b", _private="c", json="d", 名=1) == ["a", "b", "c", "d", 1]


@pytest.mark.anyio
async def test_async_functions_stay_async(anyio_backend: str) -> None:
    @tool
    async def fetch(day: dt.date) -> int:
        return day.year

    assert inspect.iscoroutinefunction(fetch.handler)
    assert await fetch(day="2025-01-01") == 2025


@pytest.mark.anyio
async def test_async_partials_and_callable_objects_stay_async(anyio_backend: str) -> None:
    class Client:
        async def __call__(self, day: dt.date) -> int:
            return day.year

    async def fetch(base: str, day: dt.date) -> str:
        return f"{base}/{day.year}"

    assert await tool(name="client")(Client())(day="2025-01-01") == 2025
    assert await tool(functools.partial(fetch, base="x"))(day="2025-01-01") == "x/2025"


def test_bound_methods_and_partials_hide_what_is_bound() -> None:
    class Shop:
        def price(self, item: str, vat: bool = False) -> str:
            """The price.

            Args:
                item: What is bought.
            """
            return f"{item}{vat}"

    made = tool(Shop().price)
    assert list(properties(made)) == ["item", "vat"]
    assert properties(made)["item"]["description"] == "What is bought."
    assert made("tea") == "teaFalse"

    partial = tool(functools.partial(Shop().price, vat=True))
    assert (partial.name, list(properties(partial)), partial(item="tea")) == ("price", ["item"], "teaTrue")


def test_the_raw_function_and_its_signature_are_kept() -> None:
    def raw(a: int, b: str = "x") -> None: ...

    made = tool(raw)
    assert made.handler is not None
    assert inspect.unwrap(made.handler) is raw
    assert list(inspect.signature(made.handler).parameters) == ["a", "b"]


def test_annotations_may_name_local_classes_and_things_defined_later() -> None:
    class Local(BaseModel):
        x: int

    @tool
    def use(local: Local, later: Later) -> int:
        return local.x + later.y

    assert use.handler(local={"x": 1}, later={"y": 2}) == 3  # type: ignore[misc]


class Later(BaseModel):
    y: int


class Session:
    pass


def _star(*parts: str) -> None: ...
def _stars(**options: str) -> None: ...
def _positional(x: int, /) -> None: ...
def _context(query: str, ctx: Session) -> None: ...
def _typechecking(x: Unknown) -> None: ...
def _callback(done: Iterator[Session]) -> None: ...
def _yields(x: int) -> Iterator[int]:
    yield x


class _Holder:
    def method(self, x: int) -> int:
        return x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_star, r"_star: \*parts takes any arguments"),
        (_stars, r"_stars: \*\*options takes any arguments"),
        (_positional, "_positional: the parameter 'x' is positional-only"),
        (_context, "_context: the parameter 'ctx' is annotated Session, which has no JSON form"),
        (_callback, "_callback: the parameter 'done' is annotated"),
        (_typechecking, "_typechecking: an annotation names 'Unknown'"),
        (_yields, "_yields: it yields its results"),
        (_Holder.method, r"method: a method needs its object; .*tool\(obj.method\)"),
        (lambda x: x, r"has no name of its own; give one: tool\(name="),
        (_Holder, "is not a function"),
        (5, "is not a function"),
    ],
)
def test_a_function_that_cannot_be_described_says_why(function: Any, message: str) -> None:
    with pytest.raises(SignatureError, match=message):
        tool(function)


def test_a_lambda_with_a_name_is_a_tool() -> None:
    assert tool(name="double")(lambda x: x * 2)(x=4) == 8


@pytest.mark.parametrize("field", ["parameters", "handler"])
def test_what_the_function_says_cannot_be_overruled(field: str) -> None:
    with pytest.raises(SignatureError, match=f"'{field}' comes from the function"):
        tool(**{field: {}})(lambda_free)


def test_a_return_type_without_json_form_leaves_returns_open() -> None:
    @tool
    def connect(host: str) -> Session:
        return Session()

    assert connect.returns is None


@pytest.mark.parametrize(
    "fields", [{"metadata": {"x": float("nan")}}, {"metadata": {"x": {1: 2}}}, {"timeout": float("inf")}]
)
def test_a_tool_holds_json_only(fields: dict[str, Any]) -> None:
    with pytest.raises(pydantic.ValidationError):
        Tool(name="x", **fields)


def test_a_tool_with_a_module_level_function_can_be_copied_and_described_again() -> None:
    made = tool(lambda_free)
    again = Tool.model_validate(made.model_dump(mode="json"))
    assert again.handler is None
    assert again.model_dump() == made.model_dump()
    assert pickle.loads(pickle.dumps(again)) == again
