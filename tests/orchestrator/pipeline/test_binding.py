"""Where parameters get their values from."""

from __future__ import annotations

import functools
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from toolpath.catalog.errors import BindingError, UnknownStepError
from toolpath.orchestrator import Degraded, PipelineBuilder, constant, ref, run_input

from tests.orchestrator.building import FAILED, catalog_of, make_tool, outcomes, returning, single

pytestmark = pytest.mark.anyio


async def numbers() -> list[int]:
    return [10, 20, 30]


async def given(**arguments: Any) -> dict[str, Any]:
    return arguments


async def test_a_parameter_named_after_a_dependency_gets_its_output() -> None:
    async def total(numbers: list[int]) -> int:
        return sum(numbers)

    report = await PipelineBuilder().then(numbers).then(total).build().run()
    assert report.value("total") == 60


async def test_dots_and_dashes_of_a_step_name_become_underscores() -> None:
    async def join(alerts_get_alert: str, log_search: str) -> str:
        return alerts_get_alert + log_search

    builder = PipelineBuilder().independent(returning("a"), name="alerts.get-alert")
    builder.independent(returning("b"), name="log search").then(join, deps=["alerts.get-alert", "log search"])
    assert (await builder.build().run()).value("join") == "ab"


def test_a_parameter_that_two_dependencies_could_fill_is_refused() -> None:
    async def use(a_b: str) -> str:
        return a_b

    builder = PipelineBuilder().independent(returning(1), name="a.b").independent(returning(2), name="a-b")
    with pytest.raises(BindingError, match=r"'a-b' and 'a\.b'.*bind"):
        builder.then(use, deps=["a.b", "a-b"]).build()


def test_an_inferred_dependency_that_two_steps_could_be_is_refused_too() -> None:
    async def use(a_b: str) -> str:
        return a_b

    builder = PipelineBuilder().independent(returning(1), name="a.b").independent(returning(2), name="a-b")
    with pytest.raises(BindingError, match=r"'a-b' and 'a\.b'.*bind"):
        builder.then(use).build()


async def test_without_deps_a_step_waits_for_those_its_parameters_name() -> None:
    async def use(later: str) -> str:
        return later

    pipeline = PipelineBuilder().independent(use).independent(returning("x"), name="later")
    with pytest.raises(BindingError, match="not among"):
        pipeline.build()
    built = PipelineBuilder().then(use).independent(returning("x"), name="later").build()
    assert built.edges == (("later", "use"),)
    assert (await built.run()).value("use") == "x"


async def test_a_reference_follows_fields_keys_and_positions() -> None:
    @dataclass
    class Page:
        items: list[dict[str, Any]]

    async def search() -> Page:
        return Page([{"price": 5}, {"price": 7, "tags": {"a.b": "deep"}}])

    async def use(first: int, last: Any, deep: str) -> tuple[Any, ...]:
        return first, last, deep

    page = ref(search)
    bind = {
        "first": page.field("items")[0].field("price"),
        "last": page.field("items")[-1]["price"],
        "deep": page["items"][1]["tags"]["a.b"],
    }
    assert (await PipelineBuilder().then(search).then(use, bind=bind).build().run()).value("use") == (5, 7, "deep")


async def test_references_may_sit_inside_lists_tuples_and_dicts() -> None:
    bind = {
        "mixed": [ref("numbers")[0], {"input": run_input("city"), 3: constant("plain")}, "x"],
        "pair": (ref("numbers")[1], ref("numbers")[2]),
    }
    pipeline = PipelineBuilder().then(numbers).then(given, bind=bind).build()
    report = await pipeline.run({"city": "Oslo"})
    assert report.value("given")["mixed"] == [10, {"input": "Oslo", 3: "plain"}, "x"]
    assert report.value("given")["pair"] == (20, 30)


async def test_a_reference_makes_its_step_a_dependency() -> None:
    pipeline = PipelineBuilder().then(given, bind={"x": ref("numbers")}).independent(numbers).build()
    assert pipeline.edges == (("numbers", "given"),)
    assert (await pipeline.run()).value("given") == {"x": [10, 20, 30]}


async def test_a_path_that_leads_nowhere_fails_the_step_and_says_how_far_it_led() -> None:
    async def record() -> dict[str, Any]:
        return {"items": [{"price": 1}]}

    async def use(x: Any) -> Any:
        return x

    bind = {"x": ref(record).field("items")[0].field("cost")}
    report = await PipelineBuilder().then(record).then(use, bind=bind).build().run()
    step = report["use"]
    assert step.outcome is FAILED
    assert step.error is not None
    assert step.error.error_type == "not_found"
    assert step.error.message == "record.items[0] has no field 'cost': it has the keys price"


async def test_a_position_out_of_range_and_one_in_a_text_are_not_found() -> None:
    async def record() -> dict[str, Any]:
        return {"items": [], "name": "x"}

    async def use(x: Any) -> Any:
        return x

    for path in (ref(record).field("items")[0], ref(record).field("name")[0], ref(record).field("name").field("_a")):
        report = await PipelineBuilder().then(record).then(use, bind={"x": path}).build().run()
        assert report["use"].error is not None
        assert report["use"].error.error_type == "not_found"


def test_a_reference_cannot_be_iterated_over() -> None:
    with pytest.raises(TypeError, match=r"numbers\[0\] stands for a value that does not exist yet"):
        list(ref("numbers")[0])


async def test_an_input_under_another_name() -> None:
    async def search(query: str) -> str:
        return query

    pipeline = PipelineBuilder().then(search, bind={"query": run_input("question")}).build()
    assert list(map(str, pipeline.inputs.values())) == ["question: str"]
    assert (await pipeline.run({"question": "why"})).value("search") == "why"


async def test_a_part_of_an_input() -> None:
    pipeline = PipelineBuilder().then(given, bind={"x": run_input("trip").field("days")[0]}).build()
    assert (await pipeline.run({"trip": {"days": [3]}})).value("given") == {"x": 3}


async def test_a_function_with_kwargs_gets_other_bindings_and_dependencies() -> None:
    async def use(numbers: list[int], **rest: Any) -> dict[str, Any]:
        return rest

    builder = PipelineBuilder().independent(numbers).independent(returning("v"), name="other.step")
    builder.then(use, deps=[numbers, "other.step"], bind={"extra": 1})
    assert (await builder.build().run()).value("use") == {"extra": 1, "other_step": "v"}


async def test_an_input_of_the_same_name_does_not_hide_a_dependency_from_kwargs() -> None:
    builder = PipelineBuilder().independent(numbers).then(given, deps=[numbers], bind={"x": run_input("numbers")})
    assert (await builder.build().run({"numbers": 1})).value("given") == {"x": 1, "numbers": [10, 20, 30]}


async def test_positional_only_parameters_are_bound_by_name() -> None:
    async def use(numbers: list[int], factor: int, /, *, plus: int) -> int:
        return sum(numbers) * factor + plus

    pipeline = PipelineBuilder().then(numbers).then(use, bind={"factor": 2}).build()
    assert (await pipeline.run({"plus": 1})).value("use") == 121


async def test_a_positional_only_default_is_not_filled_with_the_next_value() -> None:
    async def use(first: int = 1, second: int = 2, third: int = 3, /) -> tuple[int, ...]:
        return first, second, third

    pipeline = single(use)
    assert (await pipeline.run({"second": 20})).value("step") == (1, 20, 3)
    assert (await pipeline.run({"third": 30})).value("step") == (1, 2, 30)
    assert (await pipeline.run()).value("step") == (1, 2, 3)


async def test_defaults_serve_when_an_input_is_not_given() -> None:
    async def search(query: str, limit: int = 5, *, deep: bool = False) -> tuple[Any, ...]:
        return query, limit, deep

    pipeline = single(search)
    assert list(map(str, pipeline.inputs.values())) == ["query: str", "limit: int (optional)", "deep: bool (optional)"]
    assert (await pipeline.run({"query": "x"})).value("step") == ("x", 5, False)
    assert (await pipeline.run({"query": "x", "limit": 9, "deep": True})).value("step") == ("x", 9, True)


async def test_constants_are_values_and_never_called() -> None:
    bind = {"a": 1, "b": constant(numbers), "c": [constant(2)], "d": {"e": constant(None)}, "f": numbers}
    report = await PipelineBuilder().then(given, bind=bind).build().run()
    assert report.value("given") == {"a": 1, "b": numbers, "c": [2], "d": {"e": None}, "f": numbers}


async def test_a_constant_may_be_a_step() -> None:
    pipeline = (
        PipelineBuilder().then(constant({"a": 1}), name="config").then(given, bind={"a": ref("config").field("a")})
    )
    assert (await pipeline.build().run()).value("given") == {"a": 1}


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("text", 5), ("number", "five"), ("choice", "c"), ("many", ["a", 1]), ("whole", True)],
)
def test_a_constant_that_does_not_fit_is_refused_when_building(parameter: str, value: Any) -> None:
    def function(
        text: str = "",
        number: float = 0,
        choice: Literal["a", "b"] = "a",
        many: list[str] | None = None,
        whole: int = 0,
    ) -> None: ...

    properties = {
        "text": {"type": "string"},
        "number": {"type": "number"},
        "choice": {"enum": ["a", "b"]},
        "many": {"type": "array", "items": {"type": "string"}},
        "whole": {"type": "integer"},
    }
    for step in (function, make_tool("function", function, properties)):
        with pytest.raises(BindingError, match=f"'step'.*'{parameter}'"):
            single(step, bind={parameter: value})


def test_a_constant_for_a_recursive_tool_parameter_is_checked_against_the_whole_schema() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "additionalProperties": False}
    tool = make_tool("walk", given, {}).model_copy()
    tool = type(tool)(
        name="walk",
        parameters={"type": "object", "properties": {"start": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}},
    )
    single(tool, bind={"start": {"next": {"next": {}}}})
    with pytest.raises(BindingError, match="'start'"):
        single(tool, bind={"start": {"next": {"nxt": {}}}})


async def test_partial_functions_methods_and_callable_objects_are_steps() -> None:
    class Client:
        def fetch(self, url: str) -> str:
            return f"got {url}"

        async def __call__(self, fetch: str) -> str:
            return fetch.upper()

    client = Client()
    builder = PipelineBuilder().then(client.fetch).then(client, name="shout", deps=[client.fetch])
    builder.then(functools.partial(given, fixed=1), name="partial", deps=[client])
    report = await builder.build().run({"url": "x"})
    assert report.value("shout") == "GOT X"
    assert report.value("partial") == {"fixed": 1, "shout": "GOT X"}


async def test_a_renamed_method_is_found_as_a_dependency() -> None:
    class Client:
        async def fetch(self) -> str:
            return "x"

    client = Client()
    pipeline = PipelineBuilder().independent(client.fetch, name="load").then(given, deps=[client.fetch]).build()
    assert (await pipeline.run()).value("given") == {"load": "x"}


async def test_a_sync_function_that_returns_an_awaitable_is_awaited() -> None:
    def start(n: int) -> Awaitable[int]:
        return returning(n + 1)()

    async def use(start: int) -> int:
        return start * 2

    assert (await PipelineBuilder().then(start).then(use).build().run({"n": 4})).value("use") == 10


async def test_a_degraded_return_type_says_nothing_against_a_binding() -> None:
    async def cached() -> Degraded:
        return Degraded({"items": [1, 2]}, "from the cache")

    async def use(cached: dict[str, Any], first: int) -> Any:
        return cached, first

    pipeline = PipelineBuilder().then(cached).then(use, bind={"first": ref(cached).field("items")[0]}).build()
    assert (await pipeline.run()).value("use") == ({"items": [1, 2]}, 1)


def test_a_star_parameter_is_refused() -> None:
    def spread(*values: int) -> None: ...

    with pytest.raises(BindingError, match=r"spread takes \*values"):
        PipelineBuilder().then(spread).build()


def test_generators_are_refused() -> None:
    def lines() -> Any:
        yield 1

    async def stream() -> Any:
        yield 1

    for step in (lines, stream):
        with pytest.raises(BindingError, match="is a generator: a step returns one value"):
            PipelineBuilder().then(step).build()


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(BindingError, match="neither a function, a tool"):
        PipelineBuilder().then(5, name="five").build()  # type: ignore[arg-type]


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(BindingError, match="give the step one with name="):
        PipelineBuilder().then(lambda: 1)


def test_an_unknown_parameter_in_bind_is_refused_with_a_hint() -> None:
    async def search(query: str) -> str:
        return query

    with pytest.raises(BindingError, match=r"step 'step': search has no parameter 'qery' \(did you mean 'query'\?\)"):
        single(search, bind={"qery": "x"})


def test_an_unknown_tool_is_refused_with_a_hint() -> None:
    catalog = catalog_of(make_tool("logs.search", None))
    with pytest.raises(BindingError, match=r"step 'logs.serch': no tool is called.*'logs\.search'"):
        PipelineBuilder(catalog=catalog).then("logs.serch").build()


def test_references_to_unknown_steps_are_refused_with_a_hint() -> None:
    with pytest.raises(UnknownStepError, match=r"'number'.*did you mean 'numbers'"):
        PipelineBuilder().then(numbers).then(given, bind={"x": ref("number")}).build()


async def test_the_same_function_may_run_under_two_names() -> None:
    builder = (
        PipelineBuilder().independent(given, name="one", bind={"x": 1}).independent(given, name="two", bind={"x": 2})
    )
    assert (await builder.build().run()).outputs == {"one": {"x": 1}, "two": {"x": 2}}
    with pytest.raises(BindingError, match="'one', 'two' all run it"):
        builder.then(numbers, deps=[given])


async def test_a_tool_is_called_with_json_data() -> None:
    @dataclass
    class Window:
        start: int
        tags: tuple[str, ...]

    async def window() -> Window:
        return Window(1, ("a", "b"))

    tool = make_tool("use", given, {"window": {"type": "object"}}, required=["window"])
    report = await PipelineBuilder().then(window).then(tool).build().run()
    assert report.value("use") == {"window": {"start": 1, "tags": ["a", "b"]}}


async def test_an_argument_without_a_json_form_fails_the_tool_and_says_where() -> None:
    async def window() -> Any:
        return {"handles": [1, object()]}

    tool = make_tool("use", given, {"window": {"type": "object"}}, required=["window"])
    report = await PipelineBuilder().then(window).then(tool).build().run()
    error = report["use"].error
    assert error is not None
    assert error.message == "the argument 'window' of use cannot be turned into JSON: $.handles[1] is of type object"
    assert report["use"].attempts == 1


async def test_hostile_parameter_and_step_names_still_bind() -> None:
    async def use(self: int, values: int, inputs: int, level: int, function: int, cls: int) -> int:
        return self + values + inputs + level + function + cls

    names = ["self", "values", "inputs", "level", "function", "cls"]
    for step in (
        use,
        lambda self, values, inputs, level, function, cls: self + values + inputs + level + function + cls,
    ):
        builder = PipelineBuilder()
        for name in names:
            builder.independent(returning(1), name=name)
        report = await builder.then(step, name="use", deps=names).build().run()
        assert outcomes(report)["use"] == "succeeded"
        assert report.value("use") == 6
