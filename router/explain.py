"""Renders a routing decision as text: stage by stage, with the reasons, so that a wrong pick can be traced."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Any

from ..catalog import ArgumentOrigin, ToolCall
from .records import Candidate

if TYPE_CHECKING:
    from .decision import RoutingDecision

MAX_REQUEST_SHOWN = 200
MAX_PART_SHOWN = 60
MAX_VALUE_SHOWN = 80


def explain(decision: RoutingDecision) -> str:
    """See `RoutingDecision.explain`."""
    sections = [_request(decision), _intent(decision), _retrieval(decision), _selection(decision), _cost(decision)]
    return "\n".join(line for section in sections for line in section)


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


def _request(decision: RoutingDecision) -> list[str]:
    return [f"request    {printable(decision.request, MAX_REQUEST_SHOWN)}"]


def _stage(name: str, summary: str, decision: RoutingDecision, key: str) -> str:
    took = decision.timings.get(key)
    return f"{name:<11}{summary}" + (f"  [{took:.1f} ms]" if took is not None else "")


def _intent(decision: RoutingDecision) -> list[str]:
    intent = decision.intent
    if intent.narrowed:
        kept = ", ".join(printable(category) for category in intent.categories) or "those that the caller allows"
        summary = f"keeps {decision.eligible} of {decision.catalog_size} tools: {kept}"
    else:
        summary = f"keeps all {decision.catalog_size} tools"
    lines = [_stage("1 intent", f"{summary} (language: {intent.language})", decision, "intent")]
    lines += [f"             {printable(reason)}" for reason in intent.reasons]
    if len(intent.parts) > 1:
        shown = " | ".join(printable(part, MAX_PART_SHOWN) for part in intent.parts)
        lines.append(f"             holds {len(intent.parts)} wishes: {shown}")
    return lines


def _retrieval(decision: RoutingDecision) -> list[str]:
    found = len(decision.candidates)
    lines = [_stage("2 search", f"finds {found} candidate{'' if found == 1 else 's'}", decision, "retrieval")]
    width = min(40, max((len(printable(candidate.name)) for candidate in decision.candidates), default=0))
    chosen = {call.tool for call in decision.calls}
    for place, candidate in enumerate(decision.candidates, start=1):
        lines.append(_candidate(place, candidate, width, candidate.name in chosen))
    return lines


def _candidate(place: int, candidate: Candidate, width: int, chosen: bool) -> str:
    parts = ", ".join(f"{arm} {score:.2f}" for arm, score in candidate.parts.items())
    detail = f" ({parts})" if parts else ""
    why = f"  {printable('; '.join(candidate.reasons))}" if candidate.reasons else ""
    mark = "->" if chosen else "  "
    return f"          {mark} {place:>2}. {printable(candidate.name):<{width}}  {candidate.score:6.3f}{detail}{why}"


def _selection(decision: RoutingDecision) -> list[str]:
    selection = decision.selection
    verdict = (
        "none fits" if decision.abstained else f"{len(decision.calls)} call{'s' if len(decision.calls) != 1 else ''}"
    )
    summary = f"{verdict}, confidence {selection.confidence:.2f}, by {printable(selection.served_by)}"
    lines = [_stage("3 pick", summary, decision, "selection")]
    if selection.reason:
        lines.append(f"             {printable(selection.reason)}")
    lines += [f"             note: {printable(note)}" for note in selection.notes]
    number = {call.call_id: f"#{place}" for place, call in enumerate(decision.calls, start=1)}
    for call in decision.calls:
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


def _cost(decision: RoutingDecision) -> list[str]:
    usage = decision.usage
    shown = f"schemas of the candidates ~{usage.shown_tokens:,} tokens, of the whole catalog ~{usage.catalog_tokens:,}"
    if usage.catalog_tokens:
        shown += f" ({usage.shown_tokens / usage.catalog_tokens:.1%})"
    if usage.requests:
        shown += f"; model: {usage.requests} request{'s' if usage.requests > 1 else ''}, "
        shown += f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    return [_stage("cost", shown, decision, "total")]
