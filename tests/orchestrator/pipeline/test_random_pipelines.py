"""Random pipelines with random faults against a plain interpreter that knows nothing of workers, loops or ledgers."""

from __future__ import annotations

import inspect
import itertools
import os
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from toolpath.orchestrator import (
    FallbackPolicy,
    Level,
    Missing,
    Pipeline,
    PipelineBuilder,
    Retry,
    Run,
    RunReport,
    StepOutcome,
    constant,
    ref,
)
from toolpath.orchestrator.pipeline.outcomes import (
    MISSING_CONFIDENCE,
    Effect,
    combine,
    effect,
    inherited_confidence,
    strongest,
)

from tests.orchestrator.building import CANCELLED, FAIL_FAST, FAILED, PARTIAL, SKIP, SKIPPED, SUCCEEDED, TIMED_OUT
from tests.support.virtual_time import BACKENDS, run_virtually

ATTEMPTS = 3
MOST_APART = 9
"""So many steps end at moments that even asyncio tells apart (its timers count nanoseconds)."""
FALLBACK_CONFIDENCE = 0.6


@dataclass(frozen=True)
class Plan:
    """One random step.

    Attributes:
        number: its place; it waits for lower numbers only.
        deps: the steps it waits for.
        reads: those of them whose output it uses.
        seconds: how long one attempt takes.
        failures: how many attempts fail at first.
        transient: whether these failures may pass.
        retries: whether it is tried again.
        timeout: whether an attempt is cut short, always before it ends.
        fallback: whether a constant may serve.
        threaded: whether it is a sync function, which takes no virtual time.
        policy: its own policy; None: the run's.
    """

    number: int
    deps: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()
    seconds: float = 0.0
    failures: int = 0
    transient: bool = True
    retries: bool = False
    timeout: bool = False
    fallback: bool = False
    threaded: bool = False
    policy: FallbackPolicy | None = None

    @property
    def name(self) -> str:
        return f"s{self.number}"


@dataclass(frozen=True)
class Expected:
    """What the interpreter says of one step."""

    outcome: StepOutcome
    started: float | None = None
    ended: float = 0.0
    value: Any = None
    confidence: float = 0.0


@dataclass
class Watch:
    """What the steps themselves saw."""

    starts: list[tuple[str, float]] = field(default_factory=list)
    ends: list[tuple[str, float]] = field(default_factory=list)


def function_of(plan: Plan, watch: Watch) -> Any:
    failed = 0

    def outcome(arguments: dict[str, Any]) -> Any:
        nonlocal failed
        if failed < plan.failures:
            failed += 1
            raise ConnectionError(plan.name) if plan.transient else ValueError(plan.name)
        return plan.name, tuple(arguments[f"s{number}"] for number in plan.reads)

    async def waiting(**arguments: Any) -> Any:
        watch.starts.append((plan.name, anyio.current_time()))
        try:
            if plan.seconds:
                await anyio.sleep(plan.seconds)
            return outcome(arguments)
        finally:
            watch.ends.append((plan.name, anyio.current_time()))

    def in_thread(**arguments: Any) -> Any:
        return outcome(arguments)

    function = in_thread if plan.threaded else waiting
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(f"s{number}", kind) for number in plan.reads]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


def build(plans: list[Plan], policy: FallbackPolicy, watch: Watch) -> Pipeline:
    builder = PipelineBuilder().with_error_policy(policy)
    for plan in plans:
        builder.then(
            function_of(plan, watch),
            name=plan.name,
            deps=[f"s{dep}" for dep in plan.deps],
            bind={f"s{dep}": ref(f"s{dep}") for dep in plan.reads},
            retry=Retry(attempts=ATTEMPTS, jitter=0) if plan.retries else None,
            fallback=[Level(constant("fallback"), confidence=FALLBACK_CONFIDENCE)] if plan.fallback else [],
            timeout=plan.seconds / 2 if plan.timeout else None,
            policy=plan.policy,
        )
    return builder.build()


def length_and_success(plan: Plan) -> tuple[float, StepOutcome, bool]:
    """How long a step takes in all, how it ends, and whether its own target served."""
    attempts = ATTEMPTS if plan.retries else 1
    one = plan.seconds / 2 if plan.timeout else plan.seconds
    fails = ATTEMPTS if plan.timeout else plan.failures
    transient = plan.timeout or plan.transient
    made = 1 if not transient else min(fails + 1, attempts)
    seconds = one * made + sum(2.0**n for n in range(made - 1))
    if fails == 0 or (transient and fails < attempts):
        return seconds, SUCCEEDED, True
    if plan.fallback:
        return seconds, SUCCEEDED, False
    return seconds, TIMED_OUT if plan.timeout else FAILED, False


def interpret(plans: list[Plan], policy: FallbackPolicy, cut: float = float("inf")) -> dict[str, Expected]:
    """What becomes of each step when there is no limit, up to the moment `cut` at which the run is stopped."""
    known: dict[int, Expected] = {}
    for plan in plans:
        effects = [effect(known[dep].outcome, plans[dep].policy or policy) for dep in plan.deps]
        ready = max((known[dep].ended for dep in plan.deps), default=0.0)
        if strongest(effects) >= Effect.SKIP:
            known[plan.number] = Expected(SKIPPED, ended=ready)
            continue
        if ready >= cut:
            known[plan.number] = Expected(SKIPPED, ended=cut)
            continue
        seconds, outcome, own = length_and_success(plan)
        if ready + seconds > cut:
            known[plan.number] = Expected(CANCELLED, ready, cut)
            continue
        value: Any = None
        confidence = 0.0
        if outcome is SUCCEEDED:
            inputs = tuple(known[dep] for dep in plan.reads)
            value = (plan.name, tuple(one.value for one in inputs)) if own else "fallback"
            sources = [one.confidence if one.outcome is SUCCEEDED else MISSING_CONFIDENCE for one in inputs]
            confidence = inherited_confidence(1.0 if own else FALLBACK_CONFIDENCE, sources)
        known[plan.number] = Expected(outcome, ready, ready + seconds, value, confidence)
    return {plan.name: known[plan.number] for plan in plans}


def without_missing(value: Any) -> Any:
    """`value` with None for each `Missing`, whose reason the interpreter does not know."""
    if isinstance(value, Missing):
        return None
    return tuple(map(without_missing, value)) if isinstance(value, tuple) else value


@st.composite
def pipelines(draw: st.DrawFn, policies: Any = None, waits: bool = False) -> list[Plan]:
    plans: list[Plan] = []
    own_policy = st.none() | (policies if policies is not None else st.sampled_from([SKIP, PARTIAL]))
    for number in range(draw(st.integers(1, MOST_APART if waits else 14))):
        deps = tuple(sorted(draw(st.sets(st.integers(0, number - 1), max_size=4)))) if number else ()
        reads = tuple(dep for dep in deps if draw(st.booleans()))
        threaded = not waits and draw(st.integers(0, 5)) == 0
        # Three binary digits of its own in every step's length, and three attempts or half of one stay within them:
        # no two steps end at the same moment.
        seconds = draw(st.integers(int(waits), 4)) + 2.0 ** -(3 * min(number, 8) + 3) if not threaded else 0.0
        if not waits and draw(st.integers(0, 3)) == 0:
            seconds = 0.0
        plans.append(
            Plan(
                number,
                deps,
                reads,
                seconds,
                failures=draw(st.sampled_from([0, 0, 0, 1, 2, 5])),
                transient=draw(st.booleans()),
                retries=draw(st.booleans()),
                timeout=seconds > 0 and draw(st.integers(0, 6)) == 0,
                fallback=draw(st.integers(0, 4)) == 0,
                threaded=threaded,
                policy=draw(own_policy),
            )
        )
    return plans


limits = st.sampled_from([None, 1, 2, 3])
quietly = settings(max_examples=int(os.environ.get("CHAOS_EXAMPLES", "150")), deadline=None)


def run(backend: str, plans: list[Plan], policy: FallbackPolicy, **options: Any) -> tuple[RunReport, Watch]:
    watch = Watch()
    runs: list[Run] = []

    async def main() -> RunReport:
        origin = anyio.current_time()
        runs.append(build(plans, policy, watch).prepare(**options))
        report = await runs[0].execute()
        ended = anyio.current_time()
        watch.starts = [(name, moment - origin) for name, moment in watch.starts]
        watch.ends = [(name, moment - origin) for name, moment in watch.ends]
        await anyio.sleep(1000)
        assert all(moment <= ended - origin for _, moment in watch.ends), "something ran on after the end"
        return report

    report = run_virtually(backend, main)
    check_invariants(plans, report, watch, options.get("limit"))
    return report, watch


def check_invariants(plans: list[Plan], report: RunReport, watch: Watch, limit: int | None) -> None:
    """What holds for any run whatsoever."""
    assert sorted(report.steps) == sorted(plan.name for plan in plans), "every step has exactly one outcome"
    assert {name for name, _ in watch.starts} == {name for name, _ in watch.ends}
    for plan in plans:
        step = report[plan.name]
        if step.started is None:
            assert step.outcome is SKIPPED
            continue
        assert step.outcome is not SKIPPED
        for dep in plan.deps:
            before = report[f"s{dep}"]
            assert (before.started or 0.0) + before.elapsed <= step.started + 1e-9, "started before a dependency ended"
        assert step.started + step.elapsed <= report.elapsed + 1e-9
        assert len(step.history) <= (ATTEMPTS if plan.retries else 1) + plan.fallback
    if limit is not None:
        assert most_at_once(report) <= limit


def most_at_once(report: RunReport) -> int:
    """The largest number of steps that ran at the same time, those apart that took no time."""
    moments: list[tuple[float, int]] = []
    for step in report:
        if step.started is not None and step.elapsed:
            moments += [(round(step.started, 8), 1), (round(step.started + step.elapsed, 8), -1)]
    return max(itertools.accumulate(change for _, change in sorted(moments)), default=0)


@pytest.mark.parametrize("backend", BACKENDS)
@given(plans=pipelines(), policy=st.sampled_from([SKIP, PARTIAL]), limit=limits)
@example(plans=[Plan(0, failures=5, transient=False), Plan(1, seconds=1.0), Plan(2, deps=(0, 1))], policy=SKIP, limit=1)
@quietly
def test_outcomes_values_and_confidence_are_those_of_the_interpreter(
    backend: str, plans: list[Plan], policy: FallbackPolicy, limit: int | None
) -> None:
    report, _ = run(backend, plans, policy, limit=limit)
    expected = interpret(plans, policy)
    assert {step.name: step.outcome for step in report} == {name: one.outcome for name, one in expected.items()}
    for step in report:
        assert without_missing(step.value) == without_missing(expected[step.name].value)
        assert step.confidence == pytest.approx(expected[step.name].confidence)
    assert report.outcome is combine(one.outcome for one in expected.values())


@pytest.mark.parametrize("backend", BACKENDS)
@given(plans=pipelines(), policy=st.sampled_from([SKIP, PARTIAL]))
@quietly
def test_without_a_limit_every_step_starts_the_moment_it_may(
    backend: str, plans: list[Plan], policy: FallbackPolicy
) -> None:
    report, _ = run(backend, plans, policy)
    expected = interpret(plans, policy)
    for step in report:
        assert step.started == pytest.approx(expected[step.name].started)
    assert report.elapsed == pytest.approx(max(one.ended for one in expected.values()))


@pytest.mark.parametrize("backend", BACKENDS)
@given(plans=pipelines(), policy=st.sampled_from([SKIP, PARTIAL]), limit=st.sampled_from([1, 2, 3]))
@quietly
def test_with_a_limit_no_place_stands_idle(backend: str, plans: list[Plan], policy: FallbackPolicy, limit: int) -> None:
    """Graham's bound for list scheduling (1969): makespan <= work / limit + critical path * (1 - 1 / limit)."""
    report, _ = run(backend, plans, policy, limit=limit)
    longest = max(one.ended for one in interpret(plans, policy).values())
    work = sum(step.elapsed for step in report)
    assert report.elapsed >= max(longest, work / limit) - 1e-6
    assert report.elapsed <= work / limit + longest * (1 - 1 / limit) + 1e-6


@pytest.mark.parametrize("backend", BACKENDS)
@given(plans=pipelines(policies=st.sampled_from([FAIL_FAST, SKIP, PARTIAL]), waits=True), limit=limits)
@quietly
def test_fail_fast_stops_the_run_at_the_first_failure(backend: str, plans: list[Plan], limit: int | None) -> None:
    report, _ = run(backend, plans, FAIL_FAST, limit=limit)
    stopping = [
        step
        for step, plan in ((report[plan.name], plan) for plan in plans)
        if step.outcome in (FAILED, TIMED_OUT) and (plan.policy or FAIL_FAST) is FAIL_FAST
    ]
    unstopped = interpret(plans, FAIL_FAST)
    if stopping:
        (first,) = stopping
        assert first.started is not None
        assert report.elapsed == pytest.approx(first.started + first.elapsed)
        assert report.outcome is FAILED
    for step in report:
        if step.outcome in (SUCCEEDED, FAILED, TIMED_OUT):
            assert step.outcome is unstopped[step.name].outcome
        if step.outcome is CANCELLED:
            assert stopping
    if limit is None:
        ends = [
            one.ended
            for plan, one in ((plan, unstopped[plan.name]) for plan in plans)
            if one.outcome in (FAILED, TIMED_OUT) and (plan.policy or FAIL_FAST) is FAIL_FAST
        ]
        expected = interpret(plans, FAIL_FAST, min(ends, default=float("inf")))
        assert {step.name: step.outcome for step in report} == {name: one.outcome for name, one in expected.items()}


@pytest.mark.parametrize("backend", BACKENDS)
@given(plans=pipelines(waits=True), policy=st.sampled_from([SKIP, PARTIAL]), seconds=st.integers(0, 15), limit=limits)
@quietly
def test_a_time_limit_cuts_the_run_where_it_stands(
    backend: str, plans: list[Plan], policy: FallbackPolicy, seconds: int, limit: int | None
) -> None:
    cut = seconds + 0.3  # nothing else happens then: no sum of binary digits
    report, _ = run(backend, plans, policy, timeout=cut, limit=limit)
    assert report.elapsed <= cut + 1e-6
    whole = interpret(plans, policy)
    for step in report:
        if step.outcome in (SUCCEEDED, FAILED):
            assert step.outcome is whole[step.name].outcome
    if limit is None:
        expected = interpret(plans, policy, cut)
        found = {step.name: step.outcome for step in report}
        assert found == {name: TIMED_OUT if one.outcome is CANCELLED else one.outcome for name, one in expected.items()}


@pytest.mark.parametrize("backend", BACKENDS)
@given(plans=pipelines(), policy=st.sampled_from([SKIP, PARTIAL]), limit=limits)
@quietly
def test_dropping_outputs_changes_nothing_but_what_is_kept(
    backend: str, plans: list[Plan], policy: FallbackPolicy, limit: int | None
) -> None:
    every, _ = run(backend, plans, policy, limit=limit)
    leaves, _ = run(backend, plans, policy, limit=limit, keep="leaves")
    waited_for = {dep for plan in plans for dep in plan.deps}
    for plan in plans:
        kept, other = every[plan.name], leaves[plan.name]
        assert (kept.outcome, kept.confidence, kept.degraded_by) == (other.outcome, other.confidence, other.degraded_by)
        if other.outcome is SUCCEEDED:
            assert other.kept == (plan.number not in waited_for)
            assert other.value == (kept.value if other.kept else None)
