"""Whether the words around a mention name a parameter: "height of 5", "编号为 A1", "3 nights", "from … to …"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..retrieval.text import stem
from .mentions import Kind, Mention
from .slots import GENERIC_WORDS, Slot

WINDOW = 60
"""Characters before and after a mention in which a parameter's name is looked for."""
SPAN = 3
"""Strength of "from" and "to" in front of the ends of a span; above any single word."""

_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_NAME_TO_VALUE = re.compile(
    r"[\s:：=,(\[#$€£¥]*(?:(?:of|is|are|was|were|be|equals?|to|at|as|an?|the|my|our|your|its|this|that|values?|number"
    r"|no|named|called|titled|label+ed|set|about|around|approximately|exactly|id|code)\b[\s:：=.,(\[#$€£¥]*){0,5}"
    r"|[\s的是为等于叫做设置成改约共号：:=（(\[]*",
    re.IGNORECASE,
)
"""What may stand between a parameter's name and its value: "height of", "label is set to", "编号为"."""
_LOOSE = re.compile(r"\b(?:to|at|as)\b", re.IGNORECASE)
"""Links that often lead elsewhere ("the user in the database to 'x'"): they ask for the parameter's whole name."""
_VALUE_TO_NAME = re.compile(r"(?:[A-Za-z]{1,3}\b)?[\s)\]%-]*(?:(?:for|as)\b)?\s*(?:(?:the|its)\b)?\s*", re.IGNORECASE)
"""What may stand between a value and the name behind it: "3 nights", "440Hz frequency", "34.05 for latitude"."""
_FROM = re.compile(r"(?:\b(?:from|between|since|starting)|从|自)\s*$", re.IGNORECASE)
_TO = re.compile(r"(?:\b(?:to|until|till|through)|到|至)\s*$", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\s*$", re.IGNORECASE)


def naming(slot: Slot, text: str, mentions: Sequence[Mention], first: int, last: int) -> tuple[int, int]:
    """How well the words around ``mentions[first:last + 1]`` name `slot`, and how far away the name is.

    Returns:
        Strength (0: not at all; more for more words of the name, words in front above words behind) and distance in
        characters.
    """
    start = max(mentions[first].start - WINDOW, mentions[first - 1].end if first else 0)
    before, after = text[start : mentions[first].start], text[mentions[last].end :][:WINDOW]
    if slot.side and _is_end_of_span(slot.side, text, mentions, first):
        return SPAN, 0
    return _before(slot, before) or _behind(slot, mentions[first].kind, after) or (0, 0)


def _is_end_of_span(side: str, text: str, mentions: Sequence[Mention], at: int) -> bool:
    """Whether the mention stands behind "from" (side "from"), or behind "to" and another mention of its kind."""
    before = text[: mentions[at].start][-WINDOW:]
    if side == "from":
        return _FROM.search(before) is not None
    if at == 0 or mentions[at - 1].kind is not mentions[at].kind:
        return False
    opened = _BETWEEN.search(text[: mentions[at - 1].start][-WINDOW:]) is not None
    return _TO.search(before) is not None or (opened and before.rstrip().lower().endswith(" and"))


def _before(slot: Slot, before: str) -> tuple[int, int] | None:
    """The slot's name in front of the value, with nothing but linking words between the two."""
    words = [(stem(word.group().casefold()), word.end()) for word in _WORD.finditer(before)]
    places = [place for place, (word, _) in enumerate(words) if word in slot.words]
    if places:
        nearest = places[-1]
        near = {word for word, _ in words[max(0, nearest - len(slot.words) - 1) : nearest + 1]} & slot.words
        end, whole = words[nearest][1], near == slot.words
        if (near - GENERIC_WORDS or whole) and _links(before, end, whole):
            return len(near) + 1, len(before) - end
    pairs = [
        (run.group()[at : at + 2], run.start() + at + 2)
        for run in _HAN.finditer(before)
        for at in range(len(run.group()) - 1)
    ]
    found = [(pair, end) for pair, end in pairs if pair in slot.bigrams]
    if found and _links(before, found[-1][1], True):
        return len({pair for pair, _ in found}) + 1, len(before) - found[-1][1]
    return None


def _links(before: str, end: int, whole: bool) -> bool:
    return _NAME_TO_VALUE.fullmatch(before, end) is not None and (whole or _LOOSE.search(before, end) is None)


def _behind(slot: Slot, kind: Kind, after: str) -> tuple[int, int] | None:
    """The slot's name right behind the value, whole apart from words such as "number"."""
    link = _VALUE_TO_NAME.match(after)
    word = _WORD.match(after, link.end() if link else 0)
    if word is None or kind is Kind.CODE or stem(word.group().casefold()) not in slot.words:
        return None
    telling = slot.words - GENERIC_WORDS
    return (1, word.start()) if telling <= {stem(word.group().casefold())} else None
