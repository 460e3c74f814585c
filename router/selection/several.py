"""Stage 3 without a model for a request of several wishes: a call for each, in order, with what each waits for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...catalog import ToolCall
from ..records import Candidate, Intent, Selection, Wish
from .extract import extract_call
from .mentions import Clock

WEAK = 0.4
"""Share of the strongest wish's best score below which a wish gets no call: it is more often a detail taken for a wish.

The calls are exactly the wanted tools for 55.9% (Seal-Tools), 31.9% (BFCL parallel) and 63.6% (ACEBench) of requests
for several tools with every wish served; for 57.7%, 31.9% and 68.2% at 0.4; for 42.0%, 29.0% and 63.6% at 0.6. Of
ACEBench's requests of one tool: 73.6%, 74.8% and 77.3%.
"""
MAX_SHOWN = 60
"""Characters of a wish in a note."""

ChooseOne = Callable[[str, Sequence[Candidate], Intent], Selection]


@dataclass(slots=True)
class _Chosen:
    """A call and the wishes that it serves."""

    call: ToolCall
    wishes: list[int]


def choose_each(
    choose: ChooseOne, request: str, candidates: Sequence[Candidate], intent: Intent, clock: Clock | None = None
) -> Selection:
    """The calls for all wishes of `intent`, each chosen among what was found for that wish alone.

    Arguments are read from the wish, and where a required one stays empty from the whole request (see `_filled`).
    Wishes that come to the same tool, with arguments that do not contradict each other, share one call: the second
    one says more about the first. A wish for which nothing fits, or only something that is `WEAK` beside what the
    others found, is named in the notes and keeps the others going.

    Args:
        choose: the selection for one wish.
        request: the whole request.
        candidates: found for all wishes together; asked with the whole request when no wish finds anything.
        intent: with at least two wishes.
        clock: for arguments read from the whole request.

    Returns:
        The selection; its confidence is that in the first call.
    """
    chosen: list[_Chosen] = []
    serving: dict[int, _Chosen] = {}
    notes: list[str] = []
    answers: list[Selection] = []
    strongest = max((wish.found[0].score for wish in intent.wishes if wish.found), default=0.0)
    for place, wish in enumerate(intent.wishes):
        if wish.found and wish.found[0].score < WEAK * strongest and "exact" not in wish.found[0].parts:
            weak = f"{wish.found[0].name} scores {wish.found[0].score:.2f}, the strongest wish's tool {strongest:.2f}"
            notes.append(f"no call for wish {place + 1} ({_shortened(wish.text)}): {weak}")
            continue
        answer = choose(wish.text, wish.found, replace(intent, parts=(wish.text,), wishes=()))
        if not answer.calls:
            notes.append(f"nothing fits wish {place + 1} ({_shortened(wish.text)}): {answer.reason}")
            continue
        answers.append(answer)
        call = answer.calls[0]
        before = next((other for other in chosen if _agree(other.call, call)), None)
        if before is None:
            before = _Chosen(call, [])
            chosen.append(before)
        else:
            before.call = _joined(before.call, call)
        before.wishes.append(place)
        serving[place] = before
    if not chosen:
        whole = choose(request, candidates, replace(intent, parts=(request,), wishes=()))
        return replace(whole, notes=(*whole.notes, *notes))
    calls = _with_order(chosen, serving, intent.wishes)
    tools = {candidate.name: candidate.tool for wish in intent.wishes for candidate in wish.found}
    calls = [_filled(call, calls, extract_call(tools[call.tool], request, clock)) for call in calls]
    reason = f"{len(calls)} call{'s' if len(calls) > 1 else ''} for {len(intent.wishes)} wishes: " + "; ".join(
        answer.reason for answer in answers
    )
    return replace(answers[0], calls=tuple(calls), reason=reason, notes=(*answers[0].notes, *notes))


def _agree(one: ToolCall, other: ToolCall) -> bool:
    """Whether both calls may be one: the same tool, and no argument with two values."""
    return one.tool == other.tool and all(
        other.arguments[name] == value for name, value in one.arguments.items() if name in other.arguments
    )


def _joined(one: ToolCall, other: ToolCall) -> ToolCall:
    arguments = {**one.arguments, **other.arguments}
    missing = tuple(name for name in one.missing if name not in arguments)
    return one.model_copy(update={"arguments": arguments, "missing": missing})


def _with_order(chosen: Sequence[_Chosen], serving: dict[int, _Chosen], wishes: Sequence[Wish]) -> list[ToolCall]:
    """The calls in the order of their first wishes, each waiting for the calls of the wishes that its own need.

    A need points to an earlier wish. When that one has no call, it points on to what that one needs; and when a call
    serves an early and a late wish, what the late one needs may come behind the call and is then not waited for.
    """
    order = {id(entry): place for place, entry in enumerate(chosen)}
    calls = []
    for place, entry in enumerate(chosen):
        needed = [serving[need] for wish in entry.wishes for need in _served(wish, wishes, serving)]
        ids = dict.fromkeys(other.call.call_id for other in needed if order[id(other)] < place)
        calls.append(entry.call.model_copy(update={"depends_on": tuple(ids)}))
    return calls


def _served(place: int, wishes: Sequence[Wish], serving: dict[int, _Chosen]) -> list[int]:
    """The wishes with a call that the wish at `place` needs, directly or through wishes without one."""
    found: list[int] = []
    for need in wishes[place].needs:
        found += [need] if need in serving else _served(need, wishes, serving)
    return found


def _filled(call: ToolCall, calls: Sequence[ToolCall], whole: ToolCall) -> ToolCall:
    """`call` with required arguments that its wish does not say but the whole request does.

    A value that another call took from its own wish belongs there, unless this call waits for that one: "look up user
    42 and then delete it".
    """
    taken = [
        value
        for other in calls
        if other.call_id != call.call_id and other.call_id not in call.depends_on
        for value in other.arguments.values()
    ]
    found: dict[str, Any] = {
        name: whole.arguments[name]
        for name in call.missing
        if name in whole.arguments and whole.arguments[name] not in taken
    }
    if not found:
        return call
    missing = tuple(name for name in call.missing if name not in found)
    return call.model_copy(update={"arguments": call.arguments | found, "missing": missing})


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}…"
