"""From described steps to a `Pipeline`: compiled steps, the run inputs they ask for, a runtime with their tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...catalog import Catalog, Tool
from ...catalog.errors import DuplicateToolError
from ..runtime import Budget, Limit, Runtime
from .compiling import compile_steps, edges_of
from .extending import check_runtime
from .inputs import merge_inputs
from .outcomes import FallbackPolicy
from .pipeline import Pipeline
from .steps import StepSpec


def compile_pipeline(
    name: str,
    specs: Sequence[StepSpec],
    *,
    catalog: Catalog,
    runtime: Runtime | None,
    declared: Mapping[str, Any] | None,
    policy: FallbackPolicy,
    limit: int | None,
    timeout: float | None,
    budget: Budget | None = None,
    call_limit: Limit | None = None,
) -> Pipeline:
    """Checks the steps and compiles them; see `PipelineBuilder.build` for what is raised."""
    catalog = _with_tools_of(specs, catalog)
    steps, asked = compile_steps(specs, catalog=catalog, declared=declared, policy=policy)
    if runtime is None:
        runtime = Runtime(catalog)
    else:
        check_runtime(steps, runtime)
    return Pipeline(
        name=name,
        steps=steps,
        edges=edges_of(steps, steps),
        inputs=merge_inputs(asked, declared),
        inputs_declared=declared is not None,
        runtime=runtime,
        policy=policy,
        limit=limit,
        timeout=timeout,
        budget=budget,
        call_limit=call_limit,
    )


def _with_tools_of(specs: Iterable[StepSpec], catalog: Catalog) -> Catalog:
    """`catalog`, with the `Tool` objects that steps and levels were given added where it lacks them."""
    tools = [
        target
        for spec in specs
        for target in (spec.target, *(level.target for level in spec.fallback.levels))
        if isinstance(target, Tool)
    ]
    missing: dict[str, Tool] = {}
    for tool in tools:
        known = catalog.find(tool.name) or missing.get(tool.name)
        if known is None:
            missing[tool.name] = tool
        elif known is not tool and (known != tool or known.handler is not tool.handler):
            raise DuplicateToolError(
                f"a step uses a tool {tool.name!r} from {tool.source or 'code'} that differs from the one of that name "
                f"in the catalog, from {known.source or 'code'}: use the name to mean the catalog's"
            )
    return Catalog([*catalog, *missing.values()]) if missing else catalog
