"""Where code is while it runs: which run, step and item it works for, and which calls led there.

Every run, step and tool call has a `Place`, and each knows the one that it happens in; together they are the call
stack. It travels with the context variables, so also into threads and child tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ..catalog import ToolError
from .events import EventKind

MAX_DEPTH = 10
"""Runs, agents and tool calls inside each other, at most."""


class RunOf(Protocol):
    """What a place knows of its run."""

    run_id: str
    name: str

    def tell(self, kind: EventKind, step: str, /, **about: Any) -> None:
        """Tells those who listen what has happened; cheap when nobody does."""

    def in_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        """Calls a function in the run's event loop, from any thread."""

    @property
    def journal(self) -> Any:
        """What writes its outcomes down; None: nothing does."""


class MeterOf(Protocol):
    """What a place knows of its budget."""

    def call(self, tool: str) -> None:
        """Counts a call that is about to be made; raises when the budget is used up."""

    def add(self, tokens: int, money: float) -> None:
        """Counts what was spent."""

    def extend(self) -> None:
        """Grants the same budget once more."""


class LimiterOf(Protocol):
    """What a place knows of its limit."""

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Waits until a call may be made."""


class Place:
    """One entry of the call stack.

    Attributes:
        kind: what it is.
        name: of the pipeline, the step, the tool or the agent.
        outer: the place that it happens in; None: it is the outermost.
        run: the run that it belongs to; None: a call outside any run.
        depth: how many runs, agents and tool calls it is inside of, itself included.
        item: for a step that goes over a list: the position of the item.
        attempt: for a step: number of the attempt, from 1.
        beat: for a step with an idle timeout: what to call at a sign of life.
        holds: numbers of the limits of which it holds a place.
        meter: counts what calls in here spend.
        limiter: makes calls in here wait for their turn.
    """

    __slots__ = ("attempt", "beat", "depth", "holds", "item", "kind", "limiter", "meter", "name", "outer", "run")

    def __init__(
        self,
        kind: Literal["run", "step", "tool", "agent"],
        name: str,
        outer: Place | None,
        run: RunOf | None = None,
        *,
        item: int | None = None,
        attempt: int = 1,
    ) -> None:
        self.kind = kind
        self.name = name
        self.outer = outer
        self.run = run
        self.depth: int = (0 if outer is None else outer.depth) + (kind != "step")
        self.item = item
        self.attempt = attempt
        self.beat: Callable[[], None] | None = None
        self.holds: tuple[int, ...] = ()
        self.meter: MeterOf | None = None
        self.limiter: LimiterOf | None = None

    def outward(self) -> Iterator[Place]:
        """This place, the one around it, and so on."""
        place: Place | None = self
        while place is not None:
            yield place
            place = place.outer

    @property
    def stack(self) -> tuple[str, ...]:
        """Names from the outermost place to this one."""
        return tuple(place.name for place in self.outward())[::-1]

    @property
    def key(self) -> str:
        """For a step: the same for every attempt of it, and different for any other step, item and run."""
        run = "" if self.run is None else self.run.run_id
        return f"{run}:{self.name}" + ("" if self.item is None else f":{self.item}")


place_now: ContextVar[Place | None] = ContextVar("toolpath_place", default=None)
"""The innermost place of the code that is running."""


def check_depth(place: Place, most: int = MAX_DEPTH) -> None:
    """Refuses a place that is too deep inside others.

    Raises:
        ToolError: "depth_exceeded"; names the calls.
    """
    if place.depth > most:
        raise ToolError(
            f"{place.name} would be call number {place.depth} inside each other, and {most} are allowed: "
            + " > ".join(place.stack),
            "depth_exceeded",
            suggestion="end the recursion sooner, or call the tools one after the other",
        )


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a step, or a tool that it calls, may know of where it is.

    Attributes:
        run_id: id of the run.
        pipeline: name of the pipeline.
        step: name of the step.
        item: in a step that goes over a list: the position of the item.
        attempt: number of the attempt, from 1.
        idempotency_key: the same for each attempt of this step and item, also after a resume. Hand it to services that
            recognise repeated requests.
        stack: names of the pipelines, steps, tools and agents that led here, outermost first.
    """

    run_id: str
    pipeline: str
    step: str
    item: int | None
    attempt: int
    idempotency_key: str
    stack: tuple[str, ...]


def current_step() -> StepContext | None:
    """The step that this code runs in; None outside of any run.

    Example:
        >>> async def pay(order: Order) -> Receipt:
        ...     here = current_step()
        ...     return await bank.pay(order.total, idempotency_key=here.idempotency_key if here else None)
    """
    innermost = place_now.get()
    if innermost is None:
        return None
    for place in innermost.outward():
        if place.kind == "step" and place.run is not None:
            run = place.run
            return StepContext(run.run_id, run.name, place.name, place.item, place.attempt, place.key, innermost.stack)
    return None


def heartbeat() -> None:
    """Says that this step is alive, for a `Timeout` with `idle` seconds. Does nothing without one."""
    innermost = place_now.get()
    if innermost is None:
        return
    for place in innermost.outward():
        if place.beat is not None:
            place.beat()


def progress(message: str = "", *, fraction: float | None = None, **data: Any) -> None:
    """Tells those who watch the run how far this step is; also a `heartbeat`. Works from threads, too.

    Args:
        message: one line for people.
        fraction: how much is done, 0 to 1.
        data: anything else.

    Raises:
        ValueError: `fraction` is not between 0 and 1.

    Example:
        >>> for number, page in enumerate(pages):
        ...     progress(f"page {number}", fraction=number / len(pages))
    """
    if fraction is not None and not 0 <= fraction <= 1:
        raise ValueError(f"fraction must lie between 0 and 1, got {fraction!r}")
    heartbeat()
    innermost = place_now.get()
    if innermost is None:
        return
    step = next((place for place in innermost.outward() if place.kind == "step"), None)
    if step is None or step.run is None:
        return
    tell(EventKind.PROGRESS, message=message, fraction=fraction, data=data)


def tell(kind: EventKind, **about: Any) -> None:
    """Tells those who watch the run, if there is one, what has happened in the current step."""
    innermost = place_now.get()
    step = None if innermost is None else next((one for one in innermost.outward() if one.kind == "step"), None)
    if step is not None and step.run is not None:
        step.run.tell(kind, step.name, item=step.item, attempt=step.attempt, **about)
