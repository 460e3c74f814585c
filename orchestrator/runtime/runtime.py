"""One tool call, from proposal to result: find, validate, guard, look in the cache, wait for a turn, run, shape."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio

from ...catalog import Catalog, Degraded, ErrorInfo, Permission, Tool, ToolCall, ToolError, ToolResult
from ...catalog.arguments import validate_arguments
from ...catalog.errors import UnknownToolError
from .. import threads
from ..context import MAX_DEPTH, Place, check_depth, place_now, tell
from ..events import EventKind
from ..questions import Approver, ask, question_here
from .breaker import Breaker, BreakerState, CircuitBreaker
from .caching import Cache, age_text
from .classify import classify
from .guards import LoopGuard
from .limiting import Limit
from .prefetch import Prefetch
from .shaping import to_json_like
from .single_flight import SingleFlight
from .states import TOOL_STATES, ToolStates

Result = TypeVar("Result")
_log = logging.getLogger("toolpath")

DEFAULT_TIMEOUT = 60.0
"""Seconds that one attempt may take when the tool says nothing else."""

DEFAULT_BREAKER = CircuitBreaker()
"""Opens when half of at least 10 calls within 60 s failed, for 30 s."""

STALE_CONFIDENCE = 0.5
"""Of an answer that is older than its tool allows; an order, not a probability."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """Who calls, and from where.

    Attributes:
        caller: id of the agent's session or the pipeline step; repeats are counted along it. Empty: each call
            stands alone.
        step: name of the pipeline step, for error messages.
        stack: names of the tools and agents that led here, outermost first.
        user: for whom; results with sensitive data are reused for the same user only.
    """

    caller: str = ""
    step: str = ""
    stack: tuple[str, ...] = ()
    user: str = ""


class Runtime:
    """Runs tool calls against a catalog. A call makes exactly one attempt; retrying belongs to who calls.

    Args:
        catalog: where tools are looked up, at each call anew.
        default_timeout: seconds for one attempt of a tool without a timeout of its own.
        max_depth: runs, agents and tool calls inside each other, at most.
        loop_guard: looks for calls that lead nowhere; a fresh one by default.
        breaker: when a tool that keeps failing is not called for a while; None: never. The state is shared by all
            runtimes of the process.
        limits: tool name, or "*" for each tool, to how often it may be called, besides its own `rate_limit`.
        cache: keeps the results of tools with a `cache_ttl`; None: nothing is kept.
        approver: answers when a guard has stopped a call or credentials have expired; None: nobody does.
        prefetch: counts which tool follows which, for `warm_next`; None: nobody counts.
        states: remembers breakers and limits; by default shared by the process.
        clock: seconds, for the elapsed time in results.

    Raises:
        ValueError: `default_timeout` or `max_depth` is not positive.

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
        breaker: CircuitBreaker | None = DEFAULT_BREAKER,
        limits: Mapping[str, Limit] | None = None,
        cache: Cache | None = None,
        approver: Approver | None = None,
        prefetch: Prefetch | None = None,
        states: ToolStates | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if not default_timeout > 0:
            raise ValueError(f"default_timeout must be positive, got {default_timeout!r}")
        if max_depth < 1:
            raise ValueError(f"max_depth must be at least 1, got {max_depth!r}")
        self.catalog = catalog
        self.default_timeout = default_timeout
        self.max_depth = max_depth
        self.loop_guard = loop_guard or LoopGuard()
        self.cache = cache
        self.approver = approver
        self.prefetch = prefetch
        self._breaker = breaker
        self._limits = dict(limits or {})
        self._states = states or TOOL_STATES
        self._clock = clock
        self._flights: SingleFlight[ToolResult] = SingleFlight()

    async def call(self, call: ToolCall, context: CallContext | None = None) -> ToolResult:
        """Runs one call and returns its result; an error is a result too.

        Only cancellation, and what is no `Exception` (Ctrl-C), passes through.
        """
        context = context or CallContext()
        started = self._clock()
        warning, made = "", False
        outer = place_now.get()
        place = Place("tool", call.tool, outer, None if outer is None else outer.run)
        token = place_now.set(place)
        try:
            check_depth(place, self.max_depth)
            tool = self._find(call.tool)
            arguments = validate_arguments(tool, call.arguments)
            warning = await self._pass_guards(call.model_copy(update={"tool": tool.name}), context, place)
            made = True
            result = await self._answer(tool, arguments, call, context)
        except Exception as error:  # noqa: BLE001 - here a tool's exceptions become data
            result = ToolResult(ok=False, tool=call.tool, call_id=call.call_id, error=_in_place(error, context))
        finally:
            place_now.reset(token)
        if made and context.caller:
            self.loop_guard.record(context.caller, call.call_id, result.data if result.ok else str(result.error))
            if self.prefetch is not None:
                self.prefetch.observe(context.caller, result.tool)
        metadata = {**result.metadata, "elapsed_ms": round((self._clock() - started) * 1000, 3)}
        if warning:
            metadata["warning"] = warning
        return result.model_copy(update={"metadata": metadata})

    async def warm_next(self, caller: str) -> str | None:
        """Warms the tool that usually follows what `caller` has called last; for the time while a model thinks.

        Returns:
            Its name; None: nothing was warmed. What fails here is not an error.
        """
        prefetch = self.prefetch
        name = None if prefetch is None else prefetch.expected(caller)
        tool = None if name is None else self.catalog.find(name)
        if prefetch is None or tool is None:
            return None
        warm = prefetch.warm.get(tool.name)
        try:
            if warm is not None:
                await warm()
            elif self.cache is not None and tool.permission is Permission.SAFE_READ and tool.cache_ttl:
                if tool.parameters.get("required") or not (await self.call(ToolCall(tool=tool.name))).ok:
                    return None
            else:
                return None
        except Exception as error:  # noqa: BLE001 - nobody has asked for it yet
            _log.info("warming %s failed: %s", tool.name, error)
            return None
        prefetch.was_warmed(caller, tool.name)
        return tool.name

    async def stale(self, name: str, arguments: dict[str, Any], max_age: float, user: str = "") -> Degraded:
        """The kept result of an equal call, even when it is older than its tool allows.

        Args:
            name: of the tool.
            arguments: of the call.
            max_age: seconds.
            user: as in `CallContext`.

        Raises:
            ToolError: "not_found": there is none, or it is older than `max_age`.
        """
        tool = self._find(name)
        key = None if self.cache is None else self.cache.key(tool, validate_arguments(tool, arguments), user)
        kept = None if key is None else await self._kept(key, max_age)
        if kept is None:
            raise ToolError(f"no earlier result of {tool.name} is there to fall back on", "not_found")
        data, age = kept
        confidence = 1.0 if tool.cache_ttl and age <= tool.cache_ttl else STALE_CONFIDENCE
        return Degraded(data, f"kept from {age_text(age)} ago", confidence)

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

    async def _pass_guards(self, call: ToolCall, context: CallContext, place: Place) -> str:
        """Loop guard and budgets; who answers questions may let a call through. Returns a warning or ""."""
        warning = ""
        if context.caller:
            try:
                warning = self.loop_guard.check(context.caller, call)
            except ToolError as stopped:
                await self._may_go_on(call, stopped)
                self.loop_guard.forget(context.caller)
        for around in place.outward():
            if around.meter is not None:
                try:
                    around.meter.call(call.tool)
                except ToolError as stopped:
                    await self._may_go_on(call, stopped)
                    around.meter.extend()
                    around.meter.call(call.tool)
        return warning

    async def _may_go_on(self, call: ToolCall, stopped: ToolError) -> None:
        if self.approver is None:
            raise stopped
        text = f"{stopped}. Go on nevertheless?"
        await ask(self.approver, question_here("guard", text, tool=call.tool, arguments=call.arguments))

    async def _answer(self, tool: Tool, arguments: dict[str, Any], call: ToolCall, context: CallContext) -> ToolResult:
        """The result, from the cache where the tool allows it."""
        cache = self.cache
        key = None if cache is None else cache.key(tool, arguments, context.user)
        if cache is None or key is None:
            result = await self._made(tool, arguments, call, context)
            if cache is not None and tool.touches and result.ok:
                await self._with_cache(cache, lambda: cache.outdate(tool, self.catalog))
            return result
        kept = await self._kept(key, tool.cache_ttl or 0.0)
        if kept is not None:
            data, age = kept
            metadata = {"cached": True, "age_s": round(age, 3)}
            return ToolResult(ok=True, tool=tool.name, call_id=call.call_id, data=data, metadata=metadata)
        known = key

        async def make() -> ToolResult:
            result = await self._made(tool, arguments, call, context)
            if result.ok and not result.degraded:
                await self._with_cache(cache, lambda: cache.put(known, tool.name, result.data))
            return result

        result, shared = await self._flights.do(key, make)
        if not shared:
            return result
        return result.model_copy(update={"call_id": call.call_id, "metadata": {**result.metadata, "shared": True}})

    async def _kept(self, key: str, max_age: float) -> tuple[Any, float] | None:
        cache = self.cache
        assert cache is not None  # there is a key
        return await self._with_cache(cache, lambda: cache.get(key, max_age))

    async def _with_cache(self, cache: Cache, work: Callable[[], Result]) -> Result:
        return await threads.run_in_thread(work) if cache.needs_thread else work()

    async def _made(self, tool: Tool, arguments: dict[str, Any], call: ToolCall, context: CallContext) -> ToolResult:
        """The result of really calling it; once more after new credentials, when somebody has them."""
        if self.approver is None:
            return await self._in_turn(tool, arguments, call, context)
        try:
            result = await self._in_turn(tool, arguments, call, context)
        except Exception as error:
            if classify(error).error_type != "authentication_expired":
                raise
        else:
            if result.error is None or result.error.error_type != "authentication_expired":
                return result
        text = f"{tool.name} needs new credentials. Put them in place, then go on."
        await ask(self.approver, question_here("credentials", text, tool=tool.name))
        return await self._in_turn(tool, arguments, call, context)

    async def _in_turn(self, tool: Tool, arguments: dict[str, Any], call: ToolCall, context: CallContext) -> ToolResult:
        limits = [limit for limit in (self._limits.get(tool.name), self._limits.get("*")) if limit is not None]
        if tool.rate_limit is not None:
            limits.append(Limit(tool.rate_limit.calls, tool.rate_limit.per))
        here = place_now.get()
        around = [] if here is None else [place.limiter for place in here.outward() if place.limiter is not None]
        breaker = None if self._breaker is None else self._states.breaker(tool, self._breaker)
        if not limits and not around:
            return await self._watched(tool, arguments, call, context, breaker)
        async with AsyncExitStack() as turns:
            for limiter in [*around, *(self._states.limiter(tool, limit) for limit in limits)]:
                await turns.enter_async_context(limiter.turn())
            return await self._watched(tool, arguments, call, context, breaker)

    async def _watched(
        self, tool: Tool, arguments: dict[str, Any], call: ToolCall, context: CallContext, breaker: Breaker | None
    ) -> ToolResult:
        """One attempt under the eye of the tool's breaker."""
        if breaker is None:
            return _shape(await self._attempt(tool, arguments), tool, call, context)
        if breaker.admit():
            _tell_state(tool, BreakerState.HALF_OPEN)
        try:
            result = _shape(await self._attempt(tool, arguments), tool, call, context)
        except Exception as error:
            _tell_state(tool, breaker.record(classify(error)))
            raise
        except BaseException:
            breaker.left()
            raise
        _tell_state(tool, breaker.record(result.error))
        return result

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


def _tell_state(tool: Tool, state: BreakerState | None) -> None:
    if state is not None:
        tell(EventKind.BREAKER, message=f"{tool.name}: {state.value.replace('_', ' ')}", data={"state": str(state)})


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
