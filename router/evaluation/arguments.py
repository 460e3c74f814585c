"""Whether the arguments of a call are right: against lists of accepted values, or against a label's own values.

The rules for accepted values are those of the Berkeley Function Calling Leaderboard's AST check
(https://gorilla.cs.berkeley.edu/blogs/8_berkeley_function_calling_leaderboard.html): every parameter has a list of
accepted values, an empty string in it means that the parameter may be left out, an accepted object has such lists
for its own fields, and strings are compared without case, spaces and light punctuation.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...catalog import ToolCall
from .queries import Query

OMITTABLE = ""
"""The accepted value that stands for "may be left out"."""

_IGNORED = re.compile(r"[\s,./\-_*^]+")
Same = Callable[[Any, Any], bool]


@dataclass(frozen=True, slots=True)
class ArgumentScore:
    """How the arguments of one request's calls did.

    Attributes:
        calls: gold calls that have arguments to compare and were answered by a call of a right tool.
        exact: how many of them are right in every argument.
        arguments: arguments compared over those calls.
        right: how many of them are right.
    """

    calls: int = 0
    exact: int = 0
    arguments: int = 0
    right: int = 0

    def __add__(self, other: ArgumentScore) -> ArgumentScore:
        return ArgumentScore(
            self.calls + other.calls,
            self.exact + other.exact,
            self.arguments + other.arguments,
            self.right + other.right,
        )


def score_calls(query: Query, calls: Sequence[ToolCall]) -> ArgumentScore:
    """Compares the calls with the labels of the request.

    Each gold call is answered by at most one call of its tool (or of an alternative): of several, the one with the
    most right arguments. A gold call whose tool was not called is left out here; it is a loss of the selection.
    """
    total = ArgumentScore()
    free = list(calls)
    for place, name in enumerate(query.tools):
        accept = query.args_accept[place] if query.args_accept else None
        given = query.args[place] if query.args else None
        if accept is None and given is None:
            continue
        right_tools = {name, *(query.alternatives[place] if query.alternatives else ())}
        scored = [(_score(call.arguments, accept, given), call) for call in free if call.tool in right_tools]
        if scored:
            best, answer = max(scored, key=lambda pair: (pair[0].exact, pair[0].right - pair[0].arguments))
            free.remove(answer)
            total += best
    return total


def score_accepted(arguments: Mapping[str, Any], accept: Mapping[str, Any]) -> ArgumentScore:
    """One call against accepted values.

    Compared are the parameters that must be given, those that may be left out but were given, and those that
    were given though nobody asked for them (wrong).

    Args:
        arguments: what the call has.
        accept: parameter to its accepted values; anything but a list stands for the one accepted value.

    Example:
        >>> score_accepted({"city": "oslo"}, {"city": ["Oslo", "Oslo, Norway"], "unit": ["C", ""]})
        ArgumentScore(calls=1, exact=1, arguments=1, right=1)
    """
    compared = [name for name, values in accept.items() if name in arguments or not _may_be_omitted(values)]
    right = sum(name in arguments and is_accepted(arguments[name], accept[name]) for name in compared)
    unasked = sum(name not in accept for name in arguments)
    return _call(right, len(compared) + unasked)


def score_given(arguments: Mapping[str, Any], gold: Mapping[str, Any]) -> ArgumentScore:
    """One call against a label's values. Only the keys that the label gives are compared; the rest is open."""
    right = sum(name in arguments and same_value(arguments[name], value) for name, value in gold.items())
    return _call(right, len(gold))


def is_accepted(value: Any, accepted: Any) -> bool:
    """Whether `value` is one of the accepted values."""
    choices = accepted if isinstance(accepted, list) else [accepted]
    return any(_fits(value, choice, _accepts) for choice in choices)


def same_value(value: Any, gold: Any) -> bool:
    """Whether `value` is the gold value: numbers by value, strings loosely, objects in the keys that gold has."""
    return _fits(value, gold, _gives)


def _score(arguments: Mapping[str, Any], accept: Mapping[str, Any] | None, given: Any) -> ArgumentScore:
    return score_given(arguments, given) if accept is None else score_accepted(arguments, accept)


def _call(right: int, compared: int) -> ArgumentScore:
    return ArgumentScore(calls=1, exact=int(right == compared), arguments=compared, right=right)


def _accepts(value: Any, gold: Any) -> bool:
    result = score_accepted(value, gold)
    return result.exact == 1


def _gives(value: Any, gold: Any) -> bool:
    result = score_given(value, gold)
    return result.exact == 1


def _may_be_omitted(accepted: Any) -> bool:
    return isinstance(accepted, list) and any(isinstance(choice, str) and choice == OMITTABLE for choice in accepted)


def _fits(value: Any, gold: Any, same_object: Same) -> bool:
    if isinstance(gold, dict):
        return isinstance(value, dict) and same_object(value, gold)
    if isinstance(gold, list):
        return (
            isinstance(value, list)
            and len(value) == len(gold)
            and all(_fits(ours, theirs, same_object) for ours, theirs in zip(value, gold, strict=True))
        )
    if isinstance(gold, bool) or isinstance(value, bool):
        return gold is value
    if isinstance(gold, int | float) and isinstance(value, int | float):
        return gold == value or math.isclose(gold, value, rel_tol=1e-9)
    if isinstance(gold, str) and isinstance(value, str):
        return gold == value or _loose(gold) == _loose(value) != ""
    return gold is None and value is None


def _loose(text: str) -> str:
    return _IGNORED.sub("", unicodedata.normalize("NFKC", text).casefold()).replace("'", '"')
