"""Random pipelines of every kind of step, with random faults and delays, in virtual time: what must always hold."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st
from toolpath.orchestrator import Event, EventKind, Pipeline, RunReport, StepOutcome

from tests.support.chaos import Plan, result_of
from tests.support.virtual_time import BACKENDS, run_virtually

EXAMPLES = int(os.environ.get("CHAOS_EXAMPLES", "60"))


def run(seed: int, backend: str, limit: int | None) -> tuple[Pipeline, RunReport, list[Event], list[str]]:
    calls: list[str] = []
    events: list[Event] = []
    pipeline = Plan(seed, calls.append).pipeline()
    report = run_virtually(backend, lambda: pipeline.run(on_event=events.append, limit=limit))
    return pipeline, report, events, calls


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 10_000_000), st.sampled_from(BACKENDS), st.sampled_from([1, 2, None]))
def test_order_and_outcomes(seed: int, backend: str, limit: int | None) -> None:
    pipeline, report, events, _ = run(seed, backend, limit)
    own = [event for event in events if not event.path]
    assert [event.kind for event in (own[0], own[-1])] == [EventKind.RUN_STARTED, EventKind.RUN_FINISHED]
    assert events[-1] is own[-1]  # nothing happens after the end
    ended: dict[str, int] = {}
    for at, event in enumerate(own):
        if event.kind is EventKind.STEP_FINISHED:
            assert event.step not in ended  # one outcome each
            ended[event.step] = at
            assert event.outcome is report[event.step].outcome
    assert ended.keys() == {step.name for step in pipeline.steps}
    for step in pipeline.steps:
        started = [
            at for at, event in enumerate(own) if (event.kind, event.step) == (EventKind.STEP_STARTED, step.name)
        ]
        assert len(started) <= 1
        if started and str(step.join) in ("all", "all_done"):
            assert all(ended[pipeline.steps[dep].name] < started[0] for dep in step.deps)
        if report[step.name].outcome is StepOutcome.SKIPPED:
            assert not started


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 10_000_000))
def test_the_same_seed_gives_the_same_on_both_loops_and_with_any_limit(seed: int) -> None:
    results = [result_of(run(seed, backend, limit)[1]) for backend in BACKENDS for limit in (1, None)]
    assert results[1:] == results[:-1]
