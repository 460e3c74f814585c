"""`@tool`: a typed Python function becomes a tool, and stays a function."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, overload

from ..errors import SignatureError
from ..schemas.keywords import Schema
from ..tool import Tool
from .docstrings import read_docstring
from .signatures import Signature


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(*, name: str | None = None, **fields: Any) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, **fields: Any
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Makes a `Tool` from a function, sync or async; works bare, with options, and as a plain call.

    The parameters' schema comes from the annotations (whatever pydantic can describe: Literal, enums, models,
    dataclasses, TypedDict, ``Annotated[..., Field()]``, dates, UUID, Decimal, unions, ...), their descriptions from
    ``Field(description=...)`` or else from the docstring, the tool's description from the docstring's text, and
    ``returns`` from the return annotation. A parameter without annotation takes any JSON value.

    The tool's handler takes the arguments by name, as JSON values or as the real objects, and turns them into what
    the annotations want: a date from "2025-03-31", an enum member from its value, a model from an object. The
    function itself is the handler's ``__wrapped__``.

    Args:
        function: a function, a bound method, a `functools.partial` (what it binds is hidden from models) or an object
            with ``__call__``.
        name: the tool's name; default: the function's.
        **fields: any other field of `Tool`, except `parameters` and `handler`.

    Raises:
        SignatureError: the function cannot be described; the message names the parameter and the way out.
        pydantic.ValidationError: one of `fields` is unknown or ill-typed.

    Example:
        >>> @tool(category="math")
        ... def add(a: int, b: int = 1) -> int:
        ...     '''Add two numbers.'''
        ...     return a + b
        >>> add.parameters["required"], add(2, b=3), add.handler(a="2")
        (['a'], 5, 3)
    """
    namespace = sys._getframe(1).f_locals
    if function is None:
        return lambda decorated: _made(decorated, name, fields, namespace)
    return _made(function, name, fields, namespace)


def _made(function: Callable[..., Any], name: str | None, fields: dict[str, Any], namespace: Mapping[str, Any]) -> Tool:
    for field in ("parameters", "handler"):
        if field in fields:
            raise SignatureError(f"{field!r} comes from the function; make a Tool(...) where it should not")
    if not callable(function) or isinstance(function, (type, staticmethod, classmethod)):
        raise SignatureError(f"{function!r} is not a function; put @tool on a function or call tool(bound_method)")
    name = name or _own_name(function)
    _require_plain_function(function, name)
    signature = Signature(function, name, namespace)
    documented = read_docstring(inspect.getdoc(_innermost(function)))
    defaults: dict[str, Any] = {
        "description": documented.description,
        "returns": signature.returns(),
        "source": f"{getattr(_innermost(function), '__module__', '')}:{_qualified_name(function, name)}",
    }
    return Tool(
        name=name,
        parameters=_with_descriptions(signature.parameters, documented.parameters),
        handler=_converting(function, signature),
        **defaults | fields,
    )


def _converting(function: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """`function`, called with what its annotations want."""
    handler: Callable[..., Any]
    if _is_async(function):

        async def call_async(*args: Any, **kwargs: Any) -> Any:
            return await function(**signature.values(args, kwargs))

        handler = call_async
    else:

        def call(*args: Any, **kwargs: Any) -> Any:
            return function(**signature.values(args, kwargs))

        handler = call
    functools.update_wrapper(handler, _innermost(function))
    vars(handler)["__wrapped__"] = function
    return handler


def _with_descriptions(parameters: Schema, documented: Mapping[str, str]) -> Schema:
    properties = {
        name: {**schema, "description": documented[name]}
        if documented.get(name) and "description" not in schema
        else schema
        for name, schema in parameters["properties"].items()
    }
    return {**parameters, "properties": properties}


def _own_name(function: Callable[..., Any]) -> str:
    name = getattr(_innermost(function), "__name__", "")
    if not name or name == "<lambda>":
        raise SignatureError(f"{function!r} has no name of its own; give one: tool(name=...)")
    return str(name)


def _require_plain_function(function: Callable[..., Any], name: str) -> None:
    inner = _innermost(function)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise SignatureError(f"{name}: it yields its results one by one; return them as a list")
    names = _qualified_name(function, name).split(".")
    in_class = len(names) > 1 and names[-2] != "<locals>"
    if (
        inspect.isfunction(inner)
        and in_class
        and next(iter(inspect.signature(inner).parameters), "") in ("self", "cls")
    ):
        raise SignatureError(
            f"{name}: a method needs its object; make the tool from the bound method: tool(obj.{names[-1]})"
        )


def _innermost(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _qualified_name(function: Callable[..., Any], name: str) -> str:
    return str(getattr(_innermost(function), "__qualname__", name))


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
