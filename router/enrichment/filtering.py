"""Which written requests are worth keeping: rules about the words, and the round trip through the search."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from ...catalog import Tool
from ..retrieval.text import tokenize
from ..searching import SearchesTools
from .prompts import STYLES

MAX_COPIED = 0.75
"""Likeness to the description (twice the words in common, in order, over all words) from which a request is a copy."""
ROUND_TRIP = 10
"""A request must find its tool among so many: the cut at which candidates usually go to a model."""

NAMES_IT, COPIES, PLACEHOLDER, ABOUT_TOOLS, PARROTED, REPEATS, NOT_FOUND = (
    "names the tool",
    "copies the description",
    "has a placeholder",
    "speaks of tools instead of the wish",
    "repeats the example of the instructions",
    "repeats another request",
    "does not find its tool",
)

_PLACEHOLDER = re.compile(r"\[[a-z][a-z _-]*\]|<[a-z][a-z _-]*>|\{[a-z][a-z _-]*\}|\bX{3,}\b|\b(?:xyz|foo|bar)\b", re.I)
_ABOUT_TOOLS = re.compile(r"\b(?:apis?|endpoints?|functions?|parameters?|this tool|the tool)\b", re.IGNORECASE)
_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")


def fault(request: str, tool: Tool) -> str:
    """What is wrong with a request for a tool, as one of the constants above; "" when its words are all right."""
    if _names(request, tool):
        return NAMES_IT
    if _PLACEHOLDER.search(request):
        return PLACEHOLDER
    if (said := _ABOUT_TOOLS.search(request)) and said.group().casefold() not in tool.description.casefold():
        return ABOUT_TOOLS
    if request in {style.example for style in STYLES.values()}:
        return PARROTED
    return COPIES if likeness(request, tool.description) >= MAX_COPIED else ""


def likeness(request: str, description: str) -> float:
    """How nearly two texts are the same, word by word: 0 to 1; of a long description any part of the request's length.

    Example:
        >>> likeness("Returns upcoming holidays for a country", "Returns upcoming holidays for the given country")
        0.8
    """
    wanted, given = list(tokenize(request)), list(tokenize(description))
    if not wanted or not given:
        return 0.0
    width, step = len(wanted) + 2, max(1, len(wanted) // 2)
    parts = [given[at : at + width] for at in range(0, max(1, len(given) - width + step), step)]
    return max(SequenceMatcher(None, wanted, part, autojunk=False).ratio() for part in parts)


def sift(
    requests: Mapping[str, str], tool: Tool, retriever: SearchesTools | None, k: int = ROUND_TRIP
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The requests that are kept, and the others with what is wrong with them. Searches: call it in a thread.

    Args:
        requests: style to request.
        tool: the tool that they are for.
        retriever: over the catalog of the tool, for the round trip; None: no round trip.
        k: a request is kept when the tool is among so many candidates.
    """
    kept: dict[str, str] = {}
    dropped: dict[str, str] = {}
    for request in requests.values():
        key = " ".join(tokenize(request))
        wrong = REPEATS if key in kept else fault(request, tool)
        if wrong:
            dropped[request] = wrong
        else:
            kept[key] = request
    if retriever is not None and kept:
        texts = list(kept.values())
        for request, found in zip(texts, retriever.search_many(texts, k), strict=True):
            if all(candidate.name != tool.name for candidate in found):
                dropped[request] = NOT_FOUND
    return tuple(request for request in kept.values() if request not in dropped), dropped


def _names(request: str, tool: Tool) -> bool:
    """Whether the request holds a name of the tool that nobody says by chance: one of several words, joined."""
    lowered = request.casefold()
    return any(name.casefold() in lowered for name in _telling(tool))


def _telling(tool: Tool) -> Sequence[str]:
    names = [name for full in (tool.name, *tool.aliases) for name in (full, full.rsplit(".", 1)[-1])]
    return [name for name in names if len([word for word in _WORD_BREAK.split(name) if word]) > 1]
