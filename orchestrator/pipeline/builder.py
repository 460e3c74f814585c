"""`PipelineBuilder`: says which steps there are and what they wait for; `build()` checks it all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, Unpack

from ...catalog import Catalog, Tool
from ...catalog.errors import BindingError
from ..runtime import Budget, Limit, Runtime
from .building import compile_pipeline
from .conditions import Comparison, Otherwise
from .options import Dependency, StepOptions, make_spec, name_of, name_of_step, positive, several
from .outcomes import FallbackPolicy, Join, as_join
from .pipeline import Pipeline
from .policies import SubPipeline, Target
from .refs import Ref
from .steps import Branch, Form, Items, StepSpec


class PipelineBuilder:
    """Collects steps; each method returns the builder.

    A step is a function (sync or async), a `Tool`, the name of a tool in `catalog`, or a whole `Pipeline`. It is called
    by the name of its function, tool or pipeline unless `name` says otherwise.

    **What a step waits for.** `deps` says so. Without `deps`, a step waits for the steps that the method before it
    added, and for those that its parameters are named after. `.step` waits only for the latter; `.independent` waits
    for nothing.

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
        self._budget: Budget | None = None
        self._call_limit: Limit | None = None

    def step(
        self,
        target: Target,
        *,
        name: str | None = None,
        deps: Iterable[Dependency] = (),
        **options: Unpack[StepOptions],
    ) -> Self:
        """Adds a step that waits for `deps` and for the steps that its parameters are named after, for nothing else.

        With it a graph is written down in any order. Options: `StepOptions`.

        Raises:
            BindingError: the step or a dependency has no name, or an option is unknown or of the wrong kind.
            ValueError: an option is out of range.
        """
        waited = tuple(name_of_step(dep, self._steps, name or name_of(target)) for dep in several(deps, "deps"))
        self._add(self._spec(target, name, None, options, after=waited))
        return self

    def then(
        self,
        target: Target,
        *,
        name: str | None = None,
        deps: Iterable[Dependency] | None = None,
        **options: Unpack[StepOptions],
    ) -> Self:
        """Adds a step that comes after the ones before it, or after `deps`.

        Args:
            target: a function, a tool, a tool's name, a pipeline, or `constant(...)`.
            name: the step's name.
            deps: the steps to wait for: names, or the functions or tools themselves.
            options: see `StepOptions`.

        Raises:
            BindingError: the step or a dependency has no name, or an option is unknown or of the wrong kind.
            ValueError: an option is out of range.
        """
        self._add(self._spec(target, name, deps, options, after=self._frontier))
        return self

    def parallel(
        self,
        targets: Iterable[Target],
        *,
        deps: Iterable[Dependency] | None = None,
        **options: Unpack[StepOptions],
    ) -> Self:
        """Adds steps that do not wait for each other; the options hold for each of them (see `then`)."""
        deps = None if deps is None else several(deps, "deps")
        members = several(targets, "parallel")
        self._add(*(self._spec(target, None, deps, options, after=self._frontier) for target in members))
        return self

    def independent(self, target: Target, *, name: str | None = None, **options: Unpack[StepOptions]) -> Self:
        """Adds a step that waits for nothing, and that later steps do not wait for unless they say so (see `then`)."""
        self._steps.append(self._spec(target, name, (), options))
        return self

    def map(
        self,
        target: Target,
        over: Ref | Dependency | Sequence[Any],
        *,
        each: str | None = None,
        name: str | None = None,
        deps: Iterable[Dependency] | None = None,
        limit: int | None = None,
        items: FallbackPolicy = FallbackPolicy.SKIP_AND_REPORT,
        **options: Unpack[StepOptions],
    ) -> Self:
        """Adds a step that does the same for every item of a list, and puts out the answers in the list's order.

        Retry, fallback and timeout hold for each item by itself. The list is known only when the run gets there; of
        an empty one the output is an empty list.

        Args:
            target: what is done with an item.
            over: the step that puts out the list, a reference (`ref`, `run_input`), or the list itself.
            each: the parameter that gets the item; by default the first that nothing else fills.
            name: the step's name.
            deps: the steps to wait for; the one that gives the list always is among them.
            limit: items at the same time, at most. Default: as many as the run allows.
            items: what a failed item does to the others. SKIP_AND_REPORT (default): its answer is left out, and the
                output is marked as degraded; CONTINUE_WITH_PARTIAL: a `Missing` stands in its place; FAIL_FAST: the
                others are cancelled and the step fails. It fails, too, when every item has failed.
            options: see `StepOptions`.

        Raises:
            BindingError: as for `then`.
            ValueError: `limit` is below 1, or another option is out of range.
        """
        if limit is not None and limit < 1:
            raise ValueError(f"the limit must be at least 1, got {limit!r}")
        label = name or name_of(target)
        if isinstance(over, str | Tool | SubPipeline) or callable(over):
            over = Ref(name_of_step(over, self._steps, label))
        elif not isinstance(over, Ref):
            over = list(over)
        goes_over = Items(over, each, limit, FallbackPolicy(items))
        self._add(
            self._spec(target, name, deps, options, after=self._frontier, form=Form.MAP, items=goes_over),
        )
        return self

    def when(
        self,
        condition: Callable[..., Any] | Ref | Comparison,
        targets: Iterable[Target],
        *,
        otherwise: Iterable[Target] = (),
        deps: Iterable[Dependency] | None = None,
        **options: Unpack[StepOptions],
    ) -> Self:
        """Adds steps that run when a condition holds, and others that run when it does not.

        The steps of one side do not wait for each other. What is not chosen is skipped, and so is what needs it: go
        on with `.join(..., rule="any")`. The condition is asked once for each step, when its turn comes.

        Args:
            condition: a function whose parameters are filled as a step's are (it should be quick: it runs in the event
                loop; or it is async), a reference, which holds when there is anything, or a `Comparison`.
            targets: what runs when it holds.
            otherwise: what runs when it does not.
            deps: as for `then`.
            options: of each of the steps; see `StepOptions`.

        Raises:
            BindingError: as for `then`; or the condition is none.
            ValueError: an option is out of range.

        Example:
            >>> def is_long(fetch: str) -> bool:
            ...     return len(fetch) > 10_000
            >>> PipelineBuilder().then(fetch).when(is_long, [summarise], otherwise=[quote]).join(send, rule="any")
        """
        if "when" in options:
            raise BindingError("steps of .when(...) have its condition; put both into one function")
        deps = None if deps is None else several(deps, "deps")
        fork = sum(1 for spec in self._steps if spec.branch is not None)
        sides = (
            (True, condition, several(targets, "when")),
            (False, Otherwise(condition), several(otherwise, "otherwise")),
        )
        self._add(
            *(
                self._spec(target, None, deps, options | {"when": side}, self._frontier, branch=Branch(fork, taken))
                for taken, side, members in sides
                for target in members
            )
        )
        return self

    def join(
        self,
        target: Target,
        *,
        rule: Join | str = "all",
        name: str | None = None,
        deps: Iterable[Dependency] | None = None,
        **options: Unpack[StepOptions],
    ) -> Self:
        """Adds a step that needs only some of the steps that it waits for.

        For each that has failed, was skipped, or has not ended yet, its parameters get a `Missing`.

        Args:
            target: as for `then`.
            rule: ``"all"``: all must succeed; ``"any"``: it starts as soon as one has succeeded; ``at_least(n)``: as
                soon as n have; ``"all_done"``: it starts when all have ended, however. Steps that are still running
                then go on; to cancel them, use `race`.
            name: the step's name.
            deps: as for `then`.
            options: see `StepOptions`.

        Raises:
            BindingError: as for `then`.
            ValueError: there is no such rule, or an option is out of range.
        """
        self._add(self._spec(target, name, deps, options, after=self._frontier, join=as_join(rule)))
        return self

    def race(
        self,
        targets: Iterable[Target],
        *,
        name: str,
        stagger: float = 0.0,
        deps: Iterable[Dependency] | None = None,
        **options: Unpack[StepOptions],
    ) -> Self:
        """Adds a step that starts all targets at once; the first success is its output, and the others are cancelled.

        Args:
            targets: what races, each with the step's retry and timeout.
            name: the step's name.
            stagger: seconds after which the next one starts, unless the one before has failed sooner. Default: no
                delay.
            deps: as for `then`.
            options: see `StepOptions`; no `fallback`.

        Raises:
            BindingError: as for `then`; or nothing races.
            ValueError: `stagger` is negative, or another option is out of range.
        """
        first, *others = several(targets, "race") or (None,)
        if first is None or "fallback" in options:
            raise BindingError(f"step {name!r}: a race needs someone to race, and all of them are its targets")
        if not stagger >= 0:
            raise ValueError(f"stagger must not be negative, got {stagger!r}")
        spec = self._spec(
            first, name, deps, options | {"fallback": others}, self._frontier, form=Form.RACE, stagger=stagger
        )
        self._add(spec)
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
        self._timeout = positive(seconds)
        return self

    def with_budget(self, budget: Budget) -> Self:
        """Sets what the tool calls of a run may spend. Default: no limit."""
        self._budget = budget
        return self

    def with_call_limit(self, limit: Limit) -> Self:
        """Sets how often a run calls tools, all of them together. Default: no limit."""
        self._call_limit = limit
        return self

    @property
    def specs(self) -> tuple[StepSpec, ...]:
        """The steps as they were described so far."""
        return tuple(self._steps)

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
            budget=self._budget,
            call_limit=self._call_limit,
        )

    def _add(self, *specs: StepSpec) -> None:
        """Adds steps that come after those before them, all side by side."""
        self._steps += specs
        if specs:
            self._frontier = tuple(spec.name for spec in specs)

    def _spec(
        self,
        target: Target,
        name: str | None,
        deps: Iterable[Dependency] | None,
        options: StepOptions,
        after: tuple[str, ...] = (),
        **more: Any,
    ) -> StepSpec:
        return make_spec(target, name=name, deps=deps, before=self._steps, after=after, options=options, **more)
