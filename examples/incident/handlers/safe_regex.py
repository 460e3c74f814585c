"""Compiles regular expressions that strangers wrote, unless they could keep the backtracking engine busy for ages."""

from __future__ import annotations

import re

from .arguments import invalid

MAX_PATTERN = 300
MAX_OPEN_REPEATS = 2
MAX_CHOICES = 10

_LITERAL = re.compile(r"\\.|(?P<class>\[\^?\]?(?:\\.?|[^\]\\])*(?:\]|$))", re.DOTALL)
_SET_OPERATION = re.compile(r"\[\[|--|&&|~~|\|\|")
"""What Python warns of in a character class, because it may become an operation on sets."""

_REPEATED_GROUP = re.compile(r"\)(?:[*+{])")
_OPEN_REPEAT = re.compile(r"[*+]|\{\d*,\d*\}")
_CHOICE = re.compile(r"\||(?<![(*+}])\?")


def compile_safely(pattern: str, argument: str) -> re.Pattern[str]:
    """The compiled expression, blind to case.

    Python's engine tries alternatives one by one, and its time may grow exponentially when a repeated group can
    match in several ways, and with a high power of the text's length when many repeats follow each other. Such
    expressions are refused by their shape. This stops accidents; whoever means harm is stopped by the tool's timeout.

    Args:
        pattern: the expression.
        argument: the name that error messages use.

    Raises:
        ToolError: "validation_error", when the expression is wrong, too long, or of a dangerous shape.
    """
    if len(pattern) > MAX_PATTERN:
        raise invalid(argument, f"is a regular expression of more than {MAX_PATTERN} characters")
    if any(_SET_OPERATION.search(match["class"] or "") for match in _LITERAL.finditer(pattern)):
        raise invalid(argument, "has '[', '--', '&&', '~~' or '||' in a character class; put a backslash before it")
    bare = _LITERAL.sub("x", pattern)
    if _REPEATED_GROUP.search(bare):
        raise invalid(argument, "repeats a group, which can take for ever; repeat single characters or classes only")
    if len(_OPEN_REPEAT.findall(bare)) > MAX_OPEN_REPEATS:
        raise invalid(argument, f"has more than {MAX_OPEN_REPEATS} repeats of open length (*, +, {{n,m}})")
    if len(_CHOICE.findall(bare)) > MAX_CHOICES:
        raise invalid(argument, f"has more than {MAX_CHOICES} alternatives and optional parts")
    try:
        return re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise invalid(argument, f"is not a regular expression: {error}") from error
