"""Reading tool lists of any known shape, and writing tools back in the shape that somebody wants."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from ..errors import SchemaError, ToolFormatError
from ..json_values import json_fault, json_path, json_type
from ..schemas.normalise import normalise_parameters
from ..tool import Original, Tool
from . import langchain
from .anthropic import ANTHROPIC
from .langchain import LANGCHAIN
from .mcp import MCP
from .native import TOOLPATH
from .openai import OPENAI
from .shape import Entry, Shape

_DETECTED = (OPENAI, MCP, ANTHROPIC, TOOLPATH)
SHAPES: Mapping[str, Shape] = {shape.name: shape for shape in (*_DETECTED, LANGCHAIN)}
"""Shape name to shape: openai, anthropic, mcp, langchain, toolpath."""

_COMPARED = tuple(name for name in Tool.model_fields if name not in ("handler", "original", "source"))


class ToolList(list[Tool]):
    """The tools that were read, in the order of the entries.

    Attributes:
        left_out: one error for each entry that could not be read; empty after a strict reading.
    """

    left_out: tuple[ToolFormatError, ...] = ()


class WrittenTools(NamedTuple):
    """Entries of one shape, and what did not fit into them.

    Attributes:
        entries: one entry per tool.
        losses: tool name to the fields that the entry cannot express as the tool has them. Handlers are code, are
            never written, and are not listed; nor is `source`, which says where an entry was read.
    """

    entries: list[Entry]
    losses: dict[str, tuple[str, ...]]


def detect_shape(entry: Any) -> str:
    """The name of the shape that `entry` has.

    Raises:
        ToolFormatError: it has none of the known shapes.

    Example:
        >>> detect_shape({"name": "add", "input_schema": {"type": "object"}})
        'anthropic'
    """
    if langchain.is_tool_object(entry):
        return LANGCHAIN.name
    if _is_mcp_object(entry):
        return MCP.name
    if not isinstance(entry, dict):
        raise ToolFormatError(f"a tool must be an object, not {json_type(entry)}")
    for shape in _DETECTED:
        if shape.matches(entry):
            return shape.name
    keys = ", ".join(map(repr, list(entry)[:8])) or "no keys"
    raise ToolFormatError(f"no known shape of a tool has only these keys: {keys}; 'name' is missing")


def read_tools(entries: Any, *, shape: str | None = None, source: str = "", strict: bool = True) -> ToolList:
    """Reads tools of the shapes of OpenAI, Anthropic, MCP, LangChain and Toolpath, also mixed in one list.

    Args:
        entries: an iterable of entries (dictionaries, LangChain tools, objects of the MCP library), one entry, or an
            object that holds the list: ``{"tools": [...]}``, a ``tools/list`` result or the whole response.
        shape: name of the shape of all entries; default: detected for each.
        source: where the entries come from, for `Tool.source` and for messages.
        strict: raise for the first entry that cannot be read, instead of leaving it out.

    Returns:
        The tools; what was left out is in their `left_out`. A foreign entry is kept in `Tool.original`.

    Raises:
        ToolFormatError: `entries` is no list of tools, or (when strict) an entry cannot be read; the message names
            source, index and field.
        ValueError: no shape is called `shape`.
    """
    numbered = enumerate(_listed(entries, source))
    return read_numbered(numbered, shape=shape, source=source, strict=strict, shared=True)


def read_numbered(
    entries: Iterable[tuple[int, Any]],
    *,
    shape: str | None = None,
    source: str = "",
    strict: bool = True,
    shared: bool = False,
) -> ToolList:
    """`read_tools` for entries that bring their own index (such as a line number).

    Args:
        entries: index and entry.
        shape: as for `read_tools`.
        source: as for `read_tools`.
        strict: as for `read_tools`.
        shared: somebody else holds the entries too and may change them: copies are kept.
    """
    if shape is not None:
        _shape_called(shape)
    tools, left_out = ToolList(), []
    for index, entry in entries:
        try:
            tools.append(_read_entry(entry, shape, source, shared=shared))
        except ToolFormatError as error:
            located = ToolFormatError(error.reason, source=source, index=index, field=error.field)
            if strict:
                raise located from None
            left_out.append(located)
    tools.left_out = tuple(left_out)
    return tools


def write_tools(tools: Iterable[Tool], shape: str) -> WrittenTools:
    """Writes tools in the shape called `shape`.

    A tool that was read in this shape gives its original entry, changed only where the tool was changed since.
    The shape ``toolpath`` loses nothing.

    Raises:
        ValueError: no shape is called `shape`.

    Example:
        >>> write_tools([Tool(name="add", description="Adds.", category="math")], "anthropic").losses
        {'add': ('category',)}
    """
    chosen = _shape_called(shape)
    written = WrittenTools([], {})
    for tool in tools:
        entry, before = _starting_point(tool, chosen)
        chosen.write(tool, entry, before)
        written.entries.append(entry)
        lost = _lost_fields(tool, entry, chosen)
        if lost:
            written.losses[tool.name] = lost
    return written


def _starting_point(tool: Tool, shape: Shape) -> tuple[Entry, Tool | None]:
    if tool.original is None or tool.original.shape != shape.name:
        return shape.blank(), None
    return copy.deepcopy(tool.original.entry), _tool_of(tool.original.entry, shape, "")


def _lost_fields(tool: Tool, entry: Entry, shape: Shape) -> tuple[str, ...]:
    """The fields that come back different when the entry is read again: the one honest test of a loss."""
    again = _tool_of(copy.deepcopy(entry), shape, "")
    lost = [name for name in _COMPARED if getattr(again, name) != getattr(tool, name)]
    if shape.name_pattern is not None and not shape.name_pattern.fullmatch(tool.name):
        lost.insert(0, "name")
    return tuple(lost)


def _shape_called(name: str) -> Shape:
    if name not in SHAPES:
        raise ValueError(f"no shape is called {name!r}; known are {', '.join(SHAPES)}")
    return SHAPES[name]


def _listed(entries: Any, source: str) -> Iterator[Any]:
    """The entries themselves, whatever holds them."""
    found = entries
    for key in ("result", "tools"):
        if isinstance(found, Mapping) and key in found and "name" not in found:
            found = found[key]
    if isinstance(found, Mapping) or langchain.is_tool_object(found) or _is_mcp_object(found):
        return iter([found])
    if hasattr(found, "model_dump"):  # The MCP library's result: a model, iterable by its fields.
        found = getattr(found, "tools", None)
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        raise ToolFormatError(f"expected a list of tools, got {json_type(found)}", source=source)
    return iter(found)


def _is_mcp_object(value: Any) -> bool:
    return hasattr(value, "model_dump") and (hasattr(value, "inputSchema") or hasattr(value, "input_schema"))


def _read_entry(entry: Any, shape: str | None, source: str, *, shared: bool) -> Tool:
    chosen = _shape_called(shape or detect_shape(entry))
    handler: Callable[..., Any] | None = None
    if langchain.is_tool_object(entry):
        handler = langchain.handler_of(entry)
        entry = langchain.entry_of(entry)
    elif _is_mcp_object(entry):
        entry = entry.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not isinstance(entry, dict):
        raise ToolFormatError(f"a tool must be an object, not {json_type(entry)}")
    fault = json_fault(entry)
    if fault is not None:
        raise ToolFormatError(fault.reason, field=fault.path)
    tool = _tool_of(copy.deepcopy(entry) if shared else entry, chosen, source)
    return tool if handler is None else tool.with_handler(handler)


def _tool_of(entry: Entry, shape: Shape, source: str) -> Tool:
    fields = shape.read(entry)
    if shape is not TOOLPATH:
        fields["original"] = Original(shape=shape.name, entry=entry)
    if source:
        fields.setdefault("source", source)
    try:
        return Tool(**fields)
    except SchemaError as error:
        raise ToolFormatError(str(error), field=shape.place(entry, _refused_schema(fields))) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        name, *inner = first["loc"] or ("",)
        below = json_path(inner)
        where = shape.place(entry, str(name)) + (f".{below}" if below and not below.startswith("[") else below)
        raise ToolFormatError(first["msg"].removeprefix("Value error, "), field=where) from None


def _refused_schema(fields: Mapping[str, Any]) -> str:
    try:
        normalise_parameters(fields["parameters"])
    except SchemaError:
        return "parameters"
    return "returns"
