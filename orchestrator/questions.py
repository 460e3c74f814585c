"""Questions that a run asks a person or another system, while it waits for the answer."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import anyio

from ..catalog import ToolError
from .context import place_now, tell
from .events import EventKind
from .loop import in_loop_from_anywhere

QuestionKind = Literal["approval", "credentials", "guard", "input"]


def _new_id() -> str:
    return f"q_{uuid.uuid4().hex[:12]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What somebody has to answer before a step can go on.

    Attributes:
        question_id: its own; two that are asked at the same time are never mixed up.
        kind: "approval": may this call be made? "credentials": the old ones have expired; "guard": a guard has
            stopped the call: go on nevertheless? "input": anything else.
        text: for people.
        run_id: of the run that waits; "" outside of runs.
        step: that waits.
        tool: that it is about.
        arguments: of the call that it is about.
    """

    kind: QuestionKind
    text: str
    question_id: str = field(default_factory=_new_id)
    run_id: str = ""
    step: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered.

    Attributes:
        yes: whether the step may go on.
        value: what was asked for, e.g. new credentials; never shown in reports.
        by: who answered.
        reason: why not, for the report.
    """

    yes: bool
    value: Any = field(default=None, repr=False)
    by: str = ""
    reason: str = ""


class Approver(Protocol):
    """Whoever answers questions: a person at a terminal, a web page, a policy."""

    async def ask(self, question: Question) -> Answer:
        """Returns the answer, once there is one. It may take days; cancellation ends the wait."""


class Inbox:
    """An `Approver` that keeps its questions until somebody answers them: any of them, in any order, each once.

    Args:
        on_question: called with each new question.

    Example:
        >>> inbox = Inbox()
        >>> runtime = Runtime(catalog, approver=inbox)
        >>> inbox.answer(inbox.pending[0].question_id, Answer(True, by="ada"))  # from anywhere, also other threads
    """

    def __init__(self, on_question: Callable[[Question], None] | None = None) -> None:
        self._on_question = on_question
        self._lock = threading.Lock()
        self._open: dict[str, tuple[Question, Callable[[Answer], None]]] = {}

    @property
    def pending(self) -> tuple[Question, ...]:
        """Questions without an answer, oldest first."""
        with self._lock:
            return tuple(question for question, _ in self._open.values())

    async def ask(self, question: Question) -> Answer:
        """Waits for the answer."""
        answered = anyio.Event()
        answers: list[Answer] = []
        in_loop = in_loop_from_anywhere()

        def take(answer: Answer) -> None:
            answers.append(answer)
            in_loop(answered.set)

        with self._lock:
            self._open[question.question_id] = question, take
        try:
            if self._on_question is not None:
                self._on_question(question)
            await answered.wait()
        finally:
            with self._lock:
                self._open.pop(question.question_id, None)
        return answers[0]

    def answer(self, question_id: str, answer: Answer) -> None:
        """Answers a question, from any thread.

        Raises:
            KeyError: there is no such open question; it may have been answered, or its run may be over.
        """
        with self._lock:
            if question_id not in self._open:
                raise KeyError(f"no question {question_id!r} is open: it was answered, or nobody waits any more")
            _, take = self._open.pop(question_id)
        take(answer)


async def ask(approver: Approver, question: Question) -> Answer:
    """Asks, and tells those who watch the run that it waits.

    Raises:
        ToolError: "approval_denied": the answer is no.
    """
    tell(EventKind.WAITING, message=question.text, data={"question": question.question_id, "kind": question.kind})
    answer = await approver.ask(question)
    if not answer.yes:
        by = f" by {answer.by}" if answer.by else ""
        raise ToolError(
            f"{question.tool or question.step} may not go on: denied{by}"
            + (f": {answer.reason}" if answer.reason else ""),
            "approval_denied",
        )
    return answer


def question_here(
    kind: QuestionKind, text: str, *, tool: str = "", arguments: Mapping[str, Any] | None = None
) -> Question:
    """A question that knows which run and step it comes from."""
    here = place_now.get()
    step = None if here is None else next((place for place in here.outward() if place.kind == "step"), None)
    run = None if here is None else here.run
    return Question(
        kind=kind,
        text=text,
        run_id="" if run is None else run.run_id,
        step="" if step is None else step.name,
        tool=tool,
        arguments=arguments or {},
    )
