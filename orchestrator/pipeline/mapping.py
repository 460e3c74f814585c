"""A map step while it runs: which items are done, which come next, and what the list of answers comes to."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import anyio

from ...catalog import Degraded, ErrorInfo, ToolError
from ..runtime.classify import classify
from .outcomes import FallbackPolicy, Missing, StepOutcome
from .steps import CompiledStep, Spread

_NOT_DONE: Any = object()


class ItemOf(NamedTuple):
    """One item of a map step, on its way through the ready queue."""

    mapped: Mapped
    position: int


class Mapped:
    """The items of one map step in one run.

    Args:
        step: the step.
        spread: what it goes over.
        items: the list.
        known: position to answer, of items that were done before the run was resumed.

    Attributes:
        step: the step.
        items: the list; emptied when all is done.
        count: how many items there were.
        faults: position to error, of the items that failed.
        error: the first failure, as it was raised.
        plain: whether each item is one call of an async function without any policy of its own.
    """

    def __init__(
        self, step: CompiledStep, spread: Spread, items: list[Any], known: Mapping[int, Any] | None = None
    ) -> None:
        self.step = step
        self.items = items
        self.count = len(items)
        self.faults: dict[int, ErrorInfo] = {}
        self.error: Exception | None = None
        self.plain = spread.plain
        self._policy = spread.policy
        self._answers: list[Any] = [_NOT_DONE] * self.count
        self._running = 0
        self._degraded: list[float] = []
        self._scopes: set[anyio.CancelScope] = set()
        restored = {position: answer for position, answer in (known or {}).items() if position < self.count}
        self._left = self.count - len(restored)
        self._limit = self._left if spread.limit is None else min(spread.limit, self._left)
        self._positions = iter(
            range(self.count)
            if not restored
            else [position for position in range(self.count) if position not in restored]
        )
        for position, answer in restored.items():
            self._running += 1
            self.succeeded(position, answer)

    def first(self) -> Iterator[ItemOf]:
        """The items to begin with."""
        while self._running < self._limit:
            yield self._take()

    def following(self) -> ItemOf | None:
        """The item to do after one has ended; None: there is none left, or no more are to start."""
        return self._take() if self._left and not self.stopped else None

    def _take(self) -> ItemOf:
        position = next(self._positions)
        self._left -= 1
        self._running += 1
        return ItemOf(self, position)

    @property
    def ended(self) -> int:
        """How many items are done, however."""
        return self.count - self._left - self._running

    @property
    def stopped(self) -> bool:
        """Whether a failed item has ended it all."""
        return self._policy is FallbackPolicy.FAIL_FAST and self.error is not None

    @property
    def done(self) -> bool:
        """Whether nothing is running and nothing will start."""
        return not self._running and (not self._left or self.stopped)

    def scope(self) -> anyio.CancelScope | None:
        """A scope for an item to run in, where a failed item ends the others; None: nothing will."""
        if self._policy is not FallbackPolicy.FAIL_FAST:
            return None
        scope = anyio.CancelScope()
        self._scopes.add(scope)
        return scope

    def left(self, scope: anyio.CancelScope) -> None:
        """Forgets the scope of an item that has ended."""
        self._scopes.discard(scope)

    def succeeded(self, position: int, answer: Any) -> None:
        """Records an item's answer."""
        self._running -= 1
        if type(answer) is Degraded:
            self._degraded.append(answer.confidence)
            answer = answer.value
        self._answers[position] = answer

    def failed(self, position: int, error: Exception, outcome: StepOutcome = StepOutcome.FAILED) -> None:
        """Records an item's failure, and ends the others where the policy says so."""
        self._running -= 1
        info = classify(error)
        self.faults[position] = info
        if outcome is StepOutcome.FAILED and info.error_type == "timeout":
            outcome = StepOutcome.TIMED_OUT
        self._answers[position] = Missing(f"{self.step.name}[{position}]", outcome, info.message)
        if self.error is None:
            self.error = error
            if self.stopped:
                for scope in self._scopes:
                    scope.cancel()

    def cancelled(self, position: int) -> None:
        """Records that an item was ended because another one had failed."""
        self._running -= 1
        self._answers[position] = _NOT_DONE

    def degraded(self, confidence: float) -> None:
        """Records that an item's answer came from a later level of its chain."""
        self._degraded.append(confidence)

    def result(self) -> Any:
        """What the step puts out when all is done: the answers in the order of the items.

        Raises:
            Exception: of the first failed item, when it ends the step or when no item succeeded.
        """
        self.items = []
        self._scopes.clear()
        if self.error is not None and (self._policy is FallbackPolicy.FAIL_FAST or len(self.faults) == self.count):
            raise self.error
        answers, self._answers = self._answers, []
        if self.faults and self._policy is FallbackPolicy.SKIP_AND_REPORT:
            answers = [answer for position, answer in enumerate(answers) if position not in self.faults]
        if not self.faults and not self._degraded:
            return answers
        notes = [f"{len(self.faults)} of {self.count} items failed"] if self.faults else []
        notes += [f"{len(self._degraded)} of {self.count} items are second-best"] if self._degraded else []
        share = 1 - len(self.faults) / self.count
        return Degraded(answers, "; ".join(notes), min([share, *self._degraded]))


def items_of(value: Any, step: str) -> list[Any]:
    """The list that a map step goes over; of nothing (a `Missing`), an empty one.

    Raises:
        ToolError: "validation_error": it is no list. Text and objects are refused: going over their letters or keys
            is hardly ever meant.
    """
    if isinstance(value, Missing):
        return []
    if isinstance(value, str | bytes | Mapping | AsyncIterable) or not isinstance(value, Iterable):
        hint = ": map over list(value.items()) or its values" if isinstance(value, Mapping) else ""
        raise ToolError(f"step {step!r} goes over a list, but got {type(value).__name__}{hint}", "validation_error")
    return list(value)
