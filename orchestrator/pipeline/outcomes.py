"""The outcome algebra: how a step ends, what that does to the steps that wait for it, and what the run comes to.

Every rule that combines outcomes is a pure function here.

**What a finished dependency means for a step that waits for it** (`effect`), by the failure policy in force at
the dependency:

============  =============  ===============  ======================
outcome       FAIL_FAST      SKIP_AND_REPORT  CONTINUE_WITH_PARTIAL
============  =============  ===============  ======================
succeeded     value          value            value
failed        stop           skip             missing
timed_out     stop           skip             missing
skipped       skip           skip             missing
cancelled     skip           skip             skip
============  =============  ===============  ======================

*value*: the step gets the output. *missing*: it gets a `Missing`. *skip*: it is skipped. *stop*: the whole run
stops; nothing new starts and running steps are cancelled. With several dependencies the strongest effect counts:
stop > skip > missing > value (`strongest`).

**What the run comes to** (`combine`): the worst of its steps, in the order
succeeded < skipped < timed_out < failed < cancelled; steps that were only skipped do not spoil a run by
themselves, because something else always is the cause.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class StepOutcome(StrEnum):
    """How a step, or a run, ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


class FallbackPolicy(StrEnum):
    """What a failed step does to the rest of the run. Given to one step, it says what that step's failure does.

    FAIL_FAST: nothing new starts, running steps are cancelled, the report is partial.
    SKIP_AND_REPORT: its dependants are skipped, everything else goes on.
    CONTINUE_WITH_PARTIAL: its dependants run with a `Missing` in its place.
    """

    FAIL_FAST = "fail_fast"
    SKIP_AND_REPORT = "skip_and_report"
    CONTINUE_WITH_PARTIAL = "continue_with_partial"


class Effect(IntEnum):
    """What a finished dependency does to a step that waits for it; a larger one is stronger."""

    VALUE = 0
    MISSING = 1
    SKIP = 2
    STOP = 3


@dataclass(frozen=True, slots=True)
class Missing:
    """Stands where a dependency's output would be. It is false in a condition.

    Attributes:
        step: the step that gave nothing.
        outcome: how that step ended.
        reason: why, in one line.
    """

    step: str
    outcome: StepOutcome
    reason: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"(nothing from {self.step}: {self.reason})"


_FAILURES = (StepOutcome.FAILED, StepOutcome.TIMED_OUT)
_SEVERITY = {
    StepOutcome.SUCCEEDED: 0,
    StepOutcome.SKIPPED: 1,
    StepOutcome.TIMED_OUT: 2,
    StepOutcome.FAILED: 3,
    StepOutcome.CANCELLED: 4,
}


def effect(outcome: StepOutcome, policy: FallbackPolicy) -> Effect:
    """What a dependency that ended in `outcome` under `policy` does to one dependant (first table above)."""
    if outcome is StepOutcome.SUCCEEDED:
        return Effect.VALUE
    if outcome is StepOutcome.CANCELLED:
        return Effect.SKIP
    if policy is FallbackPolicy.CONTINUE_WITH_PARTIAL:
        return Effect.MISSING
    if policy is FallbackPolicy.FAIL_FAST and outcome in _FAILURES:
        return Effect.STOP
    return Effect.SKIP


def strongest(effects: Iterable[Effect]) -> Effect:
    """What several dependencies together do to a step; without any, it runs."""
    return max(effects, default=Effect.VALUE)


def worse(one: StepOutcome, other: StepOutcome) -> StepOutcome:
    """The more severe of two outcomes."""
    return one if _SEVERITY[one] >= _SEVERITY[other] else other


def combine(outcomes: Iterable[StepOutcome]) -> StepOutcome:
    """What a run with these step outcomes comes to; a run without steps succeeded."""
    result = StepOutcome.SUCCEEDED
    for outcome in outcomes:
        result = worse(result, outcome)
    return StepOutcome.SUCCEEDED if result is StepOutcome.SKIPPED else result


MISSING_CONFIDENCE = 0.5
"""What a `Missing` input leaves of the confidence of what is built on it."""


def inherited_confidence(own: float, dependencies: Iterable[float]) -> float:
    """An answer is no more certain than the least certain one it is built on."""
    return own * min(dependencies, default=1.0)
