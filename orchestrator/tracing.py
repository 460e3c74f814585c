"""A run as spans, for whoever collects traces: one for each run and step, nested as they happened."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .events import Event, EventKind

_ENDS = (EventKind.STEP_FINISHED, EventKind.RUN_FINISHED)
Where = tuple[tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that happened within a span.

    Attributes:
        at: seconds since the epoch.
        name: what, as in `EventKind`.
        attributes: of it, JSON-ready.
    """

    at: float
    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """One run or one step, from its start to its end.

    Attributes:
        trace_id: 32 hex digits, the same for everything in one run (W3C Trace Context).
        span_id: 16 hex digits.
        parent_id: of the span around it, "" for the outermost.
        name: of the pipeline or the step; a pipeline inside a step has that step's name.
        kind: "run" or "step".
        started: seconds since the epoch.
        ended: seconds since the epoch.
        outcome: one of the five words.
        attributes: run_id, and the error of what failed; JSON-ready.
        events: retries, fallbacks, waits and progress, in order.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: str
    started: float
    ended: float
    outcome: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()


class SpanExporter(Protocol):
    """Where spans go: a file, a collector, a list."""

    def export(self, span: Span) -> None:
        """Takes a span that has ended; inner ones come first. It must be quick: it is called in the event loop."""


class Tracing:
    """A listener that makes spans of a run's events. One for each run.

    Args:
        exporter: where they go.
        name: of the outermost span.
        clock: seconds since the epoch.

    Example:
        >>> report = await pipeline.run(inputs, on_event=Tracing(exporter))
    """

    def __init__(self, exporter: SpanExporter, name: str = "run", clock: Callable[[], float] = time.time) -> None:
        self._exporter = exporter
        self._name = name
        self._clock = clock
        self._origin = 0.0
        self._trace_id = secrets.token_hex(16)
        self._open: dict[Where, _Open] = {}

    def __call__(self, event: Event) -> None:
        """Takes an event."""
        if event.kind is EventKind.RUN_STARTED and not event.path:
            self._origin = self._clock() - event.at
        where = event.path, event.step
        now = self._origin + event.at
        if event.kind in (EventKind.RUN_STARTED, EventKind.STEP_STARTED):
            self._open[where] = _Open(secrets.token_hex(8), now)
        elif event.kind in _ENDS:
            self._end(event, where, now)
        elif where in self._open:
            told = {key: value for key, value in event.to_dict().items() if key not in ("event", "run_id", "at_s")}
            self._open[where].events.append(SpanEvent(now, str(event.kind), told))

    def _end(self, event: Event, where: Where, now: float) -> None:
        opened = self._open.pop(where, None) or _Open(secrets.token_hex(8), now)  # what is skipped never started
        path, step = where
        around: Where | None = (path, "") if step else (path[:-1], path[-1]) if path else None
        parent = None if around is None else self._open.get(around)
        attributes: dict[str, Any] = {"run_id": event.run_id}
        if event.error is not None:
            attributes |= {"error_type": event.error.error_type, "error": event.error.message}
        if event.message:
            attributes["reason"] = event.message
        span = Span(
            trace_id=self._trace_id,
            span_id=opened.span_id,
            parent_id="" if parent is None else parent.span_id,
            name=step or (path[-1] if path else self._name),
            kind="step" if step else "run",
            started=opened.started,
            ended=now,
            outcome=str(event.outcome),
            attributes=attributes,
            events=tuple(opened.events),
        )
        self._exporter.export(span)


@dataclass(slots=True)
class _Open:
    """A span that has not ended."""

    span_id: str
    started: float
    events: list[SpanEvent] = field(default_factory=list)
