"""A step before and after `build()`: what the author asked for, and the compiled form that the scheduler runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from ...catalog import ErrorInfo
from .annotations import Type, type_text
from .conditions import Check, When
from .outcomes import ALL, FallbackPolicy, Join, Missing
from .policies import Fallback, Retry, Target, Timeout
from .refs import Ref, follow


class Form(Enum):
    """How the levels of a step are put to use.

    CHAIN: one after the other, until one serves. RACE: all at once, and the first success counts. MAP: the chain, for
    each item of a list.
    """

    CHAIN = auto()
    RACE = auto()
    MAP = auto()


@dataclass(frozen=True, slots=True)
class Items:
    """What a map step goes over, as the author described it.

    Attributes:
        over: the list, or a reference to it.
        each: the parameter that gets an item; None: the first one that nothing else fills.
        limit: items at the same time, at most; None: as many as the run allows.
        policy: what a failed item does to the others.
    """

    over: Any
    each: str | None = None
    limit: int | None = None
    policy: FallbackPolicy = FallbackPolicy.SKIP_AND_REPORT


@dataclass(frozen=True, slots=True)
class Branch:
    """One side of a `when`: steps of the two sides of one fork never both run.

    Attributes:
        fork: which `when` of the pipeline: a number, or the text of the condition that steps share.
        taken: whether this is the side for a condition that holds.
    """

    fork: int | str
    taken: bool


@dataclass(frozen=True, slots=True)
class StepSpec:
    """One step as the author described it.

    Attributes:
        name: unique in the pipeline.
        target: what it runs.
        deps: names of the steps it waits for; None: `after`, and the steps that its parameters name.
        after: the steps added just before it, for a step without explicit `deps`.
        bind: parameter name to a `Ref`, or to a value (which may hold references inside lists and dicts).
        retry: None: the default for its kind.
        fallback: what serves when the target fails.
        timeout: for one attempt of one level; None: no limit here.
        policy: what its failure does to the rest; None: the run's policy.
        form: how target and fallbacks are put to use.
        join: how many of the steps it waits for it needs.
        when: it is skipped unless this holds.
        branch: the side of a `when` that it is on.
        items: what it goes over, for the form MAP.
        stagger: seconds between the starts of the form RACE.
        undo: takes back what it has done, when the run is abandoned.
        process: whether its synchronous functions run in processes of their own.
    """

    name: str
    target: Target
    deps: tuple[str, ...] | None = None
    after: tuple[str, ...] = ()
    bind: Mapping[str, Any] = field(default_factory=dict)
    retry: Retry | None = None
    fallback: Fallback = field(default_factory=Fallback)
    timeout: Timeout | None = None
    policy: FallbackPolicy | None = None
    form: Form = Form.CHAIN
    join: Join = ALL
    when: When | None = None
    branch: Branch | None = None
    items: Items | None = None
    stagger: float = 0.0
    undo: Callable[..., Any] | None = None
    process: bool = False


PENDING: Any = object()
"""Stands among the values for the output of a step that has not ended."""


@dataclass(frozen=True, slots=True)
class Output:
    """A parameter's value comes from another step's output."""

    index: int
    reference: Ref

    def get(self, values: list[Any], _inputs: Mapping[str, Any]) -> Any:
        """The value, once the step is done."""
        value = values[self.index]
        return follow(value, self.reference) if self.reference.path else value


@dataclass(frozen=True, slots=True)
class OutputSoFar:
    """A parameter of a join comes from a step that may not have ended when the join starts."""

    index: int
    reference: Ref

    def get(self, values: list[Any], _inputs: Mapping[str, Any]) -> Any:
        """The value, or a `Missing`."""
        value = values[self.index]
        if value is PENDING:
            return Missing(self.reference.source, None, "it had not ended when enough others had succeeded")
        return follow(value, self.reference) if self.reference.path else value


@dataclass(frozen=True, slots=True)
class FromInput:
    """A parameter's value comes from a run input."""

    reference: Ref

    def get(self, _values: list[Any], inputs: Mapping[str, Any]) -> Any:
        """The value for this run."""
        return follow(inputs[self.reference.source], self.reference)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A parameter's value was given when the pipeline was built."""

    value: Any

    def get(self, _values: list[Any], _inputs: Mapping[str, Any]) -> Any:
        """The value."""
        return self.value


@dataclass(frozen=True, slots=True)
class Assembled:
    """A list, a tuple or a dict with references inside, put together when the step starts."""

    parts: list[Source] | tuple[Source, ...] | dict[Any, Source]

    def get(self, values: list[Any], inputs: Mapping[str, Any]) -> Any:
        """The value with every reference resolved."""
        if isinstance(self.parts, dict):
            return {key: part.get(values, inputs) for key, part in self.parts.items()}
        made = [part.get(values, inputs) for part in self.parts]
        return tuple(made) if isinstance(self.parts, tuple) else made


Source = Output | OutputSoFar | FromInput | Fixed | Assembled


class Kind(Enum):
    """How a level is called."""

    ASYNC = auto()
    THREAD = auto()
    TOOL = auto()
    PROCESS = auto()
    CONSTANT = auto()
    STALE = auto()
    PIPELINE = auto()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function or a tool.

    Attributes:
        name: its name.
        type: what values it takes.
        required: whether it has no default.
    """

    name: str
    type: Type
    required: bool


@dataclass(frozen=True, slots=True)
class Level:
    """One thing that can serve a step: its own target or a level of its fallback chain, ready to run.

    Attributes:
        name: how reports call it.
        kind: how it is called.
        call: the function, for ASYNC and THREAD.
        value: the constant, the tool's name, or the pipeline.
        bindings: parameter names with where their values come from.
        optional: parameters that may be left out (a tool's, when a `Missing` comes in).
        confidence: of its answers.
        note: what is second-best about them.
        accepts: which errors of the level before may come here.
        each: the parameter that gets an item of a map; "": it takes none.
    """

    name: str
    kind: Kind
    call: Callable[..., Any] | None
    value: Any
    bindings: tuple[tuple[str, Source], ...]
    optional: frozenset[str]
    confidence: float
    note: str
    accepts: Callable[[ErrorInfo], bool]
    each: str = ""

    def arguments(self, values: list[Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """What it is called with, from the outputs and inputs there are, without the item of a map.

        An optional input that was not given is left out.
        """
        arguments: dict[str, Any] = {}
        for name, source in self.bindings:
            try:
                arguments[name] = source.get(values, inputs)
            except KeyError:
                if name not in self.optional:
                    raise
        return arguments


@dataclass(frozen=True, slots=True)
class Spread:
    """What a map step goes over, ready to run.

    Attributes:
        over: where the list comes from.
        limit: items at the same time, at most; None: no limit of its own.
        policy: what a failed item does to the others.
        plain: whether each item is one call of an async function without any policy of its own.
    """

    over: Source
    limit: int | None
    policy: FallbackPolicy
    plain: bool


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """A step as the scheduler runs it; steps are known by their index in topological order.

    Attributes:
        index: its own index.
        name: its name.
        deps: indexes of the steps it waits for.
        dependants: indexes of the steps that wait for it.
        reads: indexes of the steps whose output its parameters use.
        levels: the target, then the fallbacks.
        retry: how each level is tried again.
        timeout: for one attempt; None: no limit.
        policy: what its failure does to the rest.
        plain: an async function without any policy of its own, the fast path.
        returns: the type of its output.
        form: how the levels are put to use.
        join: how many of `deps` it needs.
        condition: it is skipped unless this holds.
        spread: what it goes over, for the form MAP.
        stagger: seconds between the starts of the form RACE.
        undo: takes back what it has done, when the run is abandoned.
    """

    index: int
    name: str
    deps: tuple[int, ...]
    dependants: tuple[int, ...]
    reads: tuple[int, ...]
    levels: tuple[Level, ...]
    retry: Retry
    timeout: Timeout | None
    policy: FallbackPolicy
    plain: bool
    returns: Type
    form: Form = Form.CHAIN
    join: Join = ALL
    condition: Check | None = None
    spread: Spread | None = None
    stagger: float = 0.0
    undo: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """A run input of a pipeline.

    Attributes:
        name: its name.
        types: what each step that uses it (or the declaration) asks for.
        required: whether a run must give it.
        used_by: names of the steps that use it.
    """

    name: str
    types: tuple[Type, ...]
    required: bool
    used_by: tuple[str, ...]

    @property
    def type(self) -> str:
        """The types as text, for people."""
        return " & ".join(dict.fromkeys(type_text(one) for one in self.types if one is not Any)) or "Any"

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" + ("" if self.required else " (optional)")
