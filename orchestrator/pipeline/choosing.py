"""Which steps can ever run: conditions bound to what they look at, and steps that no run could choose refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...catalog import Catalog, Tool
from ...catalog.errors import BindingError, PipelineError
from .binding import Callee, Scope, bind_level, bind_value, resolve_callee
from .conditions import Check, Comparison, Otherwise, When, text_of
from .outcomes import ALL, Join
from .refs import Ref
from .steps import Branch, StepSpec


def condition_callee(condition: When | None) -> Callee | None:
    """How a condition that is a function is called; None for any other.

    Raises:
        BindingError: it cannot be called by name.
    """
    if isinstance(condition, Otherwise):
        condition = condition.condition
    if condition is None or isinstance(condition, Ref | Comparison):
        return None
    if not callable(condition) or isinstance(condition, Tool):
        raise BindingError(f"a condition is a function, ref(...) or a Comparison, got {condition!r}")
    return resolve_callee(condition, Catalog())


def bind_condition(spec: StepSpec, scope: Scope) -> Check | None:
    """The condition of a step, ready to ask; None when it has none.

    Raises:
        BindingError: a parameter of it cannot be filled.
        UnknownStepError: it looks at a step that there is not.
    """
    condition = spec.when
    if condition is None:
        return None
    wanted, text = not isinstance(condition, Otherwise), text_of(condition)
    if isinstance(condition, Otherwise):
        condition = condition.condition
    callee = condition_callee(condition)
    if callee is not None:
        level = bind_level(_plain(spec), callee, None, 0, scope)
        assert level.call is not None  # a function has one
        return Check(text, level.call, level.arguments, wanted)
    if isinstance(condition, Comparison):
        value, other = bind_value(condition.value, scope), bind_value(condition.other, scope)

        def both(values: list[Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
            return {"value": value.get(values, inputs), "other": other.get(values, inputs)}

        return Check(text, condition.holds, both, wanted)
    assert isinstance(condition, Ref)  # nothing else is left
    source = bind_value(condition, scope)
    return Check(text, _is_true, lambda values, inputs: {"value": source.get(values, inputs)}, wanted)


def _is_true(value: Any) -> bool:
    return bool(value)


def _plain(spec: StepSpec) -> StepSpec:
    """The step without its map: a condition is asked once, of the whole."""
    return StepSpec(name=spec.name, target=spec.target, deps=spec.deps, bind=spec.bind, join=spec.join)


def check_reachable(specs: Iterable[StepSpec], deps: Mapping[str, list[str]]) -> None:
    """Refuses a step that needs steps of which never more than one runs.

    Args:
        specs: in topological order.
        deps: step name to the names it waits for.

    Raises:
        PipelineError: names the step, and two that it needs and that exclude each other.
    """
    needed: dict[str, dict[Branch, str]] = {}  # step to the sides that must be taken for it to run, and by whom
    for spec in specs:
        sides = _sides_needed(spec.join, [needed[dep] for dep in deps[spec.name] if dep in needed])
        branch = spec.branch or _side_of(spec)
        if branch is not None:
            sides = sides | {branch: spec.name}
        for side, step in sides.items():
            opposite = sides.get(Branch(side.fork, not side.taken))
            if opposite is not None:
                raise PipelineError(
                    f"step {spec.name!r} can never run: it needs {step!r} and {opposite!r}, the two sides of one "
                    f"condition; to go on after either of them use .join(..., rule='any'), in a file join: any"
                )
        needed[spec.name] = sides


def _side_of(spec: StepSpec) -> Branch | None:
    """The side that a condition in words puts a step on: equal words have equal answers, for outputs do not change.

    A function may answer differently each time, and a step that does not wait for all may be asked too early.
    """
    taken, condition = not isinstance(spec.when, Otherwise), spec.when
    if isinstance(condition, Otherwise):
        condition = condition.condition
    if spec.join is not ALL or not isinstance(condition, Ref | Comparison):
        return None
    return Branch(repr(condition), taken)


def _sides_needed(join: Join, of_deps: list[dict[Branch, str]]) -> dict[Branch, str]:
    if join.succeeded is None:
        return {side: step for sides in of_deps for side, step in sides.items()} if join.needs_all else {}
    often = {side: sum(1 for sides in of_deps if side in sides) for sides in of_deps for side in sides}
    spare = len(of_deps) - join.succeeded  # so many dependencies it can do without
    return {side: step for sides in of_deps for side, step in sides.items() if often[side] > spare}
