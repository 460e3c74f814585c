"""From a step's parameters to where their values come from: dependencies by name, run inputs, references."""

from __future__ import annotations

import functools
import inspect
import pickle
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...catalog import Catalog, Tool
from ...catalog.errors import BindingError, UnknownStepError, UnknownToolError, did_you_mean
from ..threads import runs_in_loop
from .annotations import JsonType, Type, can_fit, follow_type, output_type, parameters_of, signature_name, type_text
from .conditions import Comparison, Otherwise
from .inputs import value_fault
from .outcomes import ALL, Join
from .policies import CONFIDENCE_PER_LEVEL, Constant, Stale, SubPipeline, Target, may_fall_back
from .policies import Level as LevelSpec
from .refs import Ref
from .steps import Assembled, Fixed, Form, FromInput, Kind, Level, Output, OutputSoFar, Parameter, Source, StepSpec


@dataclass(frozen=True, slots=True)
class Callee:
    """What a target is called with and gives back."""

    name: str
    kind: Kind
    call: Callable[..., Any] | None
    value: Any
    parameters: Mapping[str, Parameter]
    takes_anything: bool
    returns: Type


@dataclass(slots=True)
class Scope:
    """What the binding of one step can see.

    Attributes:
        step: the step's name.
        indexes: step name to index, of all steps.
        deps: names of the steps it waits for.
        types: step name to output type, of the steps bound so far.
        inputs: collects (input name, type, required) of what no step provides.
        reads: collects the indexes of the steps whose output is used.
        declared: names of the declared inputs; None: none were declared.
        join: the step's rule for what it waits for.
    """

    step: str
    indexes: Mapping[str, int]
    deps: frozenset[str]
    types: Mapping[str, Type]
    declared: frozenset[str] | None
    join: Join = ALL
    inputs: list[tuple[str, Type, bool]] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)


def identifier(name: str) -> str:
    """A step's name as a parameter name: ``"alerts.get-alert"`` becomes ``"alerts_get_alert"``."""
    return re.sub(r"\W", "_", name)


def steps_by_parameter(names: Iterable[str]) -> dict[str, set[str]]:
    """Parameter name to the steps that it means: the one called so, else those whose name reads so as one."""
    named: dict[str, set[str]] = {}
    for name in names:
        named.setdefault(identifier(name), set()).add(name)
    return named | {name: {name} for name in names}


def steps_named_by(spec: StepSpec, callees: Iterable[Callee], by_parameter: Mapping[str, set[str]]) -> set[str]:
    """Names of the steps that a step's parameters are named after, its own excepted."""
    named: set[str] = set()
    for callee in callees:
        for parameter in callee.parameters:
            if parameter not in spec.bind:
                named |= by_parameter.get(parameter, set())
    return named - {spec.name}


def references_in(value: Any) -> Iterable[Ref]:
    """All references inside a binding or a condition, lists and dicts included."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, Otherwise):
        yield from references_in(value.condition)
    elif isinstance(value, Comparison):
        yield from references_in([value.value, value.other])
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from references_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from references_in(part)


def resolve_callee(target: Target, catalog: Catalog, name: str | None = None) -> Callee:
    """Finds out how `target` is called.

    Raises:
        BindingError: it cannot be called by name, or no tool has that name.
    """
    if isinstance(target, Constant):
        return Callee(name or "constant", Kind.CONSTANT, None, target.value, {}, False, type(target.value))
    if isinstance(target, str):
        try:
            target = catalog.get(target)
        except UnknownToolError as error:
            raise BindingError(f"{error}; give the builder a catalog that has it") from error
    if isinstance(target, Tool):
        return _tool_callee(target, name)
    if isinstance(target, SubPipeline):
        return _pipeline_callee(target, name)
    if callable(target):
        return _function_callee(target, name)
    if isinstance(target, Stale):
        raise BindingError("stale(...) is a level of a fallback chain: write fallback=[stale()]")
    raise BindingError(f"{target!r} is neither a function, a tool, a tool's name, a pipeline nor constant(...)")


def in_process(callee: Callee) -> Callee:
    """The same in a process of its own, if it is a synchronous function.

    Raises:
        BindingError: it cannot be sent to a process.
    """
    if callee.kind is not Kind.THREAD:
        return callee
    try:
        pickle.dumps(callee.call)
    except Exception as error:
        raise BindingError(
            f"{callee.name} cannot run in a process: {error}; use a function at the top level of a module"
        ) from error
    return replace(callee, kind=Kind.PROCESS)


def _pipeline_callee(pipeline: SubPipeline, name: str | None) -> Callee:
    parameters = {
        key: Parameter(key, wanted.types[0] if len(wanted.types) == 1 else Any, wanted.required)
        for key, wanted in pipeline.inputs.items()
    }
    returns = next(iter(pipeline.leaves.values())) if len(pipeline.leaves) == 1 else dict
    return Callee(name or pipeline.name, Kind.PIPELINE, None, pipeline, parameters, False, returns)


def _tool_callee(tool: Tool, name: str | None) -> Callee:
    required = tool.parameters.get("required", ())
    definitions = {"$defs": tool.parameters["$defs"]} if "$defs" in tool.parameters else {}
    parameters = {
        key: Parameter(key, JsonType({**schema, **definitions} if isinstance(schema, Mapping) else {}), key in required)
        for key, schema in tool.parameters.get("properties", {}).items()
    }
    returns: Type = JsonType(tool.returns) if tool.returns else Any
    return Callee(name or tool.name, Kind.TOOL, None, tool.name, parameters, False, returns)


def _function_callee(function: Callable[..., Any], name: str | None) -> Callee:
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise BindingError(f"{signature_name(function)} is a generator: a step returns one value")
    signature, hints, returns = parameters_of(function)
    positional = {p.name: p.default for p in signature.values() if p.kind is inspect.Parameter.POSITIONAL_ONLY}
    parameters = {
        p.name: Parameter(p.name, hints.get(p.name, Any), p.default is inspect.Parameter.empty)
        for p in signature.values()
        if p.kind is not inspect.Parameter.VAR_KEYWORD
    }
    anything = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in signature.values())
    in_loop = runs_in_loop(function)
    call = functools.partial(_call_positionally, function, positional) if positional else function
    kind = Kind.ASYNC if in_loop else Kind.THREAD
    label = name or getattr(function, "__name__", None) or type(function).__name__
    return Callee(label, kind, call, None, parameters, anything, output_type(returns, awaited=kind is Kind.THREAD))


def _call_positionally(function: Callable[..., Any], positional: Mapping[str, Any], /, **arguments: Any) -> Any:
    """Calls `function` with the arguments that have no name for it (here: name to default) in their places."""
    given = sum(1 for name in positional if name in arguments)
    leading: list[Any] = []
    for name, default in positional.items():
        if not given:
            break
        given -= name in arguments
        leading.append(arguments.pop(name, default))
    return function(*leading, **arguments)


def check_bound_names(spec: StepSpec, callees: Iterable[Callee]) -> None:
    """Refuses a binding that names no parameter of any level.

    Raises:
        BindingError: with near names.
    """
    callees = list(callees)
    if any(callee.takes_anything for callee in callees):
        return
    known = {name for callee in callees for name in callee.parameters}
    for name in spec.bind:
        if name not in known:
            hint = did_you_mean(name, known)
            raise BindingError(f"step {spec.name!r}: {callees[0].name} has no parameter {name!r}{hint}")


def bind_level(spec: StepSpec, callee: Callee, chosen: LevelSpec | None, position: int, scope: Scope) -> Level:
    """Binds one level of a step.

    Args:
        spec: the step.
        callee: how the level is called.
        chosen: what the author said of a fallback level; None for the step's own target.
        position: 0 for the step's own target, then 1, 2, … along the chain.
        scope: what the step can see; collects inputs and reads.

    Raises:
        BindingError: a parameter cannot be filled, or types can never fit.
        UnknownStepError: a reference names no step.
    """
    bindings: list[tuple[str, Source]] = []
    each = parameter_for_items(spec, callee, scope)
    for parameter in callee.parameters.values():
        if parameter.name == each:
            continue
        source = _source_of(parameter, spec, scope)
        if source is not None:
            bindings.append((parameter.name, source))
    if callee.takes_anything:
        bindings.extend(_leftovers(spec, scope, {name for name, _ in bindings}))
    return Level(
        name=callee.name,
        kind=callee.kind,
        call=callee.call,
        value=callee.value,
        bindings=tuple(bindings),
        optional=frozenset(p.name for p in callee.parameters.values() if not p.required),
        confidence=1.0 if spec.form is Form.RACE else _confidence(chosen, position),
        note=chosen.note if chosen else "",
        accepts=chosen.on if chosen else may_fall_back,
        each=each,
    )


def parameter_for_items(spec: StepSpec, callee: Callee, scope: Scope) -> str:
    """The parameter of a map step's function that gets an item, "" when it gets none.

    It is the one that the author named, else the first that neither a binding nor another step fills.

    Raises:
        BindingError: there is none, or items can never be of its type.
    """
    if spec.items is None or callee.kind is Kind.CONSTANT:
        return ""
    wanted = spec.items.each
    if wanted is None:
        source = spec.items.over.source if isinstance(spec.items.over, Ref) else None
        filled = {*spec.bind, *(identifier(dep) for dep in scope.deps if dep != source)}
        wanted = next((name for name in callee.parameters if name not in filled), None)
        if wanted is None:
            raise BindingError(f"step {spec.name!r}: {callee.name} has no parameter left that could get an item")
    elif wanted in spec.bind:
        raise BindingError(f"step {spec.name!r}: parameter {wanted!r} gets the items, it cannot be bound, too")
    elif wanted not in callee.parameters and not callee.takes_anything:
        hint = did_you_mean(wanted, callee.parameters)
        raise BindingError(f"step {spec.name!r}: {callee.name} has no parameter {wanted!r} for the items{hint}")
    if wanted in callee.parameters and isinstance(spec.items.over, Ref) and not spec.items.over.of_input:
        over = spec.items.over
        what = f"step {spec.name!r}: the items of {over}"
        produced = follow_type(scope.types.get(over.source, Any), (*over.path, 0), what)
        _check_fits(produced, callee.parameters[wanted], scope, f"an item of {over} is {type_text(produced)}")
    return wanted


def bind_value(value: Any, scope: Scope) -> Source:
    """Where a value comes from that is no parameter's: what a map goes over, or what a condition looks at.

    Raises:
        BindingError: a reference cannot be followed.
        UnknownStepError: a reference names no step.
    """
    return _given(value, Parameter("value", Any, True), scope)


def _confidence(chosen: LevelSpec | None, position: int) -> float:
    if chosen is not None and chosen.confidence is not None:
        return chosen.confidence
    return float(CONFIDENCE_PER_LEVEL**position)


def _source_of(parameter: Parameter, spec: StepSpec, scope: Scope) -> Source | None:
    """Where a parameter's value comes from; None: its own default serves."""
    if parameter.name in spec.bind:
        return _given(spec.bind[parameter.name], parameter, scope)
    step = _step_called(parameter.name, scope)
    if step is not None and step in scope.deps:
        return _output(Ref(step), parameter, scope)
    if step is not None and parameter.required and not (scope.declared and parameter.name in scope.declared):
        raise BindingError(
            f"step {scope.step!r}: parameter {parameter.name!r} has the name of step {step!r}, which is not among "
            f"its dependencies: add it to deps, or bind the parameter"
        )
    if scope.declared is not None and parameter.name not in scope.declared:
        if not parameter.required:
            return None
        known = ", ".join(sorted(scope.declared)) or "none"
        raise BindingError(
            f"step {scope.step!r}: nobody provides parameter {parameter.name!r}: it is neither a dependency nor a "
            f"declared input (declared: {known}){did_you_mean(parameter.name, scope.declared)}"
        )
    scope.inputs.append((parameter.name, parameter.type, parameter.required))
    return FromInput(Ref(parameter.name, of_input=True))


def _step_called(parameter: str, scope: Scope) -> str | None:
    if parameter in scope.indexes and parameter != scope.step:
        return parameter
    matches = sorted(name for name in scope.deps if identifier(name) == parameter)
    if len(matches) > 1:
        raise BindingError(
            f"step {scope.step!r}: parameter {parameter!r} could mean {' and '.join(map(repr, matches))}: "
            f"bind it to one of them with ref(...)"
        )
    return matches[0] if matches else None


def _given(value: Any, parameter: Parameter, scope: Scope) -> Source:
    if isinstance(value, Ref):
        return _from_input(value, parameter, scope) if value.of_input else _output(value, parameter, scope)
    if any(True for _ in references_in(value)):
        _check_fits(type(value), parameter, scope, f"a {type(value).__name__} is bound to it")
        part_of = Parameter(parameter.name, Any, parameter.required)
        if isinstance(value, Mapping):
            return Assembled({key: _given(part, part_of, scope) for key, part in value.items()})
        parts = [_given(part, part_of, scope) for part in value]
        return Assembled(tuple(parts) if isinstance(value, tuple) else parts)
    value = _without_marks(value)
    fault = value_fault(value, parameter.type)
    if fault:
        raise BindingError(f"step {scope.step!r}: parameter {parameter.name!r} is bound to a value: {fault}")
    return Fixed(value)


def _without_marks(value: Any) -> Any:
    """`value` without the `constant(...)` around it or its parts."""
    if isinstance(value, Constant):
        return value.value
    if type(value) in (list, tuple):
        return type(value)(map(_without_marks, value))
    return {key: _without_marks(part) for key, part in value.items()} if type(value) is dict else value


def _check_fits(produced: Type, parameter: Parameter, scope: Scope, what: str) -> None:
    if not can_fit(produced, parameter.type):
        raise BindingError(
            f"step {scope.step!r}: parameter {parameter.name!r} wants {type_text(parameter.type)}, but {what}"
        )


def _from_input(reference: Ref, parameter: Parameter, scope: Scope) -> Source:
    if scope.declared is not None and reference.source not in scope.declared:
        hint = did_you_mean(reference.source, scope.declared)
        raise BindingError(f"step {scope.step!r}: there is no declared input {reference.source!r}{hint}")
    scope.inputs.append((reference.source, Any if reference.path else parameter.type, True))
    return FromInput(reference)


def _output(reference: Ref, parameter: Parameter, scope: Scope) -> Source:
    if reference.source not in scope.indexes:
        hint = did_you_mean(reference.source, scope.indexes)
        raise UnknownStepError(f"step {scope.step!r} refers to {reference.source!r}, which is no step{hint}")
    what = f"step {scope.step!r}: {reference}"
    produced = follow_type(scope.types.get(reference.source, Any), reference.path, what)
    _check_fits(produced, parameter, scope, f"{reference} gives {type_text(produced)}")
    index = scope.indexes[reference.source]
    scope.reads.add(index)
    return Output(index, reference) if scope.join.needs_all else OutputSoFar(index, reference)


def _leftovers(spec: StepSpec, scope: Scope, bound: set[str]) -> Iterable[tuple[str, Source]]:
    """What a function with ``**kwargs`` gets besides its own parameters: other bindings, other dependencies."""
    anything = Parameter("**", Any, False)
    for name, value in spec.bind.items():
        if name not in bound:
            bound.add(name)
            yield name, _given(value, anything, scope)
    for name in sorted(scope.deps, key=scope.indexes.__getitem__):
        referred = any(ref.source == name and not ref.of_input for ref in references_in(spec.bind))
        if identifier(name) not in bound and not referred:
            yield identifier(name), _output(Ref(name), anything, scope)
