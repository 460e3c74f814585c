"""From described steps to a `Pipeline`: compiled steps, the run inputs they ask for, a runtime with their tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...catalog import Catalog, Tool
from ...catalog.errors import BindingError, DuplicateToolError
from ..runtime import Budget, Limit, Runtime
from .compiling import compile_steps, edges_of
from .inputs import check_inputs, merge_inputs
from .outcomes import FallbackPolicy
from .pipeline import Pipeline
from .run import Run
from .steps import CompiledStep, Kind, StepSpec


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
        _check_runtime(steps, runtime)
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


def extend_run(pipeline: Pipeline, run: Run, given: Mapping[str, Any], specs: Sequence[StepSpec]) -> None:
    """Checks steps against those that an open run has, and adds them.

    Args:
        pipeline: what the run is of.
        run: the run.
        given: its inputs.
        specs: the new steps.

    Raises:
        PipelineError: as for `PipelineBuilder.build`, or the run takes no more steps.
        InputError: a step asks for an input that the run was not given.
    """
    there = list(run.steps.values())
    steps, asked = compile_steps(
        specs, catalog=pipeline.runtime.catalog, declared=None, policy=pipeline.policy, earlier=there
    )
    _check_runtime(steps, pipeline.runtime)
    check_inputs(merge_inputs(asked, None), dict(given), declared=False)
    run.add(steps, edges_of(steps, [*there, *steps]))


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


def _check_runtime(steps: Iterable[CompiledStep], runtime: Runtime) -> None:
    for step in steps:
        for level in step.levels:
            if level.kind is Kind.TOOL and level.value not in runtime.catalog:
                raise BindingError(
                    f"step {step.name!r} uses the tool {level.value!r}, which the runtime's catalog lacks"
                )
