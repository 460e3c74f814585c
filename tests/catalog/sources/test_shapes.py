"""Tool lists in the shapes of others: what is read, and what comes back when it is written."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import pytest
from hypothesis import given
from pydantic import BaseModel
from toolpath.catalog import (
    Permission,
    SideEffect,
    Tool,
    ToolFormatError,
    Trust,
    detect_shape,
    read_tools,
    write_tools,
)

from ..strategies import tool_fields

PARAMETERS = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"unit": {"$ref": "#/definitions/Unit"}, "city": {"type": "string"}},
    "definitions": {"Unit": {"enum": ["C", "F"]}},
    "required": ["city"],
}
NESTED = {
    "type": "function",
    "function": {"name": "weather", "description": "天气", "parameters": PARAMETERS, "strict": True},
    "x-outer": {"kept": [1]},
}
FLAT = {"type": "function", "name": "weather", "description": "天气", "parameters": PARAMETERS, "strict": None}
ANTHROPIC = {
    "name": "weather",
    "description": "天气",
    "input_schema": PARAMETERS,
    "type": "custom",
    "cache_control": {"type": "ephemeral"},
}
MCP = {
    "name": "weather",
    "title": "The weather",
    "description": "天气",
    "inputSchema": PARAMETERS,
    "outputSchema": {"type": "object", "properties": {"t": {"type": "number"}}},
    "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": True, "title": "W"},
    "icons": [{"src": "data:,"}],
    "_meta": {"a.b/c": 1},
}
PLAIN = {"name": "weather", "description": "天气", "parameters": PARAMETERS, "category": "home", "source_name": "w"}

FOREIGN = [("openai", NESTED), ("openai", FLAT), ("anthropic", ANTHROPIC), ("mcp", MCP), ("langchain", NESTED)]


@pytest.mark.parametrize(
    ("entry", "shape"),
    [
        (NESTED, "openai"),
        ({"function": {"name": "x"}}, "openai"),
        (FLAT, "openai"),
        (ANTHROPIC, "anthropic"),
        (MCP, "mcp"),
        (PLAIN, "toolpath"),
        ({"name": "x"}, "toolpath"),
    ],
)
def test_the_shape_of_an_entry_is_detected(entry: dict[str, Any], shape: str) -> None:
    assert detect_shape(entry) == shape


@pytest.mark.parametrize("entry", [{}, {"description": "x"}, [], "weather", None, {"tool": {}}])
def test_what_has_no_known_shape_is_refused(entry: Any) -> None:
    with pytest.raises(ToolFormatError):
        detect_shape(entry)


@pytest.mark.parametrize(("shape", "entry"), [*FOREIGN, ("toolpath", PLAIN)])
def test_every_shape_gives_the_same_tool(shape: str, entry: dict[str, Any]) -> None:
    (tool,) = read_tools([entry], shape=shape, source="here")
    assert (tool.name, tool.description, tool.source) == ("weather", "天气", "here")
    assert tool.parameters == {
        "type": "object",
        "properties": {"unit": {"enum": ["C", "F"], "type": "string"}, "city": {"type": "string"}},
        "required": ["city"],
    }


@pytest.mark.parametrize(("shape", "entry"), FOREIGN)
def test_an_entry_written_in_its_own_shape_is_the_original(shape: str, entry: dict[str, Any]) -> None:
    before = copy.deepcopy(entry)
    tools = read_tools([entry], shape=shape)
    written = write_tools(tools, shape)
    assert written.entries == [before]
    assert entry == before
    written.entries[0].clear()
    assert write_tools(tools, shape).entries == [before]


def test_a_tool_does_not_change_with_the_entry_that_it_was_read_from() -> None:
    entry = copy.deepcopy(MCP)
    (tool,) = read_tools([entry])
    entry["icons"].clear()
    entry["inputSchema"]["properties"].clear()
    assert write_tools([tool], "mcp").entries == [MCP]


@pytest.mark.parametrize(("shape", "entry"), FOREIGN)
def test_only_what_was_changed_since_changes_in_the_original(shape: str, entry: dict[str, Any]) -> None:
    (tool,) = read_tools([entry], shape=shape)
    expected = copy.deepcopy(entry)
    expected.get("function", expected)["description"] = "new"
    assert write_tools([tool.model_copy(update={"description": "new"})], shape).entries == [expected]


def test_changed_metadata_and_hints_are_written_where_they_came_from() -> None:
    (tool,) = read_tools([MCP])
    changed = tool.model_copy(
        update={
            "metadata": {"title": "New", "annotations": {"openWorldHint": False}},
            "permission": Permission.HIGH_RISK_WRITE,
            "side_effect": SideEffect.WRITE,
            "idempotent": None,
        }
    )
    written = write_tools([changed], "mcp")
    assert written.losses == {}
    assert written.entries[0] == {
        "name": "weather",
        "title": "New",
        "description": "天气",
        "inputSchema": PARAMETERS,
        "outputSchema": MCP["outputSchema"],
        "annotations": {"openWorldHint": False, "readOnlyHint": False},
    }


@pytest.mark.parametrize(
    ("hints", "permission", "side_effect"),
    [
        ({"readOnlyHint": True}, Permission.SAFE_READ, SideEffect.NONE),
        ({"readOnlyHint": True, "destructiveHint": True}, Permission.SAFE_READ, SideEffect.NONE),
        ({"readOnlyHint": False}, Permission.HIGH_RISK_WRITE, SideEffect.WRITE),
        ({"readOnlyHint": False, "destructiveHint": False}, Permission.LOW_RISK_WRITE, SideEffect.WRITE),
        ({"destructiveHint": True}, Permission.HIGH_RISK_WRITE, SideEffect.DELETE),
        ({"openWorldHint": True}, None, None),
        ({}, None, None),
    ],
)
def test_mcp_hints_fill_in_permission_and_side_effect(hints: Any, permission: Any, side_effect: Any) -> None:
    (tool,) = read_tools([{"name": "x", "inputSchema": {}, "annotations": hints}])
    assert (tool.permission, tool.side_effect, tool.trust) == (permission, side_effect, Trust.UNTRUSTED)


def test_what_mcp_says_beyond_our_fields_is_kept_as_metadata() -> None:
    (tool,) = read_tools([MCP])
    assert tool.metadata == {
        "title": "The weather",
        "icons": [{"src": "data:,"}],
        "_meta": {"a.b/c": 1},
        "annotations": {"openWorldHint": True, "title": "W"},
    }
    assert (tool.idempotent, tool.returns) == (True, MCP["outputSchema"])


def test_what_an_mcp_library_writes_as_null_was_not_said() -> None:
    entry = {"name": "x", "inputSchema": {}, "title": None, "annotations": {"title": None, "readOnlyHint": None}}
    (tool,) = read_tools([entry])
    assert (tool.metadata, tool.permission) == ({}, None)
    assert write_tools([tool], "mcp").entries == [entry]


@pytest.mark.parametrize(
    "listed",
    [
        [MCP],
        {"tools": [MCP]},
        {"tools": [MCP], "nextCursor": "2"},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP]}},
        MCP,
        iter([MCP]),
    ],
)
def test_the_list_may_come_in_what_holds_it(listed: Any) -> None:
    assert [tool.name for tool in read_tools(listed)] == ["weather"]


@pytest.mark.parametrize("listed", [5, None, "weather", {"tools": 5}, {"result": "x"}])
def test_what_is_no_list_is_refused(listed: Any) -> None:
    with pytest.raises(ToolFormatError, match="there: expected a list of tools"):
        read_tools(listed, source="there")


def test_objects_of_the_mcp_library_are_read_too() -> None:
    class McpTool(BaseModel):
        name: str
        inputSchema: dict[str, Any]
        title: str | None = None

    class ListToolsResult(BaseModel):
        tools: list[McpTool]

    one = McpTool(name="weather", inputSchema={"type": "object"})
    for listed in (ListToolsResult(tools=[one]), [one], one):
        (tool,) = read_tools(listed)
        assert (tool.name, tool.metadata, tool.trust) == ("weather", {}, Trust.UNTRUSTED)


class CityArguments(BaseModel):
    city: str
    unit: str = "C"


class LangChainTool:
    """As much of a BaseTool as is looked at."""

    name = "weather"
    description = "天气"
    args_schema: Any = CityArguments
    coroutine: Any = None

    def invoke(self, arguments: dict[str, Any]) -> str:
        return f"sync {arguments['city']}"

    async def ainvoke(self, arguments: dict[str, Any]) -> str:
        return f"async {arguments['city']}"

    def _run(self, **arguments: Any) -> Any: ...


@pytest.mark.parametrize("schema", [CityArguments, CityArguments.model_json_schema()], ids=["model", "dict"])
def test_a_langchain_tool_object_brings_its_schema_and_runs(schema: Any) -> None:
    source = LangChainTool()
    source.args_schema = schema
    assert detect_shape(source) == "langchain"
    (tool,) = read_tools([source])
    assert tool.parameters["properties"] == {"city": {"type": "string"}, "unit": {"type": "string", "default": "C"}}
    assert tool(city="Oslo") == "sync Oslo"
    assert write_tools([tool], "langchain").entries[0]["function"]["name"] == "weather"
    assert read_tools(write_tools([tool], "langchain").entries)[0].parameters == tool.parameters


@pytest.mark.anyio
async def test_a_langchain_tool_made_from_a_coroutine_runs_async(anyio_backend: str) -> None:
    source = LangChainTool()
    source.coroutine = source.ainvoke
    (tool,) = read_tools(source)
    assert inspect.iscoroutinefunction(tool.handler)
    assert await tool(city="Oslo") == "async Oslo"


def test_a_langchain_tool_without_a_schema_has_its_args() -> None:
    source = LangChainTool()
    source.args_schema = None
    source.args = {"q": {"type": "string"}}  # type: ignore[attr-defined]
    assert read_tools([source])[0].parameters["properties"] == {"q": {"type": "string"}}


def test_plain_rows_keep_unknown_keys_and_typed_dependencies() -> None:
    row = {
        "name": "send",
        "depends_on": [{"tool": "check", "type": "DIRECT"}, "look", {"tool": "check", "type": "INDIRECT"}],
        "server_description": "mail",
        "metadata": {"own": 1},
        "category": None,
    }
    (tool,) = read_tools([row])
    assert tool.depends_on == ("check", "look")
    assert tool.metadata == {"server_description": "mail", "depends_on": row["depends_on"], "own": 1}
    assert tool.category is None


BROKEN: list[tuple[Any, str, str]] = [
    (5, "", "must be an object, not integer"),
    ({"description": "no name"}, "", "'name' is missing"),
    ({"name": 5}, "name", "must be a string"),
    ({"name": ""}, "name", "must not be empty"),
    ({"name": "a\u200bb"}, "name", "invisible"),
    ({"name": "x", "description": ["a"]}, "description", "must be a string"),
    ({"name": "x", "parameters": "none"}, "parameters", "must be a JSON Schema object"),
    ({"name": "x", "parameters": {"properties": {"a": {"type": "float"}}}}, "parameters", "'properties.a.type'"),
    ({"name": "x", "returns": {"type": "float"}}, "returns", "'type'"),
    ({"name": "x", "category": 5}, "category", "must be a string"),
    ({"name": "x", "timeout": -1}, "timeout", "greater than 0"),
    ({"name": "x", "rate_limit": {"calls": 0, "per": 1}}, "rate_limit.calls", "greater than or equal to 1"),
    ({"name": "x", "tags": ["a", 5]}, "tags[1]", "valid string"),
    ({"name": "x", "depends_on": [{"type": "?"}]}, "depends_on[0].tool", "missing"),
    ({"name": "x", "metadata": 5}, "metadata", "must be an object"),
    ({"name": "x", "extra": {"deep": float("nan")}}, "extra.deep", "nan is not a JSON number"),
    ({"type": "function", "function": {"parameters": {}}}, "function.name", "missing"),
    ({"type": "function", "function": {"name": " "}}, "function.name", "white space"),
    (
        {"type": "function", "function": {"name": "x", "parameters": {"type": "string"}}},
        "function.parameters",
        "of type object",
    ),
    ({"type": "function", "function": 5}, "function", "must be an object"),
    ({"type": "function", "name": "x", "parameters": []}, "parameters", "must be a JSON Schema object"),
    ({"name": "x", "input_schema": {"required": 5}}, "input_schema", "'required'"),
    ({"type": "web_search", "name": "x", "input_schema": {}}, "type", "runs at the provider"),
    ({"name": "x", "inputSchema": {"$ref": "#/$defs/y"}}, "inputSchema", "leads nowhere"),
    ({"name": "x", "inputSchema": {}, "outputSchema": {"type": 5}}, "outputSchema", "'type'"),
    (
        {"name": "x", "inputSchema": {}, "annotations": {"readOnlyHint": "yes"}},
        "annotations.readOnlyHint",
        "true or false",
    ),
]


@pytest.mark.parametrize(("entry", "field", "message"), BROKEN)
def test_a_malformed_entry_is_named_with_source_index_and_field(entry: Any, field: str, message: str) -> None:
    with pytest.raises(ToolFormatError, match=r"^list\.json, entry 1") as caught:
        read_tools([PLAIN, entry], source="list.json")
    assert (caught.value.index, caught.value.field, caught.value.source) == (1, field, "list.json")
    assert message in caught.value.reason


def test_a_lenient_reading_loads_the_rest_and_reports_what_it_left_out() -> None:
    entries = [MCP, *(entry for entry, _, _ in BROKEN), NESTED]
    tools = read_tools(entries, strict=False)
    assert [tool.name for tool in tools] == ["weather", "weather"]
    assert [error.index for error in tools.left_out] == list(range(1, len(BROKEN) + 1))
    assert [error.field for error in tools.left_out] == [field for _, field, _ in BROKEN]
    assert read_tools([MCP]).left_out == ()


def test_an_unknown_shape_is_a_programmers_error() -> None:
    with pytest.raises(ValueError, match="no shape is called 'open_ai'; known are openai, "):
        read_tools([], shape="open_ai")
    with pytest.raises(ValueError, match="no shape is called"):
        write_tools([], "x")


def test_no_tools_are_no_tools() -> None:
    assert read_tools([]) == []
    assert write_tools([], "openai") == ([], {})


def test_a_poorer_shape_says_per_tool_what_does_not_fit() -> None:
    rich = Tool(
        name="mail.send",
        description="Sends.",
        category="mail",
        permission=Permission.SENSITIVE_READ,
        returns={"type": "string"},
        metadata={"strict": True},
    )
    plain = Tool(name="add", description="Adds.")
    openai = write_tools([rich, plain], "openai")
    assert openai.entries[0] == {
        "type": "function",
        "function": {
            "name": "mail.send",
            "description": "Sends.",
            "parameters": {"type": "object", "properties": {}},
            "strict": True,
        },
    }
    assert openai.losses == {"mail.send": ("name", "returns", "category", "permission")}
    assert write_tools([rich], "anthropic").losses == openai.losses
    mcp = write_tools([rich, plain], "mcp")
    assert mcp.losses["mail.send"] == ("returns", "category", "permission", "side_effect", "trust")
    assert mcp.entries[0]["annotations"] == {"readOnlyHint": True}
    assert write_tools([rich, plain], "toolpath").losses == {}


def test_metadata_never_overwrites_what_a_shape_says_itself() -> None:
    tool = Tool(name="x", metadata={"name": "evil", "input_schema": 5, "parameters": "evil", "note": 1})
    for shape in ("openai", "anthropic", "mcp", "toolpath"):
        written = write_tools([tool], shape)
        (again,) = read_tools(written.entries, shape=shape)
        assert again.name == "x"
        assert again.metadata == tool.metadata or written.losses["x"]


@given(tool_fields)
def test_a_tool_loses_nothing_in_our_own_shape(fields: dict[str, Any]) -> None:
    tool = Tool(**fields)
    written = write_tools([tool], "toolpath")
    assert read_tools(written.entries, shape="toolpath") == [tool]
    assert written.losses == {}


@given(tool_fields)
def test_other_shapes_give_back_what_they_do_not_report_as_lost(fields: dict[str, Any]) -> None:
    tool = Tool(**{**fields, "original": None})
    for shape in ("openai", "anthropic", "mcp", "langchain"):
        written = write_tools([tool], shape)
        (again,) = read_tools(written.entries, shape=shape)
        ignored = {"original", "source", "handler", *written.losses.get(tool.name, ())} - {"name"}
        assert again.model_dump(exclude=ignored) == tool.model_dump(exclude=ignored)
        assert write_tools([again], shape).entries == written.entries
