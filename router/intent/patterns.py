"""Regular expressions that cannot hang: a small engine without backtracking for the patterns of users' rules.

Python's `re` may take exponential time on a pattern such as ``(a+)+$``, holds the GIL meanwhile and has no
time limit, so one careless rule would stop the whole process. This engine runs all alternatives side by side
(Thompson 1968, https://doi.org/10.1145/363347.363387) and remembers the sets of states it has seen, so a search
takes time proportional to the text. The price: no back-references and no look-around.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

MAX_PATTERN_LENGTH = 1_000
MAX_STATES = 1_000
"""Counted repetitions are written out, so ``(a{100}){100}`` would grow without this limit."""
MAX_REPEAT = 1_000
MAX_REMEMBERED = 4_000
"""Steps kept in the memory of one pattern before it starts afresh."""

Test = Callable[[str], bool]


class PatternError(ValueError):
    """The pattern is malformed, too large, or uses something this engine has not got."""


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _is_digit(char: str) -> bool:
    return unicodedata.category(char) == "Nd"


_CLASSES: dict[str, Test] = {
    "d": _is_digit,
    "D": lambda char: not _is_digit(char),
    "w": _is_word,
    "W": lambda char: not _is_word(char),
    "s": str.isspace,
    "S": lambda char: not char.isspace(),
}
_ESCAPED_CHARS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}


@dataclass(frozen=True, slots=True)
class _Chars:
    """One character that passes the test."""

    test: Test


@dataclass(frozen=True, slots=True)
class _Assertion:
    r"""A place rather than a character: ``^``, ``$``, ``\b`` or ``\B``."""

    kind: str


@dataclass(frozen=True, slots=True)
class _Sequence:
    nodes: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    nodes: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    node: _Node
    least: int
    most: int | None


_Node = _Chars | _Assertion | _Sequence | _Choice | _Repeat


class _Parser:
    """Recursive descent over the pattern: choice > sequence > repeat > atom."""

    def __init__(self, pattern: str, ignore_case: bool) -> None:
        self.text, self.at, self.depth = pattern, 0, 0
        self._same = _same_in_any_case if ignore_case else _same
        self._between = _between_in_any_case if ignore_case else _between

    def parse(self) -> _Node:
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

    def _choice(self) -> _Node:
        branches = [self._sequence()]
        while self._peek() == "|":
            self.at += 1
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else _Choice(tuple(branches))

    def _sequence(self) -> _Node:
        nodes: list[_Node] = []
        while self._peek() not in ("", "|", ")"):
            nodes.append(self._repeat())
        return _Sequence(tuple(nodes))

    def _repeat(self) -> _Node:
        node = self._atom()
        counts = self._counts()
        if counts is None:
            return node
        if isinstance(node, _Assertion):
            raise self._error("nothing to repeat")
        if self._peek() == "?":  # a lazy repeat matches the same texts
            self.at += 1
        if self._peek() in ("*", "+"):
            raise self._error("multiple repeat")
        return _Repeat(node, *counts)

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

    def _atom(self) -> _Node:
        char = self._take()
        match char:
            case "(":
                return self._group()
            case "[":
                return _Chars(self._set())
            case ".":
                return _Chars(lambda other: other != "\n")
            case "^" | "$":
                return _Assertion(char)
            case "*" | "+" | "?":
                raise self._error("nothing to repeat")
            case "\\":
                return self._escape()
            case _:
                return _Chars(self._same(char))

    def _group(self) -> _Node:
        if self._peek() == "?":
            if not self.text.startswith("?:", self.at):
                raise self._error("of the groups that begin with '(?' only '(?:' exists here: no look-around, no flags")
            self.at += 2
        self.depth += 1
        if self.depth > 50:
            raise self._error("groups are nested too deeply")
        node = self._choice()
        self.depth -= 1
        if self._peek() != ")":
            raise self._error("missing ')'")
        self.at += 1
        return node

    def _escape(self) -> _Node:
        char = self._take()
        if char in ("b", "B"):
            return _Assertion(char)
        if char in _CLASSES:
            return _Chars(_CLASSES[char])
        if char.isdigit():
            raise self._error("back-references do not exist here")
        return _Chars(self._same(self._escaped_char(char)))

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


@dataclass(slots=True)
class _State:
    """One state: either it eats a character (`test`), or it passes on for free, where `assertion` allows it."""

    test: Test | None = None
    assertion: str = ""
    then: list[int] = field(default_factory=list)


class SafePattern:
    """A compiled pattern; ``.`` matches everything but a line break.

    Args:
        pattern: the syntax of Python's `re` without look-around, back-references, named groups and flags.
        ignore_case: whether letters match in either case.

    Raises:
        PatternError: the pattern is malformed, longer than 1,000 characters, or needs more than 5,000 states.

    Example:
        >>> SafePattern(r"\\border\\s+#?\\d{4,}").found_in("Where is Order #12345?")
        True
    """

    def __init__(self, pattern: str, *, ignore_case: bool = True) -> None:
        if len(pattern) > MAX_PATTERN_LENGTH:
            raise PatternError(f"the pattern has {len(pattern)} characters; at most {MAX_PATTERN_LENGTH} are allowed")
        self.pattern, self.ignore_case = pattern, ignore_case
        self._states: list[_State] = []
        self._end = self._new_state()
        self._start = self._build(_Parser(pattern, ignore_case).parse(), self._end)
        self._memory: dict[tuple[frozenset[int], bool, str, str], frozenset[int] | None] = {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SafePattern):
            return NotImplemented
        return (other.pattern, other.ignore_case) == (self.pattern, self.ignore_case)

    def __hash__(self) -> int:
        return hash((self.pattern, self.ignore_case))

    def found_in(self, text: str) -> bool:
        """Whether the pattern matches anywhere in `text`; takes time proportional to its length."""
        memory, start, waiting = self._memory, self._start, frozenset({self._start})
        for position in range(len(text) + 1):
            char = text[position : position + 1]
            key = (waiting, position > 0 and _is_word(text[position - 1]), _edge(text, position), char)
            if key in memory:
                reached = memory[key]
            else:
                reached = self._step(waiting, text, position)
                if len(memory) >= MAX_REMEMBERED:
                    memory.clear()
                memory[key] = reached
            if reached is None:
                return True
            waiting = reached | {start}
        return False

    def _step(self, waiting: Iterable[int], text: str, position: int) -> frozenset[int] | None:
        """The states after the character at `position`, or None when the end was reached before it."""
        closure: set[int] = set()
        pending = list(waiting)
        while pending:
            number = pending.pop()
            if number in closure:
                continue
            closure.add(number)
            state = self._states[number]
            if state.test is None and (not state.assertion or _holds(state.assertion, text, position)):
                pending.extend(state.then)
        if self._end in closure:
            return None
        char = text[position : position + 1]
        if not char:
            return frozenset()
        tested = (self._states[number] for number in closure)
        return frozenset(after for state in tested if state.test and state.test(char) for after in state.then)

    def _new_state(self, test: Test | None = None, assertion: str = "", then: Iterable[int] = ()) -> int:
        if len(self._states) >= MAX_STATES:
            raise PatternError(f"the pattern is too large: its repetitions need more than {MAX_STATES} states")
        self._states.append(_State(test, assertion, list(then)))
        return len(self._states) - 1

    def _build(self, node: _Node, after: int) -> int:
        """Adds the states of `node`, which go on to `after`, and returns the first of them."""
        match node:
            case _Chars(test):
                return self._new_state(test=test, then=[after])
            case _Assertion(kind):
                return self._new_state(assertion=kind, then=[after])
            case _Sequence(nodes):
                for part in reversed(nodes):
                    after = self._build(part, after)
                return after
            case _Choice(nodes):
                return self._new_state(then=[self._build(branch, after) for branch in nodes])
            case _Repeat(inner, least, most):
                if most is None:
                    loop = self._new_state(then=[after])
                    self._states[loop].then.append(self._build(inner, loop))
                    after = loop
                else:
                    for _ in range(most - least):
                        after = self._new_state(then=[self._build(inner, after), after])
                for _ in range(least):
                    after = self._build(inner, after)
                return after


def _edge(text: str, position: int) -> str:
    """Which of ``^`` and ``$`` hold at `position`; like in Python, ``$`` also holds before a final line break."""
    ends = position == len(text) or (position == len(text) - 1 and text[position] == "\n")
    return ("^" if position == 0 else "") + ("$" if ends else "")


def _holds(assertion: str, text: str, position: int) -> bool:
    match assertion:
        case "^" | "$":
            return assertion in _edge(text, position)
        case _:
            before = position > 0 and _is_word(text[position - 1])
            behind = position < len(text) and _is_word(text[position])
            return (before != behind) == (assertion == "b")
