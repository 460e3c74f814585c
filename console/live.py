"""A run as it goes, in the terminal: what is under way, how far it is, and what has ended."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..orchestrator import Event, EventKind, StepOutcome
from .output import ERR, harmless

MAX_LINES = 12
"""Steps under way that are shown; the others are counted."""

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


@dataclass(slots=True)
class _Line:
    since: float
    note: str = ""
    fraction: float | None = None


class LiveView:
    """What is shown of a run; made of its events.

    Args:
        steps: how many steps the pipeline has.
        clock: seconds.
    """

    def __init__(self, steps: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._steps = steps
        self._clock = clock
        self._began = clock()
        self._running: dict[str, _Line] = {}
        self._ended: dict[StepOutcome, int] = {}

    def on_event(self, event: Event) -> None:
        """Takes note of an event."""
        where = " > ".join([*event.path, *([event.step] if event.step else [])])
        if event.kind is EventKind.STEP_STARTED:
            self._running[where] = _Line(self._clock())
        elif event.kind is EventKind.STEP_FINISHED:
            self._running.pop(where, None)
            if not event.path and event.outcome is not None:
                self._ended[event.outcome] = self._ended.get(event.outcome, 0) + 1
        elif where in self._running:
            line = self._running[where]
            if event.kind is EventKind.RETRYING:
                line.note = f"attempt {event.attempt} in {event.wait or 0:.1f} s"
            elif event.kind is EventKind.FALLBACK:
                line.note = f"falling back to {event.level}"
            elif event.kind is EventKind.WAITING:
                line.note = f"waiting: {event.message}"
            elif event.kind is EventKind.PROGRESS:
                line.note = event.message or line.note
                line.fraction = event.fraction if event.fraction is not None else line.fraction

    def __rich__(self) -> RenderableType:
        now = self._clock()
        done = sum(self._ended.values())
        told = ", ".join(f"{number} {str(outcome).replace('_', ' ')}" for outcome, number in self._ended.items())
        head = Text(
            f"{done} of {max(self._steps, done)} steps, {now - self._began:.0f} s" + (f": {told}" if told else "")
        )
        table = Table.grid(padding=(0, 1))
        frame = _FRAMES[int((now - self._began) * 10) % len(_FRAMES)]
        for where, line in list(self._running.items())[:MAX_LINES]:
            share = "" if line.fraction is None else f"{line.fraction:.0%}"
            table.add_row(
                Text(frame),
                Text(harmless(where)),
                Text(f"{now - line.since:.1f} s"),
                Text(share),
                Text(harmless(line.note)),
            )
        more = len(self._running) - MAX_LINES
        if more > 0:
            table.add_row("", Text(f"and {more} more"))
        return Group(head, table)


@contextmanager
def watching(steps: int, *, events: bool, quiet: bool) -> Iterator[Callable[[Event], None] | None]:
    """Gives the listener that shows a run on standard error; None: nothing is shown.

    Args:
        steps: how many the pipeline has.
        events: one JSON object a line instead of a live view.
        quiet: nothing, unless `events`.
    """
    if events:
        yield _print_event
    elif quiet or not ERR.is_terminal:
        yield None
    else:
        view = LiveView(steps)
        with Live(view, console=ERR, transient=True, refresh_per_second=8):
            yield view.on_event


def _print_event(event: Event) -> None:
    sys.stderr.write(json.dumps(event.to_dict(), ensure_ascii=False) + "\n")
    sys.stderr.flush()
