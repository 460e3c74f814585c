"""Stops a caller that goes in circles: the same call again and again, A-B-A-B, or ever the same result."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from dataclasses import dataclass

from ...catalog import ToolCall, ToolError
from ...catalog.digest import canonical_json, digest_of

MAX_REPEATS = 3
"""The third identical call in a row is stopped, the second one is warned of."""

MAX_SAME_RESULTS = 5
"""After so many calls in a row of one tool with different arguments and the same result, the next one is stopped."""

MAX_CALLERS = 10_000
"""Callers remembered; the one that has been quiet for longest is forgotten first."""

_LONGEST_CYCLE = 3
_SHOWN = 60


@dataclass(slots=True)
class _Made:
    """A call that was made; `result` is a digest, None while there is none or when it says nothing."""

    key: tuple[str, str]
    call_id: str
    shown: str
    result: str | None = None


class LoopGuard:
    """Looks back along each caller for calls that lead nowhere.

    These are loops, unless the results differ from time to time, for then something moves on: the same tool with the
    same arguments `max_repeats` times in a row; a cycle of two or three calls that was gone through twice (A-B-A-B) and
    is begun again; one tool that gives the same result to different arguments `max_same_results` times in a row. A
    retry keeps its call's id and does not count.

    Args:
        max_repeats: identical calls in a row, of which the last is stopped.
        max_same_results: equal results in a row, after which the tool is stopped.

    Raises:
        ValueError: a number is below 2: every first call would be stopped.
    """

    def __init__(self, max_repeats: int = MAX_REPEATS, max_same_results: int = MAX_SAME_RESULTS) -> None:
        if max_repeats < 2 or max_same_results < 2:
            raise ValueError(f"max_repeats and max_same_results must be at least 2, got {max_repeats!r}")
        self.max_repeats = max_repeats
        self.max_same_results = max_same_results
        self._window = max(max_repeats, max_same_results, 2 * _LONGEST_CYCLE) + 1
        self._callers: OrderedDict[str, deque[_Made]] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, caller: str, call: ToolCall) -> str:
        """Records `call` and returns a warning, "" when there is nothing to warn of.

        Raises:
            ToolError: "loop_detected", when the call would go on with a loop; names the calls.
        """
        made = _Made((call.tool, digest_of(call.arguments)), call.call_id, _shown(call))
        with self._lock:
            calls = self._callers.pop(caller, None)
            if calls is None:
                calls = deque(maxlen=self._window)
            retried = bool(calls) and (calls[-1].key, calls[-1].call_id) == (made.key, made.call_id)
            if not retried:
                calls.append(made)
            self._callers[caller] = calls
            if len(self._callers) > MAX_CALLERS:
                self._callers.popitem(last=False)
            repeats = _repeats(calls)
            found = self._loop_in(calls, repeats)
        if found:
            raise ToolError(
                f"{found}; the call was stopped",
                "loop_detected",
                suggestion="use the result of the earlier calls, change the arguments, or ask the user",
            )
        return f"the same call was made {repeats} times in a row" if repeats > 1 else ""

    def record(self, caller: str, call_id: str, result: object) -> None:
        """Records what a call gave (JSON-like), so that calls whose results move on are no loop."""
        digest = digest_of(result)
        with self._lock:
            for made in reversed(self._callers.get(caller, ())):
                if made.call_id == call_id:
                    made.result = digest
                    return

    def forget(self, caller: str) -> None:
        """Starts `caller` over, e.g. when its session ends or a person has said that it may go on."""
        with self._lock:
            self._callers.pop(caller, None)

    def _loop_in(self, calls: deque[_Made], repeats: int) -> str:
        """What kind of loop the newest call goes on with, "" for none."""
        tool = calls[-1].key[0]
        if repeats >= self.max_repeats:
            return f"{tool} was called {repeats} times in a row with the same arguments: {calls[-1].shown}"
        cycle = _cycle(calls)
        if cycle:
            return "the same calls are made in turns: " + " > ".join(made.shown for made in [*cycle, *cycle])
        same = _same_results(calls)
        if same >= self.max_same_results:
            past = list(calls)[-1 - same : -1]
            return f"{tool} gave the same result {same} times in a row: " + ", ".join(made.shown for made in past)
        return ""


def _repeats(calls: deque[_Made]) -> int:
    """How many of the last calls are the same one, without different results between them."""
    count, result = 0, None
    for made in reversed(calls):
        if made.key != calls[-1].key or (result is not None and made.result is not None and made.result != result):
            break
        count += 1
        result = made.result or result
    return count


def _cycle(calls: deque[_Made]) -> list[_Made]:
    """The calls that were made twice in one order, with equal results, and that the newest call begins again."""
    *past, newest = calls
    for length in range(2, _LONGEST_CYCLE + 1):
        before, after = past[-2 * length : -length], past[-length:]
        keys = [made.key for made in after]
        if len(before) < length or len({*keys}) < length or newest.key != keys[0]:
            continue
        results = [made.result for made in after]
        if None not in results and [(made.key, made.result) for made in before] == [*zip(keys, results, strict=True)]:
            return after
    return []


def _same_results(calls: deque[_Made]) -> int:
    """How many calls of the newest one's tool, just before it, gave one and the same result."""
    *past, newest = calls
    count = 0
    for made in reversed(past):
        if made.key[0] != newest.key[0] or made.result is None or made.result != past[-1].result:
            break
        count += 1
    return count


def _shown(call: ToolCall) -> str:
    arguments = canonical_json(call.arguments)[1:-1]
    return f"{call.tool}({arguments[:_SHOWN]}{'…' if len(arguments) > _SHOWN else ''})"
