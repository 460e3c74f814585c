"""Small steps and tools that many tests are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import anyio
from toolpath.catalog import Catalog, Tool
from toolpath.orchestrator import FallbackPolicy, Pipeline, PipelineBuilder, RunReport, StepOutcome

SUCCEEDED = StepOutcome.SUCCEEDED
FAILED = StepOutcome.FAILED
SKIPPED = StepOutcome.SKIPPED
TIMED_OUT = StepOutcome.TIMED_OUT
CANCELLED = StepOutcome.CANCELLED

FAIL_FAST = FallbackPolicy.FAIL_FAST
SKIP = FallbackPolicy.SKIP_AND_REPORT
PARTIAL = FallbackPolicy.CONTINUE_WITH_PARTIAL

Step = Callable[..., Any]


def returning(value: Any, after: float = 0.0) -> Callable[..., Awaitable[Any]]:
    """An async step that gives `value` after that many seconds."""

    async def step() -> Any:
        if after:
            await anyio.sleep(after)
        return value

    return step


def raising(*errors: BaseException, then: Any = None, after: float = 0.0) -> Callable[..., Awaitable[Any]]:
    """An async step that raises the errors one after the other, attempt by attempt, and then gives `then`.

    With a single error it never stops raising it.
    """
    left = list(errors)

    async def step() -> Any:
        if after:
            await anyio.sleep(after)
        if len(errors) == 1:
            raise errors[0]
        if left:
            raise left.pop(0)
        return then

    return step


class Counted:
    """A sync or async function that counts its calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls: list[dict[str, Any]] = []

    async def __call__(self, **arguments: Any) -> Any:
        self.calls.append(arguments)
        returned = self.function(**arguments)
        return await returned if isinstance(returned, Awaitable) else returned


def make_tool(
    name: str,
    handler: Callable[..., Any] | None,
    properties: Mapping[str, Any] | None = None,
    *,
    required: Iterable[str] = (),
    **fields: Any,
) -> Tool:
    """A tool with these parameters."""
    parameters = {"type": "object", "properties": dict(properties or {}), "required": list(required)}
    return Tool(name=name, description=f"{name}.", parameters=parameters, handler=handler, **fields)


def graph(
    edges: Mapping[str, Iterable[str]], steps: Mapping[str, Step] | None = None, **policies: FallbackPolicy
) -> PipelineBuilder:
    """A builder with one step for each key of `edges`, which waits for the steps listed there."""
    builder = PipelineBuilder()
    for name, deps in edges.items():
        step = (steps or {}).get(name, returning(name))
        builder.then(step, name=name, deps=list(deps), policy=policies.get(name))
    return builder


def outcomes(report: RunReport) -> dict[str, str]:
    """Step name to outcome, as plain text."""
    return {step.name: str(step.outcome) for step in report}


def catalog_of(*tools: Tool) -> Catalog:
    return Catalog(tools)


def single(step: Any, **options: Any) -> Pipeline:
    """A pipeline of one step called "step"."""
    return PipelineBuilder().then(step, name="step", **options).build()
