"""What an embedder learns from: requests with the tools that serve them, kept apart by catalog."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...catalog import Catalog, Tool, walk_parameters
from ..retrieval.text import spoken_name, tool_text

MIN_WORDS = 3
"""Words of a sentence that can stand for a request."""

LARGEST_COMPOUND = 3
"""Requests that are joined into one at most."""
JOINTS = (". ", ". Then ", ". Also ", ", and then ", "; ")
"""What stands between requests that are joined."""

_SENTENCES = re.compile(r"(?<=[.!?。！？])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Pair:
    """A request and one tool that serves it.

    Attributes:
        request: in a user's words.
        tool: text of the tool, as the embedder reads it.
        accepted: texts of all tools that serve the request; none of them counts against it.
    """

    request: str
    tool: str
    accepted: frozenset[str]


@dataclass(frozen=True, slots=True)
class Lesson:
    """The pairs of one catalog: a batch is drawn from one lesson, so that its tools are told from their neighbours.

    Attributes:
        name: for people.
        pairs: the pairs.
        tools: texts of all tools of the catalog, where hard negatives are looked for.
    """

    name: str
    pairs: tuple[Pair, ...]
    tools: tuple[str, ...]


def labelled_lesson(name: str, catalog: Catalog, requests: Sequence[tuple[str, Sequence[str]]]) -> Lesson:
    """A lesson from requests with the names of the tools that serve them.

    Args:
        name: for people.
        catalog: holds every tool that is named.
        requests: text and names; one pair is made for every name.

    Raises:
        CatalogError: a name is not in the catalog.
    """
    pairs = []
    for request, names in requests:
        texts = [tool_text(catalog.get(name)) for name in dict.fromkeys(names)]
        pairs += [Pair(request, text, frozenset(texts)) for text in texts]
    return Lesson(name, tuple(pairs), tuple(dict.fromkeys(map(tool_text, catalog))))


def self_lesson(name: str, tools: Sequence[Tool], seed: int) -> Lesson:
    """A lesson without labels: a sentence of a tool's description stands for a request, the rest for the tool.

    The sentence is taken out of the tool's text, so that the words alone do not give it away (the inverse cloze task
    of Lee, Chang and Toutanova 2019, "Latent Retrieval for Weakly Supervised Open Domain Question Answering"). Of a
    description that is a single sentence, name and parameters stand for the tool.

    Args:
        name: for people.
        tools: those with descriptions of `MIN_WORDS` words and more are used.
        seed: of the choice of sentences.
    """
    chance = random.Random(seed)
    pairs = []
    for tool in tools:
        parts = (part.strip() for part in _SENTENCES.split(tool.description))
        sentences = [part for part in parts if len(part.split()) >= MIN_WORDS and not part.endswith(":")]
        if not sentences:
            continue
        request = sentences[chance.randrange(min(len(sentences), 3))]
        rest = " ".join(part for part in sentences if part != request)
        text = tool_text(tool.model_copy(update={"description": rest}))
        if not rest and not any(True for _ in walk_parameters(tool.parameters)):
            text = spoken_name(tool.name)
        pairs.append(Pair(request[:300], text, frozenset([text])))
    return Lesson(name, tuple(pairs), tuple(dict.fromkeys(pair.tool for pair in pairs)))


def with_compounds(lesson: Lesson, share: float, seed: int) -> Lesson:
    """The lesson with requests that ask for several things added: two or three of its requests joined into one.

    A request for several things should stand near each of the tools that it needs, not near a single one; labelled
    requests of this kind are rare.

    Args:
        lesson: what to add to; pairs of the same request stay together.
        share: joined requests, as a share of the lesson's distinct requests.
        seed: of the choice.
    """
    chance = random.Random(seed)
    of_request: dict[str, list[Pair]] = {}
    for pair in lesson.pairs:
        of_request.setdefault(pair.request, []).append(pair)
    requests = sorted(of_request)
    if len(requests) < LARGEST_COMPOUND:
        return lesson
    made = []
    for _ in range(round(share * len(requests))):
        parts = [of_request[one] for one in chance.sample(requests, chance.randint(2, LARGEST_COMPOUND))]
        joined = chance.choice(JOINTS).join(pairs[0].request.strip().rstrip(".") for pairs in parts)
        accepted = frozenset().union(*(pair.accepted for pairs in parts for pair in pairs))
        made += [Pair(joined, chance.choice(pairs).tool, accepted) for pairs in parts]
    return Lesson(lesson.name, (*lesson.pairs, *made), lesson.tools)
