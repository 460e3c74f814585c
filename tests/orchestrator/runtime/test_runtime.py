"""One tool call: what comes back, whatever the tool does."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import json
import math
from typing import Any

import anyio
import pydantic
import pytest
from toolpath.catalog import Catalog, Degraded, Tool, ToolCall, ToolError, ToolResult
from toolpath.orchestrator import CallContext, PipelineBuilder, Runtime

from tests.orchestrator.building import Counted, catalog_of, make_tool, raising, returning
from tests.support.virtual_time import Gate, run_virtually

pytestmark = pytest.mark.anyio

TEXT = {"type": "string"}


async def call(tool: Tool, arguments: dict[str, Any] | None = None, **context: Any) -> ToolResult:
    """The result of one call; what a model is shown of it must be strict JSON."""
    runtime = Runtime(catalog_of(tool))
    result = await runtime.call(ToolCall(tool=tool.name, arguments=arguments or {}), CallContext(**context))
    json.dumps(result.to_model(), allow_nan=False)
    return result


def error_of(result: ToolResult) -> Any:
    assert not result.ok
    assert result.error is not None
    return result.error


async def test_a_call_returns_what_the_handler_returned() -> None:
    async def greet(name: str, polite: bool = False) -> dict[str, Any]:
        return {"greeting": f"Good day, {name}" if polite else f"Hi, {name}"}

    tool = make_tool("greet", greet, {"name": TEXT, "polite": {"type": "boolean"}}, required=["name"])
    result = await call(tool, {"name": "Ann", "polite": True})
    assert (result.ok, result.tool, result.data) == (True, "greet", {"greeting": "Good day, Ann"})
    assert result.call_id.startswith("call_")
    assert result.metadata["elapsed_ms"] >= 0


@pytest.mark.parametrize("kind", ["async", "sync", "async object", "sync returning an awaitable", "method"])
async def test_every_kind_of_handler_can_be_called(kind: str) -> None:
    class Client:
        async def __call__(self, x: int) -> int:
            return x + 1

        def method(self, x: int) -> int:
            return x + 1

    async def handler(x: int) -> int:
        return x + 1

    handlers: dict[str, Any] = {
        "async": handler,
        "sync": lambda x: x + 1,
        "async object": Client(),
        "sync returning an awaitable": lambda x: handler(x),
        "method": Client().method,
    }
    tool = make_tool("add", handlers[kind], {"x": {"type": "integer"}}, required=["x"])
    assert (await call(tool, {"x": 4})).data == 5


async def test_an_unknown_tool_is_named_with_its_nearest_neighbours() -> None:
    runtime = Runtime(catalog_of(make_tool("logs.search", returning(1))))
    error = error_of(await runtime.call(ToolCall(tool="logs.serch")))
    assert (error.error_type, error.retry) == ("unknown_tool", "corrected")
    assert "did you mean 'logs.search'?" in error.message
    assert error.suggestion


async def test_a_tool_without_a_handler_is_a_missing_dependency() -> None:
    error = error_of(await call(make_tool("pay", None, fallbacks=("invoice", "cash"))))
    assert (error.error_type, error.retry) == ("dependency_missing", "no")
    assert error.message == "pay is described in the catalog, but nothing here can run it"
    assert error.alternatives == ("invoice", "cash")


async def test_wrong_arguments_are_named_field_by_field_and_the_handler_never_runs() -> None:
    handler = Counted(returning(1))
    properties = {"query": TEXT, "limit": {"type": "integer", "minimum": 1}, "deep": {"type": "object"}}
    tool = make_tool("search", handler, properties, required=["query"])
    error = error_of(await call(tool, {"limit": 0, "deep": "x"}, step="logs"))
    assert (error.error_type, error.category, error.retry) == ("validation_error", "semantic", "corrected")
    assert set(error.fields) == {"query", "limit", "deep"}
    assert error.progress == {"step": "logs"}
    assert handler.calls == []


@pytest.mark.parametrize(
    "arguments",
    [{"x": {1, 2}}, {"x": math.nan}, {"x": object()}, {"x": [dt.date(2026, 1, 1)]}, {"x": {1: 2}}, {"x": "\ud800"}],
)
async def test_arguments_that_are_not_json_are_refused(arguments: dict[str, Any]) -> None:
    handler = Counted(returning(1))
    error = error_of(await call(make_tool("use", handler, {"x": {}}), arguments, caller="agent"))
    assert error.error_type == "validation_error"
    assert handler.calls == []


@pytest.mark.parametrize("sync", [False, True])
async def test_a_call_that_takes_too_long_is_a_timeout(sync: bool) -> None:
    gate = Gate()
    tool = make_tool("slow", gate.wait if sync else returning(1, after=100), timeout=5)
    started = anyio.current_time()
    error = error_of(await call(tool))
    gate.open()
    assert (error.error_type, error.retry) == ("timeout", "same")
    left = "; its thread is still running" if sync else ""
    assert error.message == f"slow did not answer within 5 s{left}"
    assert anyio.current_time() - started == pytest.approx(5)


async def test_a_thread_that_has_ended_is_not_said_to_run_still() -> None:
    tool = make_tool("slow", lambda: returning(1, after=100)(), timeout=5)
    assert error_of(await call(tool)).message == "slow did not answer within 5 s"


async def test_the_default_timeout_holds_for_tools_without_one() -> None:
    runtime = Runtime(catalog_of(make_tool("slow", returning(1, after=100))), default_timeout=3)
    assert error_of(await runtime.call(ToolCall(tool="slow"))).message == "slow did not answer within 3 s"
    with pytest.raises(ValueError, match="must be positive"):
        Runtime(Catalog(), default_timeout=0)
    with pytest.raises(ValueError, match="must be positive"):
        Runtime(Catalog(), default_timeout=math.nan)


async def test_a_tool_error_keeps_what_it_says() -> None:
    raised = ToolError(
        "no order has that number", "not_found", fields={"order_id": "unknown"}, suggestion="list the orders",
        alternatives=("list_orders",), retry_after=3.0,
    )  # fmt: skip
    error = error_of(await call(make_tool("order", raising(raised)), step="s", stack=("agent", "order")))
    assert error.model_dump(exclude={"progress"}) == raised.info.model_dump(exclude={"progress"})
    assert error.progress == {"step": "s", "stack": ["agent", "order"]}


async def test_any_exception_of_a_handler_becomes_data() -> None:
    class OddError(Exception):
        pass

    error = error_of(await call(make_tool("odd", raising(OddError("odd")))))
    assert (error.error_type, error.category, error.retry) == ("tool_error", "systemic", "no")
    assert error.message == "OddError: odd"
    assert "Traceback" not in json.dumps(error.model_dump(mode="json"))


async def test_a_handler_that_does_not_take_the_arguments_is_no_crash() -> None:
    tool = make_tool("mismatch", returning(1), {"x": TEXT})
    assert error_of(await call(tool, {"x": "y"})).message.startswith("TypeError:")


async def test_a_full_result_is_passed_on_under_this_calls_id() -> None:
    async def handler() -> ToolResult:
        return ToolResult(ok=True, tool="other", call_id="theirs", data={"when": dt.date(2026, 1, 2)}, summary="one")

    result = await call(make_tool("wrap", handler))
    assert (result.ok, result.tool, result.summary) == (True, "other", "one")
    assert result.data == {"when": "2026-01-02"}
    assert result.call_id.startswith("call_")


async def test_a_failed_result_of_a_handler_is_redacted_and_placed() -> None:
    failed = ToolError("cannot read /home/ann/secret/x.txt", "not_found").info

    async def handler() -> ToolResult:
        return ToolResult(ok=False, tool="read", call_id="theirs", error=failed, metadata={"tries": 2})

    result = await call(make_tool("read", handler), step="s")
    assert error_of(result).message == "cannot read …/x.txt"
    assert error_of(result).progress == {"step": "s"}
    assert result.metadata["tries"] == 2


async def test_a_degraded_answer_says_so() -> None:
    result = await call(make_tool("cached", returning(Degraded({"n": {1}}, "cached 5 minutes ago", confidence=0.3))))
    assert (result.data, result.degraded, result.confidence) == ({"n": [1]}, True, 0.3)
    assert result.to_model()["note"] == "cached 5 minutes ago"


@dataclasses.dataclass
class Order:
    number: int
    placed: dt.date
    ratio: float = math.nan


class Customer(pydantic.BaseModel):
    name: str
    tags: set[str]


@pytest.mark.parametrize(
    ("returned", "data"),
    [
        (None, None),
        (Order(1, dt.date(2026, 1, 2)), {"number": 1, "placed": "2026-01-02", "ratio": None}),
        (Customer(name="Ann", tags={"a"}), {"name": "Ann", "tags": ["a"]}),
        ([math.inf, 1.5], [None, 1.5]),
        (math.nan, None),
        ((1, 2), [1, 2]),
        ({1: "x"}, {"1": "x"}),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_results_become_json(returned: Any, data: Any) -> None:
    assert (await call(make_tool("get", returning(returned)))).data == data


async def test_a_generator_is_read_to_its_end() -> None:
    assert (await call(make_tool("get", returning(n for n in range(3))))).data == [0, 1, 2]


class Slotted:
    __slots__ = ("x",)


@dataclasses.dataclass(slots=True)
class Holder:
    inside: object


def _circular() -> list[Any]:
    value: list[Any] = []
    value.append({"again": value})
    return value


def _deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(2000):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("returned", "fault"),
    [
        (object(), "$ is of type object"),
        ({"rows": [{"ok": 1}, {"conn": Slotted()}]}, "$.rows[1].conn is of type Slotted"),
        ({"raw": b"\xff"}, "$.raw is of type bytes"),
        ([1, (2, {"x": Holder(Slotted())})], "$[1][1].x.inside is of type Slotted"),
        (_circular(), "$[0].again contains itself"),
        (_deep(), "is nested too deep"),
        ({"f": len}, "$.f is of type builtin_function_or_method"),
        ([Slotted], "$[0] is of type type"),
    ],
    ids=["object", "in a list", "bytes", "in a dataclass", "circular", "deep", "function", "class"],
)
async def test_what_has_no_json_form_is_named_with_its_place_and_type(returned: Any, fault: str) -> None:
    error = error_of(await call(make_tool("get", returning(returned))))
    assert error.error_type == "tool_error"
    assert error.message.startswith("the result of get cannot be turned into JSON: $")
    assert fault in error.message
    assert error.suggestion


async def test_an_alias_finds_the_tool() -> None:
    runtime = Runtime(catalog_of(make_tool("mail.send", returning("sent"), aliases=("send_mail",))))
    result = await runtime.call(ToolCall(tool="send_mail"))
    assert (result.data, result.tool) == ("sent", "mail.send")


async def test_cancellation_passes_through() -> None:
    runtime = Runtime(catalog_of(make_tool("slow", returning(1, after=100))))
    with anyio.move_on_after(1) as scope:
        await runtime.call(ToolCall(tool="slow"))
    assert scope.cancelled_caught


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_no_exception_passes_through(backend: str, error: type[BaseException]) -> None:
    runtime = Runtime(catalog_of(make_tool("exit", raising(error()))))
    with pytest.raises(error):
        run_virtually(backend, runtime.call, ToolCall(tool="exit"))


def test_on_asyncio_a_cancellation_inside_a_handler_passes_through() -> None:
    runtime = Runtime(catalog_of(make_tool("odd", raising(asyncio.CancelledError()))))
    with pytest.raises(asyncio.CancelledError):
        run_virtually("asyncio", runtime.call, ToolCall(tool="odd"))


async def test_the_elapsed_time_is_measured_with_the_given_clock() -> None:
    ticks = iter([10.0, 10.25])
    runtime = Runtime(catalog_of(make_tool("get", returning(1))), clock=lambda: next(ticks))
    assert (await runtime.call(ToolCall(tool="get"))).metadata["elapsed_ms"] == 250


async def test_a_tool_taken_out_during_a_run_is_unknown_from_then_on() -> None:
    catalog = catalog_of(make_tool("first", returning(1)), make_tool("second", returning(2)))

    async def take_out(first: int) -> None:
        catalog.remove("second")

    builder = PipelineBuilder(catalog=catalog).then("first").then(take_out).then("second", deps=["take_out"])
    report = await builder.build().run()
    error = report["second"].error
    assert error is not None
    assert error.error_type == "unknown_tool"


async def test_a_handler_replaced_during_a_run_serves_from_then_on() -> None:
    catalog = catalog_of(make_tool("get", returning("old")))

    async def replace(one: str) -> None:
        catalog.bind("get", returning("new"))

    builder = PipelineBuilder(catalog=catalog).then("get", name="one").then(replace, deps=["one"])
    report = await builder.then("get", name="two", deps=["replace"]).build().run()
    assert (report.value("one"), report.value("two")) == ("old", "new")


async def test_many_calls_at_once_do_not_disturb_each_other() -> None:
    async def handler(n: int) -> int:
        await anyio.sleep(1)
        return n

    runtime = Runtime(catalog_of(make_tool("echo", handler, {"n": {"type": "integer"}}, required=["n"])))
    answers: dict[int, Any] = {}

    async def one(n: int) -> None:
        answers[n] = (await runtime.call(ToolCall(tool="echo", arguments={"n": n}), CallContext(caller="a"))).data

    async with anyio.create_task_group() as tasks:
        for n in range(200):
            tasks.start_soon(one, n)
    assert answers == {n: n for n in range(200)}
