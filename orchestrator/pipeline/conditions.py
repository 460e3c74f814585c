"""Conditions: whether a step is chosen, from what came before it.

A condition is a function of earlier outputs and run inputs, a reference (is there anything?), or a comparison, which
is what pipeline files write.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...catalog.errors import BindingError, did_you_mean
from .outcomes import Missing
from .refs import Ref


def _contains(value: Any, wanted: Any) -> bool:
    return wanted in value


def _is_in(value: Any, wanted: Any) -> bool:
    return value in wanted


def _exists(value: Any, wanted: Any) -> bool:
    return (value is not None and not isinstance(value, Missing)) is bool(wanted)


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "equals": operator.eq,
    "not_equals": operator.ne,
    "less_than": operator.lt,
    "at_most": operator.le,
    "more_than": operator.gt,
    "at_least": operator.ge,
    "contains": _contains,
    "is_in": _is_in,
    "exists": _exists,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition that can be written down.

    Attributes:
        value: what is looked at.
        operator: one of `OPERATORS`; ``"exists"`` means: there, not None and not missing.
        other: what it is held against.

    Raises:
        BindingError: there is no such operator.

    Example:
        >>> str(Comparison(Ref("search", ("total",)), "more_than", 0))
        'search.total more_than 0'
    """

    value: Ref
    operator: str
    other: Any = True

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            hint = did_you_mean(self.operator, OPERATORS)
            raise BindingError(f"there is no comparison {self.operator!r}{hint}; there are {', '.join(OPERATORS)}")

    def holds(self, value: Any, other: Any) -> bool:
        """Whether it is true of these values; nothing that is missing compares as true, but to `exists`."""
        if self.operator != "exists" and (isinstance(value, Missing) or isinstance(other, Missing)):
            return False
        return bool(OPERATORS[self.operator](value, other))

    def __str__(self) -> str:
        return f"{self.value} {self.operator} {self.other!r}"


@dataclass(frozen=True, slots=True)
class Otherwise:
    """The opposite of a condition, for the other side of a `when`."""

    condition: Callable[..., Any] | Ref | Comparison


When = Callable[..., Any] | Ref | Comparison | Otherwise
"""A function (quick, it runs in the event loop; or async), a reference, a comparison, or the opposite of one."""


def text_of(condition: When) -> str:
    """How messages call a condition."""
    if isinstance(condition, Otherwise):
        return f"not {text_of(condition.condition)}"
    if isinstance(condition, Ref | Comparison):
        return str(condition)
    return getattr(condition, "__qualname__", None) or repr(condition)


@dataclass(frozen=True, slots=True)
class Check:
    """A condition, bound and ready to ask.

    Attributes:
        text: how messages call it.
        call: says yes or no; may be async.
        arguments: gives what `call` is called with, from the outputs by step index and the run inputs.
        wanted: the answer with which the step is chosen.
    """

    text: str
    call: Callable[..., Any]
    arguments: Callable[[list[Any], Mapping[str, Any]], dict[str, Any]] = field(repr=False)
    wanted: bool = True

    async def holds(self, values: list[Any], inputs: Mapping[str, Any]) -> bool:
        """Whether the step is chosen.

        Raises:
            Exception: of the condition itself.
        """
        answer = self.call(**self.arguments(values, inputs))
        if inspect.isawaitable(answer):
            answer = await answer
        return bool(answer) is self.wanted
