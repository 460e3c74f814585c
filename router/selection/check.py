"""Holds a model's answer against the tools: names, arguments, references and the order of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...catalog import ArgumentOrigin, Tool, ToolCall, ToolError, new_call_id
from ...catalog.arguments import validate_arguments
from ...catalog.errors import did_you_mean
from .answer import Answer, AnsweredCall
from .references import Reference, covers, find_references, path_problem, renamed


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer after the check.

    Attributes:
        calls: the usable calls in an order that respects their dependencies; what is wrong in their arguments is
            left out, required parameters without a value are in `missing`.
        problems: place in the answer to what is wrong there, in words for the model; empty: all is well.
        invented: names that no tool has.
    """

    calls: tuple[ToolCall, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    invented: tuple[str, ...] = ()


def check_answer(answer: Answer, tools: Sequence[Tool]) -> Checked:
    """Checks `answer` against the tools that it could choose among.

    A required argument that is absent is no problem: the request may not say it, and a model that is pressed for
    it makes one up. It is listed in the call's `missing`.
    """
    by_name = {tool.name: tool for tool in tools}
    calls, problems = _with_ids(answer.calls)
    invented = tuple(dict.fromkeys(call.tool for call in calls.values() if call.tool not in by_name))
    for call_id, call in calls.items():
        if call.tool not in by_name:
            problems[f"{call_id}.tool"] = f"no tool is called {call.tool!r}{did_you_mean(call.tool, by_name)}"
    known = {call_id: call for call_id, call in calls.items() if call.tool in by_name}
    drafts: dict[str, _Draft] = {}
    for call_id, call in known.items():
        drafts[call_id] = _check_call(call_id, call, calls, by_name, problems)
    order, circle = _ordered({call_id: draft.after for call_id, draft in drafts.items()})
    if circle:
        problems["calls"] = f"the calls {', '.join(circle)} wait for each other"
    return Checked(_as_tool_calls(order, drafts, by_name), problems, invented)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A call's tool, what is right of its arguments, and the ids that it waits for."""

    tool: str
    arguments: dict[str, Any]
    after: tuple[str, ...]


def _with_ids(calls: Sequence[AnsweredCall]) -> tuple[dict[str, AnsweredCall], dict[str, str]]:
    """The calls by id; a call without an id gets the one that its place suggests."""
    by_id: dict[str, AnsweredCall] = {}
    problems: dict[str, str] = {}
    for place, call in enumerate(calls, start=1):
        call_id = call.id or f"c{place}"
        if call_id in by_id:
            problems[f"calls[{place - 1}].id"] = f"{call_id!r} is used twice"
            call_id = f"{call_id}/{place}"
        by_id[call_id] = call
    return by_id, problems


def _check_call(
    call_id: str,
    call: AnsweredCall,
    calls: Mapping[str, AnsweredCall],
    tools: Mapping[str, Tool],
    problems: dict[str, str],
) -> _Draft:
    tool = tools[call.tool]
    references = list(find_references(call.arguments))
    faults = _argument_faults(tool, call.arguments, references)
    for reference in references:
        if problem := _reference_problem(reference, call_id, calls, tools):
            faults[reference.at] = problem
    after = [other for other in call.depends_on if other in calls and other != call_id]
    for other in call.depends_on:
        if other not in after:
            faults["depends_on"] = f"{other!r} is no other call of this answer"
    hint = _reference_hint(after[0], calls, tools) if after else ""
    faults = {place: fault if place == "depends_on" else fault + hint for place, fault in faults.items()}
    problems.update({f"{call_id}.{place}": fault for place, fault in faults.items()})
    broken = {_top(place) for place in faults}
    arguments = {name: value for name, value in call.arguments.items() if name not in broken and "$" not in broken}
    after += [reference.call for reference in references if _top(reference.at) in arguments]
    return _Draft(call.tool, _coerced(tool, arguments), tuple(dict.fromkeys(after)))


def _reference_hint(source: str, calls: Mapping[str, AnsweredCall], tools: Mapping[str, Tool]) -> str:
    """How to refer to the call that a faulty one waits for: small models name it and then write a made-up value."""
    tool = tools.get(calls[source].tool)
    known = list((tool.returns or {}).get("properties", {})) if tool is not None else []
    has = f"; its result has {', '.join(known[:20])}" if known else ""
    return (
        f'; a value from the result of {source} is written {{"$from": "{source}", "path": "{(known or [""])[0]}"}}{has}'
    )


def _argument_faults(tool: Tool, arguments: dict[str, Any], references: Sequence[Reference]) -> dict[str, str]:
    """What does not fit the schema, apart from absent arguments at the top and values that are references."""
    try:
        validate_arguments(tool, arguments, coerce=True)
    except ToolError as error:
        absent = {name for name in tool.parameters.get("required", []) if name not in arguments}
        return {
            place: fault
            for place, fault in error.info.fields.items()
            if place not in absent and not any(covers(reference.at, place) for reference in references)
        }
    return {}


def _coerced(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with "5" as 5 where the schema wants a number; one by one, as others may be absent."""
    coerced = {}
    for name, value in arguments.items():
        schema = tool.parameters.get("properties", {}).get(name)
        alone = {"type": "object", "properties": {name: schema}, "$defs": tool.parameters.get("$defs", {})}
        try:
            coerced[name] = validate_arguments(alone, {name: value}, coerce=True)[name] if schema else value
        except ToolError:
            coerced[name] = value  # holds a reference, whose value is not there yet
    return coerced


def _reference_problem(
    reference: Reference, call_id: str, calls: Mapping[str, AnsweredCall], tools: Mapping[str, Tool]
) -> str:
    if reference.problem:
        return reference.problem
    if reference.call == call_id:
        return "a call cannot take a value from its own result"
    source = calls.get(reference.call)
    if source is None:
        return f"no call of this answer has the id {reference.call!r}"
    tool = tools.get(source.tool)
    return path_problem(reference.path, tool.returns) if tool is not None else ""


def _ordered(after: Mapping[str, tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """Ids so that each comes after those it waits for, otherwise in the given order; and ids that form a circle."""
    waiting = {call_id: {other for other in others if other in after} for call_id, others in after.items()}
    order: list[str] = []
    while ready := [call_id for call_id, others in waiting.items() if others <= set(order)]:
        order.append(ready[0])
        del waiting[ready[0]]
    return order, list(waiting)


def _as_tool_calls(
    order: Sequence[str], drafts: Mapping[str, _Draft], tools: Mapping[str, Tool]
) -> tuple[ToolCall, ...]:
    fresh = {call_id: new_call_id() for call_id in order}
    calls = []
    for call_id in order:
        draft = drafts[call_id]
        required = tools[draft.tool].parameters.get("required", [])
        calls.append(
            ToolCall(
                tool=draft.tool,
                arguments=renamed(draft.arguments, lambda other: fresh.get(other, other)),
                call_id=fresh[call_id],
                depends_on=tuple(fresh[other] for other in draft.after if other in fresh),
                origin=ArgumentOrigin.MODEL,
                missing=tuple(name for name in required if name not in draft.arguments),
            )
        )
    return tuple(calls)


def _top(place: str) -> str:
    """The argument that a place lies in: ``"filter.ids[0]"`` lies in ``"filter"``."""
    return place.split(".", 1)[0].split("[", 1)[0]
