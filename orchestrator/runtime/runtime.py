"""One tool call, from proposal to result: find, validate, guard, run with a timeout, shape."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio

from ...catalog import Catalog, Degraded, ErrorInfo, Tool, ToolCall, ToolError, ToolResult
from ...catalog.arguments import validate_arguments
from ...catalog.errors import UnknownToolError
from .. import threads
from ..context import MAX_DEPTH, Place, check_depth, place_now
from .classify import classify
from .guards import LoopGuard
from .shaping import to_json_like

DEFAULT_TIMEOUT = 60.0
"""Seconds that one attempt may take when the tool says nothing else."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """Who calls, and from where.

    Attributes:
        caller: id of the agent's session or the pipeline step; repeats are counted along it. Empty: each call
            stands alone.
        step: name of the pipeline step, for error messages.
        stack: names of the tools and agents that led here, outermost first.
    """

    caller: str = ""
    step: str = ""
    stack: tuple[str, ...] = ()


class Runtime:
    """Runs tool calls against a catalog. A call makes exactly one attempt; retrying belongs to who calls.

    Args:
        catalog: where tools are looked up, at each call anew.
        default_timeout: seconds for one attempt of a tool without a timeout of its own.
        max_depth: runs, agents and tool calls inside each other, at most.
        loop_guard: counts identical calls in a row; a fresh one by default.
        clock: seconds, for the elapsed time in results.

    Raises:
        ValueError: `default_timeout` is not positive.

    Example:
        >>> runtime = Runtime(catalog)
        >>> result = await runtime.call(ToolCall(tool="search_text", arguments={"query": "timeout"}))
        >>> result.ok
        True
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        default_timeout: float = DEFAULT_TIMEOUT,
        max_depth: int = MAX_DEPTH,
        loop_guard: LoopGuard | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if not default_timeout > 0:
            raise ValueError(f"default_timeout must be positive, got {default_timeout!r}")
        self.catalog = catalog
        self.default_timeout = default_timeout
        self.max_depth = max_depth
        self.loop_guard = loop_guard or LoopGuard()
        self._clock = clock

    async def call(self, call: ToolCall, context: CallContext | None = None) -> ToolResult:
        """Runs one call and returns its result; an error is a result too.

        Only cancellation, and what is no `Exception` (Ctrl-C), passes through.
        """
        context = context or CallContext()
        started = self._clock()
        warning = ""
        outer = place_now.get()
        place = Place("tool", call.tool, outer, None if outer is None else outer.run)
        token = place_now.set(place)
        try:
            check_depth(place, self.max_depth)
            tool = self._find(call.tool)
            arguments = validate_arguments(tool, call.arguments)
            if context.caller:
                warning = self.loop_guard.check(context.caller, call.model_copy(update={"tool": tool.name}))
            result = _shape(await self._attempt(tool, arguments), tool, call, context)
        except Exception as error:  # noqa: BLE001 - here a tool's exceptions become data
            result = ToolResult(ok=False, tool=call.tool, call_id=call.call_id, error=_in_place(error, context))
        finally:
            place_now.reset(token)
        metadata = {**result.metadata, "elapsed_ms": round((self._clock() - started) * 1000, 3)}
        if warning:
            metadata["warning"] = warning
        return result.model_copy(update={"metadata": metadata})

    def _find(self, name: str) -> Tool:
        try:
            tool = self.catalog.get(name)
        except UnknownToolError as error:
            raise ToolError(str(error), "unknown_tool", suggestion="choose one of the tools you were shown") from error
        if tool.handler is None:
            raise ToolError(
                f"{tool.name} is described in the catalog, but nothing here can run it",
                "dependency_missing",
                suggestion="bind a handler to it (Catalog.bind) or use another tool",
                alternatives=tool.fallbacks,
            )
        return tool

    async def _attempt(self, tool: Tool, arguments: dict[str, Any]) -> Any:
        """The handler's return value, or a `ToolError` "timeout"."""
        assert tool.handler is not None  # _find has made sure
        seconds = tool.timeout or self.default_timeout
        in_loop = threads.runs_in_loop(tool.handler)
        returned: Any = None
        with threads.noticing() as left, anyio.move_on_after(seconds) as scope:
            returned = tool.handler(**arguments) if in_loop else await threads.run_in_thread(tool.handler, **arguments)
            if isinstance(returned, Awaitable):
                returned = await returned
        if scope.cancelled_caught:
            raise ToolError(f"{tool.name} did not answer within {seconds:g} s{threads.still_running(left)}", "timeout")
        return returned


def _shape(returned: Any, tool: Tool, call: ToolCall, context: CallContext) -> ToolResult:
    if isinstance(returned, ToolResult):
        data = to_json_like(returned.data, what=f"the result of {tool.name}")
        error = None if returned.error is None else _in_place(ToolError.from_info(returned.error), context)
        return returned.model_copy(update={"call_id": call.call_id, "data": data, "error": error})
    extra: dict[str, Any] = {}
    if isinstance(returned, Degraded):
        extra = {"degraded": True, "confidence": returned.confidence, "note": returned.note}
        returned = returned.value
    data = to_json_like(returned, what=f"the result of {tool.name}")
    return ToolResult(ok=True, tool=tool.name, call_id=call.call_id, data=data, **extra)


def _in_place(error: Exception, context: CallContext) -> ErrorInfo:
    """The classified error, with where in the run it happened."""
    info = classify(error)
    progress = {key: value for key, value in (("step", context.step), ("stack", list(context.stack))) if value}
    return info.model_copy(update={"progress": progress}) if progress else info
