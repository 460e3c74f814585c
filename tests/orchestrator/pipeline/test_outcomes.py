"""The outcome algebra: a truth table for every pair."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.orchestrator import FallbackPolicy, Missing, StepOutcome
from toolpath.orchestrator.pipeline.outcomes import (
    ALL,
    ALL_DONE,
    Decision,
    Effect,
    at_least,
    combine,
    decide,
    effect,
    inherited_confidence,
    strongest,
    worse,
)

from tests.orchestrator.building import CANCELLED, FAIL_FAST, FAILED, PARTIAL, SKIP, SKIPPED, SUCCEEDED, TIMED_OUT

VALUE, MISSING, DROP, STOP = Effect.VALUE, Effect.MISSING, Effect.SKIP, Effect.STOP

EFFECTS = {
    (SUCCEEDED, FAIL_FAST): VALUE, (SUCCEEDED, SKIP): VALUE, (SUCCEEDED, PARTIAL): VALUE,
    (FAILED, FAIL_FAST): STOP,     (FAILED, SKIP): DROP,     (FAILED, PARTIAL): MISSING,
    (TIMED_OUT, FAIL_FAST): STOP,  (TIMED_OUT, SKIP): DROP,  (TIMED_OUT, PARTIAL): MISSING,
    (SKIPPED, FAIL_FAST): DROP,    (SKIPPED, SKIP): DROP,    (SKIPPED, PARTIAL): MISSING,
    (CANCELLED, FAIL_FAST): DROP,  (CANCELLED, SKIP): DROP,  (CANCELLED, PARTIAL): DROP,
}  # fmt: skip

WORSE = {
    (SUCCEEDED, SUCCEEDED): SUCCEEDED, (SUCCEEDED, SKIPPED): SKIPPED, (SUCCEEDED, TIMED_OUT): TIMED_OUT,
    (SUCCEEDED, FAILED): FAILED, (SUCCEEDED, CANCELLED): CANCELLED,
    (SKIPPED, SKIPPED): SKIPPED, (SKIPPED, TIMED_OUT): TIMED_OUT, (SKIPPED, FAILED): FAILED,
    (SKIPPED, CANCELLED): CANCELLED,
    (TIMED_OUT, TIMED_OUT): TIMED_OUT, (TIMED_OUT, FAILED): FAILED, (TIMED_OUT, CANCELLED): CANCELLED,
    (FAILED, FAILED): FAILED, (FAILED, CANCELLED): CANCELLED,
    (CANCELLED, CANCELLED): CANCELLED,
}  # fmt: skip

STRONGEST = {
    (VALUE, VALUE): VALUE, (VALUE, MISSING): MISSING, (VALUE, DROP): DROP, (VALUE, STOP): STOP,
    (MISSING, MISSING): MISSING, (MISSING, DROP): DROP, (MISSING, STOP): STOP,
    (DROP, DROP): DROP, (DROP, STOP): STOP,
    (STOP, STOP): STOP,
}  # fmt: skip


@pytest.mark.parametrize(("outcome", "policy"), [*itertools.product(StepOutcome, FallbackPolicy)])
def test_what_an_outcome_does_under_each_policy(outcome: StepOutcome, policy: FallbackPolicy) -> None:
    assert effect(outcome, policy) is EFFECTS[outcome, policy]


@pytest.mark.parametrize("policy", [*FallbackPolicy])
def test_what_was_not_chosen_is_skipped_over_under_every_policy(policy: FallbackPolicy) -> None:
    assert effect(SKIPPED, policy, chosen=False) is DROP


def test_when_a_step_starts_for_each_join_and_every_state_of_three_dependencies() -> None:
    for succeeded, pending in itertools.product(range(4), range(4)):
        if succeeded + pending > 3:
            continue
        blocked = succeeded + pending < 3
        state = {"succeeded": succeeded, "pending": pending, "blocked": blocked}
        assert decide(ALL_DONE, **state) is (Decision.WAIT if pending else Decision.START)
        if pending:
            assert decide(ALL, **state) is Decision.WAIT
        else:
            assert decide(ALL, **state) is (Decision.SKIP if blocked else Decision.START)
        for needed in (1, 2, 3):
            if succeeded >= needed:
                expected = Decision.START
            else:
                expected = Decision.WAIT if succeeded + pending >= needed else Decision.SKIP
            assert decide(at_least(needed), **state) is expected


@pytest.mark.parametrize(("one", "other"), [*itertools.product(StepOutcome, StepOutcome)])
def test_which_of_two_outcomes_is_worse(one: StepOutcome, other: StepOutcome) -> None:
    expected = WORSE.get((one, other)) or WORSE[other, one]
    assert worse(one, other) is expected
    whole_run = SUCCEEDED if expected is SKIPPED else expected
    assert combine([one, other]) is whole_run


@pytest.mark.parametrize(("one", "other"), [*itertools.product(Effect, Effect)])
def test_which_of_two_effects_counts(one: Effect, other: Effect) -> None:
    expected = STRONGEST[one, other] if (one, other) in STRONGEST else STRONGEST[other, one]
    assert strongest([one, other]) is expected


def test_nothing_to_combine_is_a_success() -> None:
    assert combine([]) is SUCCEEDED
    assert strongest([]) is VALUE
    assert inherited_confidence(0.7, []) == 0.7


@given(st.lists(st.sampled_from(StepOutcome), max_size=6), st.randoms())
def test_the_order_of_outcomes_does_not_matter(outcomes: list[StepOutcome], random: object) -> None:
    shuffled = sorted(outcomes)
    assert combine(outcomes) is combine(shuffled)
    assert combine(outcomes + outcomes) is combine(outcomes)


unit = st.floats(0, 1)


@given(unit, st.lists(unit, max_size=5))
def test_confidence_is_passed_on_and_never_grows(own: float, dependencies: list[float]) -> None:
    inherited = inherited_confidence(own, dependencies)
    assert 0 <= inherited <= own
    assert all(inherited <= one for one in dependencies)


def test_missing_is_false_and_says_why() -> None:
    missing = Missing("logs", FAILED, "no logs")
    assert not missing
    assert (missing.step, missing.outcome, missing.reason) == ("logs", "failed", "no logs")
