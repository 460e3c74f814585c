"""Renders what each stage did as lines of text, with the reasons, so that a wrong pick can be traced.

Every function takes the record of its stage and how many milliseconds it took (None: not known).
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Sequence
from typing import Any

from ..catalog import ArgumentOrigin, ToolCall
from .records import Candidate, Intent, Selection, Usage, Wish

MAX_REQUEST_SHOWN = 200
EVIDENCE = frozenset({"standing", "lead", "covered", "unknown"})
"""Parts that say whether anything fits, not which tool: `Candidate.parts` has them, a line for a person has not."""
MAX_PART_SHOWN = 60
MAX_VALUE_SHOWN = 80
MAX_FOUND_SHOWN = 3


def printable(text: str, limit: int = 10_000) -> str:
    """`text` on one line: control, invisible and direction-changing characters escaped, cut after `limit`."""
    cut = text[:limit] + ("…" if len(text) > limit else "")
    return "".join(
        char if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") else _escaped(char)
        for char in cut
    )


def _escaped(char: str) -> str:
    code = ord(char)
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )


def request_lines(request: str) -> list[str]:
    """What was asked."""
    return [f"request    {printable(request, MAX_REQUEST_SHOWN)}"]


def _stage(name: str, summary: str, took: float | None) -> str:
    return f"{name:<11}{summary}" + (f"  [{took:.1f} ms]" if took is not None else "")


def intent_lines(intent: Intent, eligible: int, catalog_size: int, took: float | None) -> list[str]:
    """Stage 1: what the rules kept of the catalog, and why."""
    if intent.narrowed:
        kept = ", ".join(printable(category) for category in intent.categories) or "those that the caller allows"
        summary = f"keeps {eligible} of {catalog_size} tools: {kept}"
    else:
        summary = f"keeps all {catalog_size} tools"
    lines = [_stage("1 intent", f"{summary} (language: {intent.language})", took)]
    lines += [f"             {printable(reason)}" for reason in intent.reasons]
    if len(intent.parts) > 1:
        shown = " | ".join(printable(part, MAX_PART_SHOWN) for part in intent.parts)
        lines.append(f"             holds {len(intent.parts)} wishes: {shown}")
    return lines


def wish_lines(wishes: Sequence[Wish]) -> list[str]:
    """Stage 2: what was found for each of several wishes alone, and which wishes it comes after."""
    lines = []
    for place, wish in enumerate(wishes, start=1):
        after = f" (after {', '.join(str(need + 1) for need in wish.needs)})" if wish.needs else ""
        found = ", ".join(printable(candidate.name) for candidate in wish.found[:MAX_FOUND_SHOWN]) or "nothing"
        lines.append(f"             wish {place} {printable(wish.text, MAX_PART_SHOWN)}{after}: {found}")
    return lines


def retrieval_lines(candidates: Sequence[Candidate], chosen: Collection[str], took: float | None) -> list[str]:
    """Stage 2: the candidates with their scores; those that stage 3 chose are marked."""
    found = len(candidates)
    lines = [_stage("2 search", f"finds {found} candidate{'' if found == 1 else 's'}", took)]
    width = min(40, max((len(printable(candidate.name)) for candidate in candidates), default=0))
    for place, candidate in enumerate(candidates, start=1):
        lines.append(_candidate(place, candidate, width, candidate.name in chosen))
    return lines


def closure_lines(closure: Sequence[Candidate], chosen: Collection[str]) -> list[str]:
    """What the candidates need and what stage 3 is offered beside them, with the reasons; nothing for nothing."""
    if not closure:
        return []
    width = min(40, max(len(printable(needed.name)) for needed in closure))
    count = f"{len(closure)} tool{'' if len(closure) == 1 else 's'}"
    lines = [f"             offered beside them, for what they need: {count}"]
    for needed in closure:
        mark = "->" if needed.name in chosen else "  "
        lines.append(f"          {mark}  +  {printable(needed.name):<{width}}  {printable('; '.join(needed.reasons))}")
    return lines


def _candidate(place: int, candidate: Candidate, width: int, chosen: bool) -> str:
    parts = ", ".join(f"{arm} {score:.2f}" for arm, score in candidate.parts.items() if arm not in EVIDENCE)
    detail = f" ({parts})" if parts else ""
    why = f"  {printable('; '.join(candidate.reasons))}" if candidate.reasons else ""
    mark = "->" if chosen else "  "
    return f"          {mark} {place:>2}. {printable(candidate.name):<{width}}  {candidate.score:6.3f}{detail}{why}"


def selection_lines(selection: Selection, took: float | None) -> list[str]:
    """Stage 3: the calls, or that none fits, and why."""
    calls = selection.calls
    verdict = "none fits" if selection.abstained else f"{len(calls)} call{'s' if len(calls) != 1 else ''}"
    summary = f"{verdict}, confidence {selection.confidence:.2f}, by {printable(selection.served_by)}"
    lines = [_stage("3 pick", summary, took)]
    if selection.reason:
        lines.append(f"             {printable(selection.reason)}")
    lines += [f"             note: {printable(note)}" for note in selection.notes]
    number = {call.call_id: f"#{place}" for place, call in enumerate(calls, start=1)}
    for call in calls:
        lines += _call(call, number)
    return lines


def _call(call: ToolCall, number: dict[str, str]) -> list[str]:
    arguments = ", ".join(f"{printable(name)}={_value(value)}" for name, value in call.arguments.items())
    lines = [f"          {number[call.call_id]} {printable(call.tool)}({arguments})"]
    if call.origin is ArgumentOrigin.EXTRACTED and call.arguments:
        lines.append("             arguments were read from the request by their type: check them")
    if call.missing:
        lines.append(f"             missing: {', '.join(printable(name) for name in call.missing)}")
    if call.depends_on:
        lines.append(
            f"             after {', '.join(number.get(other, printable(other)) for other in call.depends_on)}"
        )
    return lines


def _value(value: Any) -> str:
    return printable(json.dumps(value, ensure_ascii=False, default=str), MAX_VALUE_SHOWN)


def cost_lines(usage: Usage, took: float | None) -> list[str]:
    """Tokens beside what sending the whole catalog would cost, and the time that all stages took."""
    shown = f"schemas of the candidates ~{usage.shown_tokens:,} tokens, of the whole catalog ~{usage.catalog_tokens:,}"
    if usage.catalog_tokens:
        shown += f" ({usage.shown_tokens / usage.catalog_tokens:.1%})"
    if usage.requests:
        shown += f"; model: {usage.requests} request{'s' if usage.requests > 1 else ''}, "
        shown += f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    return [_stage("cost", shown, took)]
