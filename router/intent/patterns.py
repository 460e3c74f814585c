"""Regular expressions that cannot hang: a small engine without backtracking for the patterns of users' rules.

Python's `re` may take exponential time on a pattern such as ``(a+)+$``, holds the GIL meanwhile and has no
time limit, so one careless rule would stop the whole process. This engine runs all alternatives side by side
(Thompson 1968, https://doi.org/10.1145/363347.363387) and remembers the sets of states it has seen, so a search
takes time proportional to the text. The price: no back-references and no look-around.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .pattern_syntax import Assertion, Chars, Choice, Node, PatternError, Repeat, Sequence, Test, is_word, parse

__all__ = ["PatternError", "SafePattern"]

MAX_STATES = 1_000
"""Counted repetitions are written out, so ``(a{100}){100}`` would grow without this limit."""
MAX_REMEMBERED = 4_000
"""Steps kept in the memory of one pattern before it starts afresh."""


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
        self.pattern, self.ignore_case = pattern, ignore_case
        self._states: list[_State] = []
        self._end = self._new_state()
        self._start = self._build(parse(pattern, ignore_case=ignore_case), self._end)
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
            key = (waiting, position > 0 and is_word(text[position - 1]), _edge(text, position), char)
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

    def _build(self, node: Node, after: int) -> int:
        """Adds the states of `node`, which go on to `after`, and returns the first of them."""
        match node:
            case Chars(test):
                return self._new_state(test=test, then=[after])
            case Assertion(kind):
                return self._new_state(assertion=kind, then=[after])
            case Sequence(nodes):
                for part in reversed(nodes):
                    after = self._build(part, after)
                return after
            case Choice(nodes):
                return self._new_state(then=[self._build(branch, after) for branch in nodes])
            case Repeat(inner, least, most):
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
            before = position > 0 and is_word(text[position - 1])
            behind = position < len(text) and is_word(text[position])
            return (before != behind) == (assertion == "b")
