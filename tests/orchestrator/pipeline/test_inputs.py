"""Run inputs: what a pipeline asks for, and what a run refuses before anything starts."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import pathlib
import uuid
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from typing import TypedDict as TypingTypedDict

import pydantic
import pytest
from pydantic import Field
from toolpath.catalog import Tool
from toolpath.catalog.arguments import validation
from toolpath.catalog.errors import BindingError, InputError
from toolpath.orchestrator import PipelineBuilder, run_input
from toolpath.orchestrator.pipeline.inputs import input_from_text
from toolpath.orchestrator.pipeline.steps import Input
from typing_extensions import TypedDict

from tests.orchestrator.building import make_tool, returning, single

pytestmark = pytest.mark.anyio


class Colour(enum.Enum):
    RED = "red"


class Model(pydantic.BaseModel):
    x: int


class Record(TypedDict):
    x: int


class Opaque:
    pass


class PlainRecord(TypingTypedDict):
    x: int


@dataclass
class Wrapping:
    inner: Opaque


def faults_of(annotation: Any, value: Any) -> dict[str, str]:
    """What `run` says when `value` is given where `annotation` is asked for; nothing may have started."""
    started: list[int] = []

    def step(x: Any) -> None:
        started.append(1)

    step.__annotations__["x"] = annotation
    try:
        single(step).prepare({"x": value})
    except InputError as error:
        return error.fields
    assert not started
    return {}


FITTING: list[tuple[Any, Any]] = [
    (str, "a"),
    (int, 5),
    (float, 5),
    (float, 5.5),
    (bool, True),
    (list[int], [1, 2]),
    (list[int], []),
    (dict[str, float], {"a": 1}),
    (str | None, None),
    (Literal["a", "b"], "a"),
    (Annotated[int, Field(ge=1)], 1),
    (Colour, Colour.RED),
    (Model, Model(x=1)),
    (Record, {"x": 1}),
    (PlainRecord, {"x": 1}),
    (Wrapping, Wrapping(Opaque())),
    (Opaque, Opaque()),
    (dt.date, dt.date(2026, 1, 1)),
    (Any, object()),
    (object, 1),
    (tuple[int, str], (1, "a")),
    (type[int], bool),
    ("NotDefinedAnywhere", 1),
    (list["NotDefinedAnywhere"], [1]),  # type: ignore[name-defined] # noqa: F821
    (Literal[b"x"], b"x"),
]
UNFITTING: list[tuple[Any, Any]] = [
    (str, 5),
    (int, "5"),
    (int, 5.0),
    (int, True),
    (float, "1"),
    (bool, 1),
    (list[int], [1, "2"]),
    (list[int], (1,)),
    (list[int], None),
    (dict[str, float], {"a": "x"}),
    (str | None, 5),
    (Literal["a", "b"], "c"),
    (Annotated[int, Field(ge=1)], 0),
    (Colour, "red"),
    (Model, {"x": 1}),
    (Record, {"x": "1"}),
    (Record, {}),
    (PlainRecord, [1]),
    (Wrapping, Opaque()),
    (Opaque, 1),
    (dt.date, "2026-01-01"),
]


@pytest.mark.parametrize(("annotation", "value"), FITTING, ids=repr)
def test_a_value_of_the_type_is_accepted(annotation: Any, value: Any) -> None:
    assert faults_of(annotation, value) == {}


@pytest.mark.parametrize(("annotation", "value"), UNFITTING, ids=repr)
def test_a_value_of_another_type_is_refused(annotation: Any, value: Any) -> None:
    assert list(faults_of(annotation, value)) == ["x"]


def test_a_dataclass_that_pydantic_cannot_look_into_is_accepted_as_it_is() -> None:
    assert faults_of(Wrapping, Wrapping(Opaque())) == {}


async def test_nothing_starts_when_an_input_is_wrong() -> None:
    started: list[int] = []

    async def step(query: str, limit: int = 5) -> None:
        started.append(1)

    pipeline = single(step)
    for inputs in ({}, {"query": 1}, {"query": "x", "limit": "5"}, {"query": "x", "limt": 5}, None):
        with pytest.raises(InputError):
            await pipeline.run(inputs)
    assert started == []


def test_every_fault_is_named_at_once() -> None:
    async def search(query: str, limit: int = 5, deep: bool = False) -> None: ...

    pipeline = single(search)
    with pytest.raises(InputError) as caught:
        pipeline.run_sync({"limit": "many", "deap": True})
    assert caught.value.fields == {
        "query": "is missing; str expected (used by step)",
        "limit": "int expected, got 'many' (str)",
        "deap": "no step takes it (did you mean 'deep'?)",
    }
    assert str(caught.value).startswith("input 'query': is missing; str expected")


def test_the_place_of_a_fault_inside_an_input_is_named() -> None:
    assert faults_of(list[dict[str, int]], [{"a": 1}, {"b": "x"}]) == {
        "x": "list[dict[str, int]] expected, got [{'a': 1}, {'b': 'x'}] (list): [1]['b']"
    }


def test_a_long_value_is_shortened_in_the_message() -> None:
    assert len(faults_of(int, "x" * 10_000)["x"]) < 120


async def test_an_unused_input_is_reported_and_not_refused() -> None:
    report = await single(returning(1)).run({"colour": "red"})
    assert report.ok
    assert report.unused_inputs == ("colour",)
    assert "inputs that no step takes: colour" in str(report)
    assert report.to_dict()["unused_inputs"] == ["colour"]


def test_an_input_name_that_is_no_text_is_refused() -> None:
    async def step(query: str = "") -> None: ...

    with pytest.raises(InputError, match="names are text"):
        single(step).prepare({5: "x"})  # type: ignore[dict-item]


def test_a_tools_parameters_are_inputs_with_their_schema() -> None:
    tool = make_tool(
        "search",
        None,
        {"query": {"type": "string", "minLength": 1}, "limit": {"type": "integer", "minimum": 1}},
        required=["query"],
    )
    pipeline = PipelineBuilder().then(tool).build()
    assert list(map(str, pipeline.inputs.values())) == ["query: str", "limit: int (optional)"]
    pipeline.prepare({"query": "x", "limit": 1})
    with pytest.raises(InputError) as caught:
        pipeline.prepare({"query": "", "limit": 0})
    assert set(caught.value.fields) == {"query", "limit"}


def test_a_recursive_schema_is_checked_with_its_definitions() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "additionalProperties": False}
    parameters = {"type": "object", "properties": {"start": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    pipeline = PipelineBuilder().then(Tool(name="walk", parameters=parameters)).build()
    pipeline.prepare({"start": {"next": {"next": {}}}})
    with pytest.raises(InputError):
        pipeline.prepare({"start": {"next": {"nxt": {}}}})


def test_one_input_may_serve_several_steps_when_a_value_can_have_all_their_types() -> None:
    async def one(limit: int) -> None: ...

    async def two(limit: int | None = None) -> None: ...

    pipeline = PipelineBuilder().parallel([one, two]).build()
    assert pipeline.inputs["limit"].required
    assert pipeline.inputs["limit"].used_by == ("one", "two")
    with pytest.raises(InputError, match="int expected, got None"):
        pipeline.prepare({"limit": None})


def test_an_input_whose_types_exclude_each_other_is_refused_when_building() -> None:
    async def one(limit: int) -> None: ...

    async def two(limit: str) -> None: ...

    with pytest.raises(BindingError, match=r"input 'limit': step 'two' wants str, one wants int; bind one of them"):
        PipelineBuilder().parallel([one, two]).build()


def test_a_clash_with_the_declaration_blames_the_declaration() -> None:
    async def one(limit: Any) -> None: ...

    async def two(limit: str) -> None: ...

    with pytest.raises(BindingError, match="step 'two' wants str, the declaration wants int"):
        PipelineBuilder().inputs(limit=int).parallel([one, two]).build()


def test_a_declared_input_is_checked_with_its_type_even_where_steps_name_none() -> None:
    async def step(limit) -> None: ...  # type: ignore[no-untyped-def]

    pipeline = PipelineBuilder().inputs("query", limit=int).then(step).build()
    assert list(map(str, pipeline.inputs.values())) == ["query: Any (optional)", "limit: int"]
    with pytest.raises(InputError, match="int expected"):
        pipeline.prepare({"limit": "5"})


def test_what_was_not_declared_is_refused_when_building() -> None:
    async def search(query: str, limit: int = 5) -> None: ...

    with pytest.raises(
        BindingError,
        match=r"nobody provides parameter 'query'.*declared: qery, x\) \(did you mean 'qery'\?\)",
    ):
        PipelineBuilder().inputs("qery", "x").then(search).build()
    with pytest.raises(BindingError, match="no declared input 'question'"):
        PipelineBuilder().inputs("query").then(search, bind={"query": run_input("question")}).build()


async def test_an_undeclared_optional_parameter_keeps_its_default() -> None:
    async def search(query: str, limit: int = 5) -> int:
        return limit

    pipeline = PipelineBuilder().inputs("query").then(search).build()
    assert set(pipeline.inputs) == {"query"}
    assert (await pipeline.run({"query": "x"})).value("search") == 5
    with pytest.raises(InputError, match="no step takes it"):
        await pipeline.run({"query": "x", "limit": 3})


def test_declaring_no_inputs_allows_none() -> None:
    async def search(query: str) -> None: ...

    with pytest.raises(BindingError, match="declared: none"):
        PipelineBuilder().inputs().then(search).build()


def test_an_input_and_a_step_of_one_name_are_refused() -> None:
    with pytest.raises(BindingError, match="'search' names both a step and a declared input"):
        PipelineBuilder().inputs("search").then(returning(1), name="search").build()


def test_checking_inputs_again_does_not_compile_their_schema_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = make_tool("search", None, {"query": {"type": "string"}}, required=["query"])
    pipeline = PipelineBuilder().then(tool).build()
    compiled: list[Any] = []
    compile_schema = validation.compile_schema
    monkeypatch.setattr(validation, "compile_schema", lambda schema: compiled.append(1) or compile_schema(schema))
    for _ in range(20):
        pipeline.prepare({"query": "x"})
    assert len(compiled) <= 1


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (str, "7", "7"),
        (int, "7", 7),
        (bool, "true", True),
        (list[int], "[1, 2]", [1, 2]),
        (dt.date, "2025-03-31", dt.date(2025, 3, 31)),
        (pathlib.Path, "a/b", pathlib.Path("a/b")),
        (uuid.UUID, "00000000-0000-0000-0000-00000000000a", uuid.UUID(int=10)),
        (decimal.Decimal, "1.50", decimal.Decimal("1.50")),
        (dt.date, "yesterday", "yesterday"),
        (Any, "x", "x"),
    ],
)
def test_text_from_a_command_line_is_read_by_the_type_of_the_input(kind: Any, text: str, value: Any) -> None:
    read = input_from_text(Input("x", (kind,), True, ()), text)
    assert (read, type(read)) == (value, type(value))
