"""From described steps to checked, indexed ones: names, graph, bindings, and what run inputs they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import networkx as nx

from ...catalog import Catalog
from ...catalog.errors import (
    BindingError,
    CycleError,
    DuplicateStepError,
    UnknownStepError,
    did_you_mean,
)
from .annotations import Type
from .binding import (
    Callee,
    Scope,
    bind_level,
    bind_value,
    check_bound_names,
    in_process,
    references_in,
    resolve_callee,
    steps_by_parameter,
    steps_named_by,
)
from .choosing import bind_condition, check_reachable, condition_callee
from .outcomes import FallbackPolicy
from .policies import DEFAULT_RETRY, NO_RETRY, Retry, Stale
from .policies import Level as LevelSpec
from .steps import CompiledStep, Form, Kind, Spread, StepSpec


def compile_steps(
    specs: Sequence[StepSpec],
    *,
    catalog: Catalog,
    declared: Mapping[str, Any] | None,
    policy: FallbackPolicy,
    earlier: Sequence[CompiledStep] = (),
) -> tuple[tuple[CompiledStep, ...], Asked]:
    """Checks steps and compiles them, in topological order.

    Args:
        specs: the steps.
        catalog: where names of tools are looked up.
        declared: the declared run inputs; None: whatever the steps ask for.
        policy: the run's.
        earlier: steps of the same run that are there already; the new ones may wait for them.

    Returns:
        The steps, and step name to the run inputs that it asks for.
    """
    known = {step.name: step for step in earlier}
    _check_names(specs, declared, known)
    callees = {spec.name: _callees(spec, catalog) for spec in specs}
    deps = _dependencies(specs, callees, known)
    order = _topological_order(specs, deps, known)
    check_reachable(order, deps)
    indexes = {step.name: step.index for step in earlier}
    indexes |= {spec.name: index for index, spec in enumerate(order, len(earlier))}
    dependants: dict[str, list[int]] = {step: [] for step in indexes}
    for spec in order:
        for dep in deps[spec.name]:
            dependants[dep].append(indexes[spec.name])
    types: dict[str, Type] = {step.name: step.returns for step in earlier}
    asked: dict[str, list[tuple[str, Type, bool]]] = {}
    steps: list[CompiledStep] = []
    names_declared = None if declared is None else frozenset(declared)
    for spec in order:
        scope = Scope(spec.name, indexes, frozenset(deps[spec.name]), types, names_declared, spec.join)
        compiled = _compile_step(spec, callees[spec.name], scope, dependants[spec.name], policy)
        types[spec.name] = compiled.returns
        asked[spec.name] = scope.inputs
        steps.append(compiled)
    return tuple(steps), asked


Asked = dict[str, list[tuple[str, Type, bool]]]


def edges_of(steps: Iterable[CompiledStep], every: Sequence[CompiledStep]) -> tuple[tuple[str, str], ...]:
    """(dependency, dependant) pairs of names of `steps`, from all steps by index."""
    return tuple((every[dep].name, step.name) for step in steps for dep in step.deps)


def _check_names(
    specs: Sequence[StepSpec], declared: Mapping[str, Any] | None, known: Mapping[str, CompiledStep]
) -> None:
    seen: set[str] = set(known)
    for spec in specs:
        if spec.name in seen:
            raise DuplicateStepError(f"two steps are called {spec.name!r}: give one of them another name with name=")
        seen.add(spec.name)
    both = seen & set(declared or ())
    if both:
        raise BindingError(f"{', '.join(sorted(map(repr, both)))} names both a step and a declared input")


def _callees(spec: StepSpec, catalog: Catalog) -> list[Callee]:
    try:
        first = resolve_callee(spec.target, catalog)
        callees = [first, *(_callee_of_level(level, first, catalog) for level in spec.fallback.levels)]
        if spec.process:
            callees = [in_process(callee) for callee in callees]
    except BindingError as error:
        raise BindingError(f"step {spec.name!r}: {error}") from error
    check_bound_names(spec, [*callees, *_asking(spec)])
    return callees


def _callee_of_level(level: LevelSpec, first: Callee, catalog: Catalog) -> Callee:
    if not isinstance(level.target, Stale):
        return resolve_callee(level.target, catalog, level.name)
    if first.kind is not Kind.TOOL:
        raise BindingError(f"stale(...) needs a tool before it, whose results are kept; {first.name} is none")
    kept = (first.value, level.target.max_age)
    return replace(first, name=level.name or f"{first.name} (kept)", kind=Kind.STALE, value=kept)


def _asking(spec: StepSpec) -> list[Callee]:
    """The step's condition, when it is a function."""
    try:
        condition = condition_callee(spec.when)
    except BindingError as error:
        raise BindingError(f"step {spec.name!r}: {error}") from error
    return [] if condition is None else [condition]


def _dependencies(
    specs: Sequence[StepSpec], callees: Mapping[str, list[Callee]], known: Mapping[str, CompiledStep]
) -> dict[str, list[str]]:
    """Step name to the names it waits for, without repeats, in the order given."""
    names = {spec.name for spec in specs} | known.keys()
    by_parameter = steps_by_parameter(names)
    deps: dict[str, list[str]] = {}
    for spec in specs:
        looked_at = [spec.bind, spec.when, spec.items.over if spec.items else None]
        references = [ref.source for ref in references_in(looked_at) if not ref.of_input]
        asking = _asking(spec)
        if spec.deps is None:
            inferred = sorted(steps_named_by(spec, [*callees[spec.name], *asking], by_parameter))
            wanted = [*spec.after, *references, *inferred]
        else:
            wanted = [*spec.deps, *references, *sorted(steps_named_by(spec, asking, by_parameter))]
        for dep in wanted:
            if dep not in names:
                raise UnknownStepError(
                    f"step {spec.name!r} depends on {dep!r}, which is no step{did_you_mean(dep, names)}"
                )
        deps[spec.name] = list(dict.fromkeys(wanted))
    return deps


def _topological_order(
    specs: Sequence[StepSpec], deps: Mapping[str, list[str]], known: Mapping[str, CompiledStep]
) -> list[StepSpec]:
    """The steps, each after the ones it waits for, otherwise in the author's order.

    Raises:
        CycleError: there is none; names the steps along one circle, each followed by one that waits for it.
    """
    graph: nx.DiGraph[str] = nx.DiGraph()
    position = {spec.name: number for number, spec in enumerate(specs)}
    graph.add_nodes_from(position)
    graph.add_edges_from((dep, step) for step, waited in deps.items() for dep in waited if dep not in known)
    try:
        return [specs[position[name]] for name in nx.lexicographical_topological_sort(graph, key=position.__getitem__)]
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
    condition = bind_condition(spec, scope)
    simple = levels[0].kind is Kind.ASYNC and len(levels) == 1 and retry.attempts == 1 and spec.timeout is None
    spread = None
    if spec.items is not None:
        spread = Spread(bind_value(spec.items.over, scope), spec.items.limit, spec.items.policy, simple)
    if spec.join.succeeded is not None and spec.join.succeeded > len(scope.deps):
        raise BindingError(
            f"step {spec.name!r} needs {spec.join.succeeded} of the steps that it waits for, and waits for "
            f"{len(scope.deps)}"
        )
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
        plain=simple and spec.form is Form.CHAIN and condition is None,
        returns=_output_of(spec, callees),
        form=spec.form,
        join=spec.join,
        condition=condition,
        spread=spread,
        stagger=spec.stagger,
        undo=spec.undo,
    )


def _output_of(spec: StepSpec, callees: list[Callee]) -> Type:
    """The type of a step's output, `Any` when several levels may give it."""
    returns = callees[0].returns if len(callees) == 1 else Any
    if spec.items is None:
        return returns
    try:
        return list[returns]  # type: ignore[valid-type]
    except TypeError:  # not a type, such as a JSON Schema
        return list


def _default_retry(callee: Callee) -> Retry:
    return DEFAULT_RETRY if callee.kind is Kind.TOOL else NO_RETRY
