"""A run as spans."""

from __future__ import annotations

import pytest
from toolpath.orchestrator import PipelineBuilder, Retry, Span, Tracing

from tests.orchestrator.building import graph, raising, returning

pytestmark = pytest.mark.anyio


class Collected:
    def __init__(self) -> None:
        self.spans: list[Span] = []

    def export(self, span: Span) -> None:
        self.spans.append(span)

    def named(self, name: str) -> Span:
        (span,) = [span for span in self.spans if span.name == name and span.kind == "step"]
        return span


async def test_spans_nest_as_runs_and_steps_do() -> None:
    inner = graph({"x": []}, {"x": returning(1, after=2)}).build()
    collected = Collected()
    pipeline = PipelineBuilder().step(returning(1, after=1), name="a").step(inner, name="sub", deps=["a"]).build()
    await pipeline.run(on_event=Tracing(collected, "outer", clock=lambda: 1000.0))
    assert [(span.kind, span.name) for span in collected.spans] == [
        ("step", "a"),
        ("step", "x"),
        ("run", "sub"),
        ("step", "sub"),
        ("run", "outer"),
    ]
    by_id = {span.span_id: span for span in collected.spans}
    assert len(by_id) == 5
    x = collected.named("x")
    chain = [x.name]
    while x.parent_id:
        x = by_id[x.parent_id]
        chain.append(f"{x.kind} {x.name}")
    assert chain == ["x", "run sub", "step sub", "run outer"]
    assert {span.trace_id for span in collected.spans} == {x.trace_id}
    assert (collected.named("x").started, collected.named("x").ended) == (1001.0, 1003.0)


async def test_what_happened_within_a_step_is_in_its_span() -> None:
    collected = Collected()
    retry = Retry(attempts=2, backoff=3, jitter=0)
    builder = PipelineBuilder().step(raising(ConnectionError("down")), name="a", retry=retry)
    await builder.then(returning(1), name="b", deps=["a"]).build().run(on_event=Tracing(collected))
    a, b = collected.named("a"), collected.named("b")
    assert [(event.name, event.attributes["wait"]) for event in a.events] == [("retrying", 3)]
    assert (a.outcome, a.attributes["error_type"]) == ("failed", "unavailable")
    assert (b.outcome, b.attributes["reason"], b.started) == ("skipped", "step 'a' failed", b.ended)
    assert b.parent_id == a.parent_id != ""
