"""`PipelineBuilder`: says which steps there are and what they wait for; `build()` checks it all at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from ...catalog import Catalog, Tool
from ...catalog.errors import BindingError
from ..runtime import Runtime
from .compiling import compile_pipeline
from .outcomes import FallbackPolicy
from .pipeline import Pipeline
from .policies import Constant, Fallback, Level, Retry, Target
from .steps import StepSpec

StepLike = Target
Dependency = str | Callable[..., Any] | Tool


class PipelineBuilder:
    """Collects steps; each method returns the builder.

    A step is a function (sync or async), a `Tool`, or the name of a tool in `catalog`. It is called by the name of
    its function or tool unless `name` says otherwise.

    **What a step waits for.** `deps` says so. Without `deps`, `.then` and `.parallel` wait for the steps added by
    the `.then` or `.parallel` before them, and for steps that their parameters are named after. `.independent`
    waits for nothing.

    **Where parameters come from.** A parameter named after a dependency gets its output (dots and dashes of a
    name become underscores). `bind` gives a parameter a value or a reference (`ref`, `run_input`). Every other
    parameter becomes a run input, optional when it has a default.

    Args:
        name: of the pipeline, for reports.
        catalog: where names of tools are looked up, when the pipeline is built and again at each call. When steps are
            given as `Tool` objects that it lacks, a copy of it with these is used.
        runtime: runs the tools; by default a `Runtime` over `catalog`.

    Example:
        >>> pipeline = (
        ...     PipelineBuilder()
        ...     .parallel([search_flights, search_hotels])
        ...     .then(compare_prices, deps=[search_flights])
        ...     .independent(fetch_weather)
        ...     .with_error_policy(FallbackPolicy.SKIP_AND_REPORT)
        ...     .build()
        ... )
    """

    def __init__(
        self, name: str = "pipeline", *, catalog: Catalog | None = None, runtime: Runtime | None = None
    ) -> None:
        self._name = name
        self._catalog = catalog if catalog is not None else runtime.catalog if runtime is not None else Catalog()
        self._runtime = runtime
        self._steps: list[StepSpec] = []
        self._frontier: tuple[str, ...] = ()
        self._declared: dict[str, Any] | None = None
        self._policy = FallbackPolicy.SKIP_AND_REPORT
        self._limit: int | None = None
        self._timeout: float | None = None

    def then(
        self,
        target: StepLike,
        *,
        name: str | None = None,
        deps: Iterable[Dependency] | None = None,
        bind: Mapping[str, Any] | None = None,
        retry: Retry | None = None,
        fallback: Fallback | Iterable[Target | Level] = (),
        timeout: float | None = None,
        policy: FallbackPolicy | None = None,
    ) -> Self:
        """Adds a step that comes after the ones before it, or after `deps`.

        Args:
            target: a function, a tool, a tool's name, or `constant(...)`.
            name: the step's name.
            deps: the steps to wait for: names, or the functions or tools themselves.
            bind: parameter name to a value, a reference, or a list or dict that holds references.
            retry: how to try again. Default: `DEFAULT_RETRY` for tools, no retry for functions.
            fallback: what may serve instead, best first.
            timeout: seconds for one attempt of one level. A tool's own timeout holds as well.
            policy: what this step's failure does to the rest; the run's policy by default.

        Raises:
            BindingError: the step or a dependency has no name, or `deps` or `fallback` is no list.
            ValueError: `timeout` is not positive.
        """
        spec = self._spec(target, name, deps, bind, retry, fallback, timeout, policy, after=self._frontier)
        self._steps.append(spec)
        self._frontier = (spec.name,)
        return self

    def parallel(
        self,
        targets: Iterable[StepLike],
        *,
        deps: Iterable[Dependency] | None = None,
        bind: Mapping[str, Any] | None = None,
        retry: Retry | None = None,
        fallback: Fallback | Iterable[Target | Level] = (),
        timeout: float | None = None,
        policy: FallbackPolicy | None = None,
    ) -> Self:
        """Adds steps that do not wait for each other; the options hold for each of them (see `then`)."""
        deps = None if deps is None else _several(deps, "deps")
        specs = [
            self._spec(target, None, deps, bind, retry, fallback, timeout, policy, after=self._frontier)
            for target in _several(targets, "parallel")
        ]
        if specs:
            self._steps.extend(specs)
            self._frontier = tuple(spec.name for spec in specs)
        return self

    def independent(
        self,
        target: StepLike,
        *,
        name: str | None = None,
        bind: Mapping[str, Any] | None = None,
        retry: Retry | None = None,
        fallback: Fallback | Iterable[Target | Level] = (),
        timeout: float | None = None,
        policy: FallbackPolicy | None = None,
    ) -> Self:
        """Adds a step that waits for nothing, and that later steps do not wait for unless they say so (see `then`)."""
        self._steps.append(self._spec(target, name, (), bind, retry, fallback, timeout, policy))
        return self

    def inputs(self, *names: str, **types: Any) -> Self:
        """Declares the run inputs, by name or with a type; `build()` then refuses any other.

        Example:
            >>> PipelineBuilder().inputs("query", limit=int)
        """
        declared = dict(self._declared or {})
        declared.update(dict.fromkeys(names, Any))
        declared.update(types)
        self._declared = declared
        return self

    def with_error_policy(self, policy: FallbackPolicy) -> Self:
        """Sets what a failed step does to the rest of the run. Default: `SKIP_AND_REPORT`."""
        self._policy = FallbackPolicy(policy)
        return self

    def with_limit(self, steps: int) -> Self:
        """At most that many steps run at the same time. Default: no limit."""
        if steps < 1:
            raise ValueError(f"the limit must be at least 1, got {steps!r}")
        self._limit = steps
        return self

    def with_timeout(self, seconds: float) -> Self:
        """Ends a run after that many seconds. Default: never."""
        self._timeout = _positive(seconds)
        return self

    def build(self) -> Pipeline:
        """Checks everything and returns the pipeline.

        Raises:
            CycleError: steps wait for each other in a circle; the message prints the path.
            DuplicateStepError: two steps have one name.
            UnknownStepError: a dependency or a reference names no step.
            BindingError: a parameter cannot be filled, types can never fit, or an input was not declared.
        """
        return compile_pipeline(
            self._name,
            self._steps,
            catalog=self._catalog,
            runtime=self._runtime,
            declared=self._declared,
            policy=self._policy,
            limit=self._limit,
            timeout=self._timeout,
        )

    def _spec(
        self,
        target: StepLike,
        name: str | None,
        deps: Iterable[Dependency] | None,
        bind: Mapping[str, Any] | None,
        retry: Retry | None,
        fallback: Fallback | Iterable[Target | Level],
        timeout: float | None,
        policy: FallbackPolicy | None,
        after: tuple[str, ...] = (),
    ) -> StepSpec:
        label = name or self._name_of(target)
        if retry is not None and not isinstance(retry, Retry):
            raise BindingError(f"step {label!r}: retry takes a Retry, got {retry!r}: write retry=Retry(attempts=3)")
        return StepSpec(
            name=label,
            target=target,
            deps=None if deps is None else tuple(self._dependency(dep, label) for dep in _several(deps, "deps")),
            after=after,
            bind=dict(bind or {}),
            retry=retry,
            fallback=fallback if isinstance(fallback, Fallback) else Fallback(*_several(fallback, "fallback")),
            timeout=None if timeout is None else _positive(timeout),
            policy=None if policy is None else FallbackPolicy(policy),
        )

    def _name_of(self, target: StepLike) -> str:
        if not isinstance(target, str | Tool | Constant) and not callable(target):
            raise BindingError(
                f"{target!r} is no function, tool or name of a tool; was the function called by mistake?"
            )
        name = target if isinstance(target, str) else getattr(target, "name", None) or getattr(target, "__name__", None)
        if not isinstance(name, str) or name == "<lambda>" or isinstance(target, Constant):
            raise BindingError(f"{target!r} has no name of its own: give the step one with name=")
        return name

    def _dependency(self, dep: Dependency, step: str) -> str:
        """The name of the step that `dep` stands for: the one that runs it, or the one called so."""
        if isinstance(dep, str):
            return dep
        running = [spec.name for spec in self._steps if spec.target is dep or _same_method(spec.target, dep)]
        if len(running) > 1:
            raise BindingError(
                f"step {step!r} depends on {dep!r}, but the steps {', '.join(map(repr, running))} all run it: "
                f"give the step's name"
            )
        return running[0] if running else self._name_of(dep)


def _several(given: Iterable[Any], what: str) -> tuple[Any, ...]:
    """The members of a list; a single step in its place would be taken apart, a name letter by letter."""
    if isinstance(given, str | Tool | Constant | Level) or callable(given):
        one = given if isinstance(given, str) else getattr(given, "name", None) or getattr(given, "__name__", "…")
        written = f"parallel([{one}])" if what == "parallel" else f"{what}=[{one}]"
        raise BindingError(f"{what} takes a list, also of one: write {written}")
    return tuple(given)


def _same_method(one: object, other: object) -> bool:
    """Whether both are the same method of the same object; each look-up makes a new object for it."""
    return inspect.ismethod(one) and inspect.ismethod(other) and one == other


def _positive(seconds: float) -> float:
    if not seconds > 0:
        raise ValueError(f"a timeout must be positive, got {seconds!r}")
    return seconds
