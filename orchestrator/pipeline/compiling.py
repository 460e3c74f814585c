"""From described steps to a checked, indexed pipeline: names, graph, bindings, inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import networkx as nx

from ...catalog import Catalog, Tool
from ...catalog.errors import (
    BindingError,
    CycleError,
    DuplicateStepError,
    DuplicateToolError,
    UnknownStepError,
    did_you_mean,
)
from ..runtime import Runtime
from .annotations import Type
from .binding import (
    Callee,
    Scope,
    bind_level,
    check_bound_names,
    references_in,
    resolve_callee,
    steps_by_parameter,
    steps_named_by,
)
from .inputs import merge_inputs
from .outcomes import FallbackPolicy
from .pipeline import Pipeline
from .policies import DEFAULT_RETRY, NO_RETRY, Retry
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
) -> Pipeline:
    """Checks the steps and compiles them; see `PipelineBuilder.build` for what is raised."""
    _check_names(specs, declared)
    catalog = _with_tools_of(specs, catalog)
    callees = {spec.name: _callees(spec, catalog) for spec in specs}
    deps = _dependencies(specs, callees)
    order = _topological_order(specs, deps)
    indexes = {step: index for index, step in enumerate(order)}
    by_name = {spec.name: spec for spec in specs}
    dependants: dict[str, list[int]] = {step: [] for step in order}
    for step in order:
        for dep in deps[step]:
            dependants[dep].append(indexes[step])
    types: dict[str, Type] = {}
    asked: dict[str, list[tuple[str, Type, bool]]] = {}
    steps: list[CompiledStep] = []
    for step in order:
        scope = Scope(step, indexes, frozenset(deps[step]), types, None if declared is None else frozenset(declared))
        compiled = _compile_step(by_name[step], callees[step], scope, dependants[step], policy)
        types[step] = compiled.returns if len(compiled.levels) == 1 else Any
        asked[step] = scope.inputs
        steps.append(compiled)
    if runtime is None:
        runtime = Runtime(catalog)
    else:
        _check_runtime(steps, runtime)
    return Pipeline(
        name=name,
        steps=tuple(steps),
        edges=tuple((steps[dep].name, step.name) for step in steps for dep in step.deps),
        inputs=merge_inputs(asked, declared),
        inputs_declared=declared is not None,
        runtime=runtime,
        policy=policy,
        limit=limit,
        timeout=timeout,
    )


def _check_names(specs: Sequence[StepSpec], declared: Mapping[str, Any] | None) -> None:
    seen: set[str] = set()
    for spec in specs:
        if spec.name in seen:
            raise DuplicateStepError(f"two steps are called {spec.name!r}: give one of them another name with name=")
        seen.add(spec.name)
    both = seen & set(declared or ())
    if both:
        raise BindingError(f"{', '.join(sorted(map(repr, both)))} names both a step and a declared input")


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


def _callees(spec: StepSpec, catalog: Catalog) -> list[Callee]:
    try:
        callees = [
            resolve_callee(spec.target, catalog),
            *(resolve_callee(level.target, catalog, level.name) for level in spec.fallback.levels),
        ]
    except BindingError as error:
        raise BindingError(f"step {spec.name!r}: {error}") from error
    check_bound_names(spec, callees)
    return callees


def _dependencies(specs: Sequence[StepSpec], callees: Mapping[str, list[Callee]]) -> dict[str, list[str]]:
    """Step name to the names it waits for, without repeats, in the order given."""
    names = {spec.name for spec in specs}
    by_parameter = steps_by_parameter(names)
    deps: dict[str, list[str]] = {}
    for spec in specs:
        references = [ref.source for ref in references_in(spec.bind) if not ref.of_input]
        if spec.deps is None:
            inferred = sorted(steps_named_by(spec, callees[spec.name], by_parameter))
            wanted = [*spec.after, *references, *inferred]
        else:
            wanted = [*spec.deps, *references]
        for dep in wanted:
            if dep not in names:
                raise UnknownStepError(
                    f"step {spec.name!r} depends on {dep!r}, which is no step{did_you_mean(dep, names)}"
                )
        deps[spec.name] = list(dict.fromkeys(wanted))
    return deps


def _topological_order(specs: Sequence[StepSpec], deps: Mapping[str, list[str]]) -> list[str]:
    """Step names, each after the ones it waits for, otherwise in the author's order.

    Raises:
        CycleError: there is none; names the steps along one circle, each followed by one that waits for it.
    """
    graph: nx.DiGraph[str] = nx.DiGraph()
    position = {spec.name: number for number, spec in enumerate(specs)}
    graph.add_nodes_from(position)
    graph.add_edges_from((dep, step) for step, waited in deps.items() for dep in waited)
    try:
        return list(nx.lexicographical_topological_sort(graph, key=position.__getitem__))
    except nx.NetworkXUnfeasible:
        edges = nx.find_cycle(graph)
        raise CycleError([edges[0][0], *(edge[1] for edge in edges)]) from None


def _compile_step(
    spec: StepSpec, callees: list[Callee], scope: Scope, dependants: list[int], policy: FallbackPolicy
) -> CompiledStep:
    chosen = (None, *spec.fallback.levels)
    levels = tuple(
        bind_level(spec, callee, level, position, scope)
        for position, (callee, level) in enumerate(zip(callees, chosen, strict=True))
    )
    retry = spec.retry or _default_retry(callees[0])
    plain = levels[0].kind is Kind.ASYNC and len(levels) == 1 and retry.attempts == 1 and spec.timeout is None
    return CompiledStep(
        index=scope.indexes[spec.name],
        name=spec.name,
        deps=tuple(scope.indexes[dep] for dep in sorted(scope.deps, key=scope.indexes.__getitem__)),
        dependants=tuple(dependants),
        reads=tuple(sorted(scope.reads)),
        levels=levels,
        retry=retry,
        timeout=spec.timeout,
        policy=spec.policy or policy,
        plain=plain,
        returns=callees[0].returns,
    )


def _default_retry(callee: Callee) -> Retry:
    return DEFAULT_RETRY if callee.kind is Kind.TOOL else NO_RETRY


def _check_runtime(steps: Iterable[CompiledStep], runtime: Runtime) -> None:
    for step in steps:
        for level in step.levels:
            if level.kind is Kind.TOOL and level.value not in runtime.catalog:
                raise BindingError(
                    f"step {step.name!r} uses the tool {level.value!r}, which the runtime's catalog lacks"
                )
