"""LangChain's tools: the dictionaries of ``convert_to_openai_tool``, and tool objects, recognised by what they have.

LangChain itself is never imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ToolFormatError
from ..json_values import json_type
from ..schemas.keywords import Schema, map_children
from .openai import function_shape
from .shape import Entry

LANGCHAIN = function_shape("langchain")


def is_tool_object(value: Any) -> bool:
    """Whether `value` looks like a LangChain ``BaseTool``."""
    return not isinstance(value, (dict, type)) and all(
        hasattr(value, name) for name in ("name", "args_schema", "invoke")
    )


def entry_of(tool: Any) -> Entry:
    """The tool object as an entry of this shape.

    Raises:
        ToolFormatError: its schema is of no kind that LangChain allows.
    """
    parameters = _without_generated_titles(_schema_of(tool), tool.name)
    # LangChain builds the model of the arguments from the function, whose docstring it has used already.
    parameters.pop("description", None)
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description or "", "parameters": parameters},
    }


def handler_of(tool: Any) -> Callable[..., Any]:
    """A function that runs the tool object, arguments by name; async when the tool was made from a coroutine."""
    if getattr(tool, "coroutine", None) is not None:

        async def run_async(**arguments: Any) -> Any:
            return await tool.ainvoke(arguments)

        return run_async

    def run(**arguments: Any) -> Any:
        return tool.invoke(arguments)

    return run


def _schema_of(tool: Any) -> dict[str, Any]:
    # The schema for calls leaves out what LangChain injects itself (InjectedToolArg, run managers).
    described = getattr(tool, "tool_call_schema", None)
    if described is None:
        described = tool.args_schema
    if described is None:
        return {"type": "object", "properties": getattr(tool, "args", {})}
    if isinstance(described, dict):
        return described
    for method in ("model_json_schema", "schema"):  # pydantic 2, pydantic 1
        if hasattr(described, method):
            schema: dict[str, Any] = getattr(described, method)()
            return schema
    raise ToolFormatError(f"must be a schema or a pydantic model, not {json_type(described)}", field="args_schema")


def _without_generated_titles(schema: Schema, name: str) -> Schema:
    """The schema without titles that pydantic made from names: they say the same again."""
    plain = map_children(schema, lambda child, step: _without_generated_titles(child, str(step[-1])))
    if plain.get("title") in (name, name.replace("_", " ").title()):
        del plain["title"]
    return plain
