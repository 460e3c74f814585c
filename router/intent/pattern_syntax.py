"""The syntax of rule patterns: from text to a tree. Python's, without look-around, back-references, names and flags."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

MAX_PATTERN_LENGTH = 1_000
MAX_REPEAT = 1_000
MAX_DEPTH = 50

Test = Callable[[str], bool]


class PatternError(ValueError):
    """The pattern is malformed, too large, or uses something this engine has not got."""


def is_word(char: str) -> bool:
    """Whether ``\\w`` matches the character."""
    return char.isalnum() or char == "_"


def _is_digit(char: str) -> bool:
    return unicodedata.category(char) == "Nd"


_CLASSES: dict[str, Test] = {
    "d": _is_digit,
    "D": lambda char: not _is_digit(char),
    "w": is_word,
    "W": lambda char: not is_word(char),
    "s": str.isspace,
    "S": lambda char: not char.isspace(),
}
_ESCAPED_CHARS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}


@dataclass(frozen=True, slots=True)
class Chars:
    """One character that passes the test."""

    test: Test


@dataclass(frozen=True, slots=True)
class Assertion:
    r"""A place rather than a character: ``^``, ``$``, ``\b`` or ``\B``."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    node: Node
    least: int
    most: int | None


Node = Chars | Assertion | Sequence | Choice | Repeat


class _Parser:
    """Recursive descent over the pattern: choice > sequence > repeat > atom."""

    def __init__(self, pattern: str, ignore_case: bool) -> None:
        self.text, self.at, self.depth = pattern, 0, 0
        self._same = _same_in_any_case if ignore_case else _same
        self._between = _between_in_any_case if ignore_case else _between

    def parse(self) -> Node:
        node = self._choice()
        if self.at < len(self.text):
            raise self._error("unmatched ')'")
        return node

    def _error(self, message: str) -> PatternError:
        return PatternError(f"{message} (at position {self.at} of {self.text!r})")

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self) -> str:
        char = self._peek()
        if not char:
            raise self._error("the pattern ends too early")
        self.at += 1
        return char

    def _choice(self) -> Node:
        branches = [self._sequence()]
        while self._peek() == "|":
            self.at += 1
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _sequence(self) -> Node:
        nodes: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            nodes.append(self._repeat())
        return Sequence(tuple(nodes))

    def _repeat(self) -> Node:
        node = self._atom()
        counts = self._counts()
        if counts is None:
            return node
        if isinstance(node, Assertion):
            raise self._error("nothing to repeat")
        if self._peek() == "?":  # a lazy repeat matches the same texts
            self.at += 1
        if self._peek() in ("*", "+"):
            raise self._error("multiple repeat")
        return Repeat(node, *counts)

    def _counts(self) -> tuple[int, int | None] | None:
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if (char := self._peek()) in simple and char:
            self.at += 1
            return simple[char]
        if char != "{":
            return None
        end = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1 : end].partition(",") if end > 0 else ("", "", "")
        if not (low + high).isascii() or not (low + high).isdigit():
            return None  # like Python's re: a brace that is no count is a brace
        self.at = end + 1
        least = int(low or 0)
        most = (int(high) if high else None) if comma else least
        if most is not None and most < least:
            raise self._error("the repeat's minimum is above its maximum")
        if max(least, most or 0) > MAX_REPEAT:
            raise self._error(f"a repeat counts to {MAX_REPEAT} at most")
        return least, most

    def _atom(self) -> Node:
        char = self._take()
        match char:
            case "(":
                return self._group()
            case "[":
                return Chars(self._set())
            case ".":
                return Chars(lambda other: other != "\n")
            case "^" | "$":
                return Assertion(char)
            case "*" | "+" | "?":
                raise self._error("nothing to repeat")
            case "\\":
                return self._escape()
            case _:
                return Chars(self._same(char))

    def _group(self) -> Node:
        if self._peek() == "?":
            if not self.text.startswith("?:", self.at):
                raise self._error("of the groups that begin with '(?' only '(?:' exists here: no look-around, no flags")
            self.at += 2
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._error("groups are nested too deeply")
        node = self._choice()
        self.depth -= 1
        if self._peek() != ")":
            raise self._error("missing ')'")
        self.at += 1
        return node

    def _escape(self) -> Node:
        char = self._take()
        if char in ("b", "B"):
            return Assertion(char)
        if char in _CLASSES:
            return Chars(_CLASSES[char])
        if char.isdigit():
            raise self._error("back-references do not exist here")
        return Chars(self._same(self._escaped_char(char)))

    def _escaped_char(self, char: str) -> str:
        if char in _ESCAPED_CHARS:
            return _ESCAPED_CHARS[char]
        if char.isalnum():
            raise self._error(f"unknown escape '\\{char}'")
        return char

    def _set(self) -> Test:
        negated = self._peek() == "^"
        self.at += negated
        tests: list[Test] = []
        while self._peek() != "]" or not tests:
            low = self._take()
            if low == "\\":
                low = self._take()
                if low in _CLASSES:
                    tests.append(_CLASSES[low])
                    continue
                low = self._escaped_char(low)
            if self._peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self._take()
                high = self._escaped_char(self._take()) if high == "\\" else high
                if high < low:
                    raise self._error(f"bad range {low}-{high}")
                tests.append(self._between(low, high))
            else:
                tests.append(self._same(low))
        self.at += 1
        return _none_of(tests) if negated else _any_of(tests)


def _same(char: str) -> Test:
    return lambda other: other == char


def _same_in_any_case(char: str) -> Test:
    folded = char.casefold()
    return lambda other: other == char or other.casefold() == folded


def _between(low: str, high: str) -> Test:
    return lambda char: low <= char <= high


def _between_in_any_case(low: str, high: str) -> Test:
    return lambda char: low <= char <= high or low <= char.lower() <= high or low <= char.upper() <= high


def _any_of(tests: list[Test]) -> Test:
    return lambda char: any(test(char) for test in tests)


def _none_of(tests: list[Test]) -> Test:
    return lambda char: not any(test(char) for test in tests)


def parse(pattern: str, *, ignore_case: bool) -> Node:
    """The tree of `pattern`.

    Raises:
        PatternError: it is malformed, longer than 1,000 characters, or uses what does not exist here.
    """
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise PatternError(f"the pattern has {len(pattern)} characters; at most {MAX_PATTERN_LENGTH} are allowed")
    return _Parser(pattern, ignore_case).parse()
