"""The options that every kind of step takes, in one place, and what is made of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from ...catalog import Tool
from ...catalog.errors import BindingError, did_you_mean
from .conditions import Comparison, Otherwise, When
from .outcomes import FallbackPolicy
from .policies import Constant, Fallback, Level, Retry, Stale, SubPipeline, Target, Timeout
from .refs import Ref
from .steps import StepSpec

Dependency = str | Callable[..., Any] | Tool | SubPipeline


class StepOptions(TypedDict, total=False):
    """What may be said of any step.

    Attributes:
        bind: parameter name to a value, a reference, or a list or dict that holds references.
        retry: how to try again. Default: `DEFAULT_RETRY` for tools, no retry for functions.
        fallback: what may serve instead, best first.
        timeout: seconds for one attempt of one level, or a `Timeout`. A tool's own timeout holds as well.
        policy: what this step's failure does to the rest; the run's policy by default.
        when: the step is skipped unless this holds: a function whose parameters are filled as a step's are, a
            reference (is there anything?), or a `Comparison`.
        undo: a function that takes back what the step has done; called with its output (or with nothing, when it takes
            nothing) if the run is abandoned after the step has succeeded: stopped by a failure, cancelled or out of
            time. The last step is undone first. A kept run that is cancelled or out of time is not abandoned: it
            can be resumed.
        process: run synchronous functions of the step in a process of their own, which is killed when a timeout or
            the end of the run says so. They, their arguments and outputs must be picklable.
    """

    bind: Mapping[str, Any] | None
    retry: Retry | None
    fallback: Fallback | Iterable[Target | Level]
    timeout: float | Timeout | None
    policy: FallbackPolicy | None
    when: When | None
    undo: Callable[..., Any] | None
    process: bool


def make_spec(
    target: Target,
    *,
    name: str | None,
    deps: Iterable[Dependency] | None,
    before: Sequence[StepSpec],
    after: tuple[str, ...],
    options: StepOptions,
    **more: Any,
) -> StepSpec:
    """A step as it was described.

    Args:
        target: what it runs.
        name: the step's name; None: its target's.
        deps: what it waits for; None: `after`, and what its parameters are named after.
        before: the steps there are.
        after: names of the steps added just before it.
        options: of any step.
        more: fields of the `StepSpec` that only some kinds of step have.

    Raises:
        BindingError: it or a dependency has no name, an option is unknown or of the wrong kind.
        ValueError: an option is out of range.
    """
    label = name or name_of(target)
    for option in options:
        if option not in StepOptions.__annotations__:
            hint = did_you_mean(option, [*StepOptions.__annotations__, "name", "deps"])
            raise BindingError(f"step {label!r}: there is no option {option!r}{hint}")
    retry, when = options.get("retry"), options.get("when")
    if retry is not None and not isinstance(retry, Retry):
        raise BindingError(f"step {label!r}: retry takes a Retry, got {retry!r}: write retry=Retry(attempts=3)")
    if when is not None and not (callable(when) or isinstance(when, Ref | Comparison | Otherwise)):
        raise BindingError(f"step {label!r}: when takes a function, ref(...) or a Comparison, got {when!r}")
    undo = options.get("undo")
    if undo is not None and not callable(undo):
        raise BindingError(f"step {label!r}: undo takes a function, got {undo!r}")
    fallback, timeout, policy = options.get("fallback", ()), options.get("timeout"), options.get("policy")
    return StepSpec(
        name=label,
        target=target,
        deps=None if deps is None else tuple(name_of_step(dep, before, label) for dep in several(deps, "deps")),
        after=after,
        bind=dict(options.get("bind") or {}),
        retry=retry,
        fallback=fallback if isinstance(fallback, Fallback) else Fallback(*several(fallback, "fallback")),
        timeout=None if timeout is None else timeout if isinstance(timeout, Timeout) else Timeout(timeout),
        policy=None if policy is None else FallbackPolicy(policy),
        undo=undo,
        process=bool(options.get("process", False)),
        **({"when": when} | more),
    )


def name_of(target: Target) -> str:
    """What a step is called when nobody says so.

    Raises:
        BindingError: the target has no name.
    """
    if not isinstance(target, str | Tool | Constant | Stale | SubPipeline) and not callable(target):
        raise BindingError(f"{target!r} is no function, tool or name of a tool; was the function called by mistake?")
    name = target if isinstance(target, str) else getattr(target, "name", None) or getattr(target, "__name__", None)
    if not isinstance(name, str) or name == "<lambda>" or isinstance(target, Constant):
        raise BindingError(f"{target!r} has no name of its own: give the step one with name=")
    return name


def name_of_step(dep: Dependency, steps: Iterable[StepSpec], asking: str) -> str:
    """The name of the step that `dep` stands for: the one that runs it, or the one called so.

    Raises:
        BindingError: several steps run it, or it has no name.
    """
    if isinstance(dep, str):
        return dep
    running = [spec.name for spec in steps if spec.target is dep or _same_method(spec.target, dep)]
    if len(running) > 1:
        raise BindingError(
            f"step {asking!r} depends on {dep!r}, but the steps {', '.join(map(repr, running))} all run it: "
            f"give the step's name"
        )
    return running[0] if running else name_of(dep)


def several(given: Iterable[Any], what: str) -> tuple[Any, ...]:
    """The members of a list; a single step in its place would be taken apart, a name letter by letter.

    Raises:
        BindingError: it is a single step.
    """
    if isinstance(given, str | Tool | Constant | Stale | Level | SubPipeline) or callable(given):
        one = given if isinstance(given, str) else getattr(given, "name", None) or getattr(given, "__name__", "…")
        written = f"{what}=[{one}]" if what in ("deps", "fallback", "otherwise") else f"{what}([{one}])"
        raise BindingError(f"{what} takes a list, also of one: write {written}")
    return tuple(given)


def _same_method(one: object, other: object) -> bool:
    """Whether both are the same method of the same object; each look-up makes a new object for it."""
    return inspect.ismethod(one) and inspect.ismethod(other) and one == other


def positive(seconds: float) -> float:
    """`seconds`, unless it is no time that one can wait for.

    Raises:
        ValueError: it is not above zero.
    """
    if not seconds > 0:
        raise ValueError(f"a timeout must be positive, got {seconds!r}")
    return seconds
