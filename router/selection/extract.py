"""Reads arguments from a request without a model, by their type: fills what is certain and lists what is missing.

Never guesses. A piece of the request is used once, only where type, format, enum, pattern and bounds allow it, and
only for the parameter that the words before it name; without such a word it must be the one piece of its form
and the parameter the one that takes such a piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...catalog import ArgumentOrigin, Tool, ToolCall, ToolError
from ...catalog.arguments import validate_arguments
from ..intent.phrases import contains_phrase, fold
from .mentions import MAX_REQUEST, Clock, Kind, Mention, find_mentions
from .naming import naming
from .slots import Slot, slots_of

_LIST_JOIN = re.compile(r"\s*(?:,|，|、|;|/)?\s*(?:\b(?:and|or)\b|和|与|及|以及|或)?\s*")
_TRUE_WORDS = "true|yes|on|enabled|是|开启|启用"
_FALSE_WORDS = "false|no|off|disabled|否|关闭|禁用"


@dataclass(frozen=True, slots=True)
class _Claim:
    """A slot that could take a run of mentions, and how well the words before them name it."""

    named: int
    distance: int
    slot: Slot
    mentions: tuple[int, ...]
    value: Any


def extract_call(tool: Tool, request: str, clock: Clock | None = None) -> ToolCall:
    """A call of `tool` with the arguments that can be read from the request.

    Args:
        tool: the tool; only parameters at the top of its schema are filled: scalars, enums, and lists of them.
        request: the user's text; its first 10,000 characters are read.
        clock: the current local time, for words such as "tomorrow" and 明天; without it they are not read.

    Returns:
        A call whose origin is `EXTRACTED`, with the required parameters that stay empty in `missing`.

    Example:
        >>> extract_call(send_mail, 'write to ann@example.com, subject: "Lunch"').arguments
        {'to': 'ann@example.com', 'subject': 'Lunch'}
    """
    text = request[:MAX_REQUEST]
    mentions = find_mentions(text, clock)
    slots = slots_of(tool)
    arguments: dict[str, Any] = {}
    used: set[int] = set()
    _fill_enums_and_booleans(slots, text, mentions, arguments, used)
    _fill_assignments(slots, text, mentions, arguments, used)
    _fill_series(slots, text, mentions, arguments, used)
    _fill_claims(slots, text, mentions, arguments, used)
    _fill_singles(slots, mentions, arguments, used)
    _drop_unfit(tool, arguments)
    ordered = {slot.name: arguments[slot.name] for slot in slots if slot.name in arguments}
    required = tool.parameters.get("required", [])
    missing = tuple(name for name in required if name not in ordered)
    return ToolCall(tool=tool.name, arguments=ordered, origin=ArgumentOrigin.EXTRACTED, missing=missing)


def _drop_unfit(tool: Tool, arguments: dict[str, Any]) -> None:
    """Takes out what the tool's schema refuses for reasons that a slot does not know (a format, a condition)."""
    try:
        validate_arguments(tool, arguments)
    except ToolError as error:
        for place in error.info.fields:
            arguments.pop(place.split(".", 1)[0].split("[", 1)[0], None)


def _fill_enums_and_booleans(
    slots: Sequence[Slot], text: str, mentions: Sequence[Mention], arguments: dict[str, Any], used: set[int]
) -> None:
    folded = fold(text)
    claimed: set[str] = set()
    for slot in slots:
        if slot.type == "boolean":
            value = _boolean(slot, folded)
            if value is not None and not slot.array:
                arguments[slot.name] = value
        elif slot.enum and slot.type == "string":
            found = [value for value in _enum_values(slot, text, folded) if fold(value) not in claimed]
            if slot.array and len(found) > 1 and _is_list(found, folded):
                arguments[slot.name] = found
            elif len(found) == 1 and not slot.array:
                arguments[slot.name] = found[0]
            else:
                continue
            claimed |= {fold(value) for value in found}
    used |= {place for place, mention in enumerate(mentions) if fold(mention.text) in claimed}


def _is_list(values: Sequence[str], folded: str) -> bool:
    """Whether the values stand in the text one after the other with nothing but commas and "and" between them."""
    listed = r"\W*(?:,|，|、|\band\b|\bor\b|和|与|及|\W)+\W*".join(re.escape(fold(value)) for value in values)
    return re.search(listed, folded) is not None


def _enum_values(slot: Slot, text: str, folded: str) -> list[str]:
    """The slot's values that stand in the text as whole words; a value inside a longer found one does not count."""
    found: list[str] = []
    for value in sorted((value for value in slot.enum if isinstance(value, str) and value), key=len, reverse=True):
        spoken = value.replace("_", " ").replace("-", " ")
        if len(value) <= 2 and value.isascii():  # "C", "in": only as written, and not as a word of the sentence
            there = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None and not value.islower()
        else:
            there = contains_phrase(folded, value) or contains_phrase(folded, spoken)
        if there and not any(contains_phrase(fold(longer), value) for longer in found):
            found.append(value)
    return sorted(found, key=lambda value: folded.find(value.casefold()))


def _boolean(slot: Slot, folded: str) -> bool | None:
    """Only what is written out: "verbose: true", "recursive = no"."""
    parts = [part for part in re.split(r"[\s_-]+", fold(slot.name)) if part]
    if not parts or any(part not in folded for part in parts):  # most names: no pattern need be made of them
        return None
    name = r"[\s_-]*".join(map(re.escape, parts))
    match = re.search(
        rf"(?<!\w){name}\s*(?:=|:|：|is|to|as|set to)\s*(?:(?P<yes>{_TRUE_WORDS})|(?P<no>{_FALSE_WORDS}))(?![a-z])",
        folded,
    )
    return None if match is None else match.group("yes") is not None


def _fill_assignments(
    slots: Sequence[Slot], text: str, mentions: Sequence[Mention], arguments: dict[str, Any], used: set[int]
) -> None:
    """What is written as "name: value" or "name=value", including one-letter names and plain words."""
    if not any(sign in text for sign in "=:："):
        return
    runs = _runs(mentions, text)
    for slot in slots:
        if slot.name in arguments or slot.array:
            continue
        name = r"[\s_-]*".join(re.escape(part) for part in re.split(r"[\s_-]+", slot.name) if part)
        match = re.search(rf"(?<![\w.]){name}\s*(?:=|:|：)\s*", text, re.IGNORECASE)
        if match is None:
            continue
        place = next((i for i, m in enumerate(mentions) if m.start == match.end() and i not in used), None)
        if place is not None and (place, place) not in runs:
            continue  # a list is no single value
        if place is not None:
            value = slot.value_of(mentions[place])
            if value is not None:
                arguments[slot.name] = value
                used.add(place)
        elif slot.type == "string" and slot.kinds == (Kind.QUOTED,) and not slot.enum:
            plain = re.match(r"[^\s,，;；。\"'“]{1,100}(?=\s*(?:[,，;；。]|\.?\s*$|\n))", text[match.end() :])
            if plain is not None:
                arguments[slot.name] = plain.group().rstrip(".")


def _fill_series(
    slots: Sequence[Slot], text: str, mentions: Sequence[Mention], arguments: dict[str, Any], used: set[int]
) -> None:
    """``side1``, ``side2``, ``side3`` take a list of just so many values that stands behind their common name."""
    bases = dict.fromkeys(slot.series[0] for slot in slots if slot.series is not None)
    for base in bases:
        series = sorted((slot for slot in slots if slot.series and slot.series[0] == base), key=lambda slot: slot.name)
        for first, last in _runs(mentions, text) if len(series) > 1 else ():
            if last - first + 1 != len(series) or used.intersection(range(first, last + 1)):
                continue
            values = [slot.value_of(mentions[first + at]) for at, slot in enumerate(series)]
            if None not in values and naming(series[0], text, mentions, first, last)[0]:
                arguments.update((slot.name, value) for slot, value in zip(series, values, strict=True))
                used.update(range(first, last + 1))
                break


def _fill_claims(
    slots: Sequence[Slot], text: str, mentions: Sequence[Mention], arguments: dict[str, Any], used: set[int]
) -> None:
    """The mentions that the words before them (or the unit after them) give to a parameter, best evidence first."""
    claims = [
        claim
        for slot in slots
        if slot.name not in arguments and slot.type != "boolean" and slot.series is None
        for claim in _claims(slot, text, mentions)
    ]
    for claim in sorted(claims, key=lambda claim: (-claim.named, claim.distance, claim.mentions)):
        if claim.slot.name not in arguments and not used.intersection(claim.mentions):
            arguments[claim.slot.name] = claim.value
            used.update(claim.mentions)


def _claims(slot: Slot, text: str, mentions: Sequence[Mention]) -> Iterator[_Claim]:
    for first, last in _runs(mentions, text):
        places = tuple(range(first, last + 1))
        if slot.array and len(places) == 1 and not mentions[first].quoted:
            continue  # one number is a number; a list would be a guess
        if not slot.array and len(places) > 1 and not slot.side:
            continue  # a list is no single value
        for part in (places,) if slot.array else ((place,) for place in places):
            values = [slot.value_of(mentions[place]) for place in part]
            named, distance = naming(slot, text, mentions, part[0], part[-1])
            if named and None not in values:
                yield _Claim(named, distance, slot, part, values if slot.array else values[0])


def _same_kind(left: Mention, right: Mention) -> bool:
    return left.kind is right.kind


def _runs(mentions: Sequence[Mention], text: str) -> list[tuple[int, int]]:
    """Maximal runs of mentions of one kind with nothing but commas and "and" between them, as first and last place."""
    runs: list[tuple[int, int]] = []
    for place, mention in enumerate(mentions):
        if runs and _same_kind(mentions[place - 1], mention):
            between = text[mentions[place - 1].end : mention.start]
            if _LIST_JOIN.fullmatch(between):
                runs[-1] = (runs[-1][0], place)
                continue
        runs.append((place, place))
    return runs


def _fill_singles(
    slots: Sequence[Slot], mentions: Sequence[Mention], arguments: dict[str, Any], used: set[int]
) -> None:
    """A mention that is the only one of its form goes to the only parameter that takes such a form."""
    open_slots = [
        slot
        for slot in slots
        if slot.name not in arguments and slot.type != "boolean" and not slot.enum and not slot.array
    ]
    for place, mention in enumerate(mentions):
        if place in used or sum(_same_kind(other, mention) for other in mentions) > 1:
            continue
        takers = [slot for slot in open_slots if _takes_alone(slot, mention)]
        needed = [slot for slot in takers if slot.required]
        chosen = takers if len(takers) == 1 else needed
        if len(chosen) == 1 and chosen[0].name not in arguments:
            value = chosen[0].value_of(mention)
            arguments[chosen[0].name] = value
            used.add(place)


def _takes_alone(slot: Slot, mention: Mention) -> bool:
    """Whether the mention's form speaks for the slot without any word that names it."""
    if slot.value_of(mention) is None:
        return False
    if slot.type in ("integer", "number"):
        return slot.required
    if mention.kind in (Kind.NUMBER, Kind.CODE):
        return mention.kind is Kind.CODE and slot.pattern is not None  # else nothing says that it is this id
    return mention.kind == slot.kinds[0] and (mention.kind is not Kind.QUOTED or slot.required)
