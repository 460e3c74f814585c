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
not chosen    skip           skip             skip
cancelled     skip           skip             skip
============  =============  ===============  ======================

*not chosen*: skipped because its own condition is false, or because of steps that were not chosen: nothing has gone
wrong, and no policy for failures applies.

*value*: the step gets the output. *missing*: it gets a `Missing`. *skip*: it is skipped. *stop*: the whole run
stops; nothing new starts and running steps are cancelled. With several dependencies the strongest effect counts:
stop > skip > missing > value (`strongest`).

**When a step that waits for several starts** (`decide`), by its `Join` and what has arrived of its dependencies:

============  =======================  =======================  ==========================
join          some are pending         all ended, none skips    all ended, one or more skip
============  =======================  =======================  ==========================
all           wait                     start                    skip
at_least(n)   start as soon as n       start if n succeeded,    start if n succeeded,
              succeeded; skip as soon  else skip                else skip
              as n cannot be reached,
              else wait
all_done      wait                     start                    start
============  =======================  =======================  ==========================

*any* is ``at_least(1)``. A join cancels nobody: producers that are still running when it starts go on, and it gets a
`Missing` for each of them.

**What the run comes to** (`combine`): the worst of its steps, in the order
succeeded < skipped < timed_out < failed < cancelled; steps that were only skipped do not spoil a run by
themselves: something else is the cause, or their own condition.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum, auto


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
        outcome: how that step ended; None: it has not, and a join did not wait for it.
        reason: why, in one line.
    """

    step: str
    outcome: StepOutcome | None
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


def effect(outcome: StepOutcome, policy: FallbackPolicy, *, chosen: bool = True) -> Effect:
    """What a dependency that ended in `outcome` under `policy` does to one dependant (first table above).

    Args:
        outcome: how it ended.
        policy: the failure policy in force at it.
        chosen: False for one that was skipped by a condition.
    """
    if outcome is StepOutcome.SUCCEEDED:
        return Effect.VALUE
    if outcome is StepOutcome.CANCELLED or not chosen:
        return Effect.SKIP
    if policy is FallbackPolicy.CONTINUE_WITH_PARTIAL:
        return Effect.MISSING
    if policy is FallbackPolicy.FAIL_FAST and outcome in _FAILURES:
        return Effect.STOP
    return Effect.SKIP


def strongest(effects: Iterable[Effect]) -> Effect:
    """What several dependencies together do to a step; without any, it runs."""
    return max(effects, default=Effect.VALUE)


@dataclass(frozen=True, slots=True)
class Join:
    """How many of the steps that a step waits for it needs. Made by `as_join` and `at_least`.

    Attributes:
        succeeded: it starts as soon as so many have succeeded; None: it waits until all have ended.
        needs_all: whether one that is skipped or fails skips it, too (unless its policy says otherwise).
    """

    succeeded: int | None
    needs_all: bool

    def __str__(self) -> str:
        if self.succeeded is None:
            return "all" if self.needs_all else "all_done"
        return "any" if self.succeeded == 1 else f"at_least({self.succeeded})"


ALL = Join(None, needs_all=True)
ALL_DONE = Join(None, needs_all=False)


def at_least(steps: int) -> Join:
    """The join of a step that starts as soon as that many of those it waits for have succeeded.

    Raises:
        ValueError: `steps` is below 1.
    """
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ValueError(f"at_least takes a number of 1 or more, got {steps!r}")
    return Join(steps, needs_all=False)


def as_join(rule: Join | str) -> Join:
    """The join that ``"all"``, ``"any"`` or ``"all_done"`` stands for.

    Raises:
        ValueError: it is none of them.
    """
    known = {"all": ALL, "any": at_least(1), "all_done": ALL_DONE}
    if isinstance(rule, Join):
        return rule
    if rule not in known:
        raise ValueError(f"a join is 'all', 'any', 'all_done' or at_least(n), got {rule!r}")
    return known[rule]


class Decision(Enum):
    """Whether a step that waits for others starts."""

    WAIT = auto()
    START = auto()
    SKIP = auto()


def decide(join: Join, *, succeeded: int, pending: int, blocked: bool) -> Decision:
    """What becomes of a step, from how many of its dependencies succeeded and how many have not ended (third table).

    Args:
        join: its rule.
        succeeded: dependencies that succeeded.
        pending: dependencies without an outcome.
        blocked: whether the effect of one that has ended is to skip.
    """
    if join.succeeded is not None:
        if succeeded >= join.succeeded:
            return Decision.START
        return Decision.SKIP if succeeded + pending < join.succeeded else Decision.WAIT
    if pending:
        return Decision.WAIT
    return Decision.SKIP if join.needs_all and blocked else Decision.START


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
