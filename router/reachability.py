"""Whether every tool of a catalog can be found at all: by its own name and by its own description.

A tool that its own words do not find will hardly be found by a user's. It happens silently: look-alikes crowd it out,
stage 1 takes its description for another category, or its text says nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..catalog import Catalog, Tool
from .calibration.yardstick import MAX_OWN_WORDS, own_words, reach
from .intent.names import bare_name
from .records import Candidate, Intent
from .retrieval.text import parameter_texts, spoken_name
from .searching import SearchesTools

OwnText = Literal["name", "description", "example"]
"""Which of its own words a tool is searched by."""

BATCH = 256
"""Searches between two reports of progress."""


@dataclass(frozen=True, slots=True)
class Miss:
    """A search for a tool's own words that did not find the tool.

    Attributes:
        tool: its name.
        by: which of its words were searched for.
        instead: names of what was found, best first.
    """

    tool: str
    by: OwnText
    instead: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReachabilityReport:
    """What a check of a whole catalog found.

    Attributes:
        tools: how many were checked.
        k: rank up to which a tool counts as found.
        searches: how many were made.
        by_words_alone: how many of them compared no meaning, because the embedder failed or there is none.
        misses: searches that did not find their tool, in catalog order.
        twins: groups of tools that say the same in description, examples and parameters; only their names, or only
            their servers, tell them apart.
        wordless: tools with neither description nor example; only their names and parameters can find them.
        left_out: entries that a lenient `load_catalog` could not use, one message each.
    """

    tools: int
    k: int
    searches: int
    by_words_alone: int
    misses: tuple[Miss, ...]
    twins: tuple[tuple[str, ...], ...]
    wordless: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def unreachable(self) -> tuple[str, ...]:
        """Names of the tools that some of their own words do not find, in catalog order."""
        return tuple(dict.fromkeys(miss.tool for miss in self.misses))

    @property
    def complete(self) -> bool:
        """Whether every tool of the catalog is found by its own words."""
        return not self.misses

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "complete": self.complete,
            "tools": self.tools,
            "k": self.k,
            "searches": self.searches,
            "by_words_alone": self.by_words_alone,
            "unreachable": [{"tool": miss.tool, "by": miss.by, "instead": list(miss.instead)} for miss in self.misses],
            "twins": [list(group) for group in self.twins],
            "wordless": list(self.wordless),
            "left_out": list(self.left_out),
        }


def check_reachability(
    catalog: Catalog,
    search: SearchesTools,
    k: int = 5,
    *,
    classify: Callable[[str], Intent] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReachabilityReport:
    """Searches for every tool by its name, and by its description (its first example where it has none).

    Of a long description the beginning is searched for (`MAX_OWN_WORDS` characters). Tools need no vectors but those
    of the index; the texts are embedded in batches.

    Args:
        catalog: the tools.
        search: finds them, such as a `Retriever` over the catalog.
        k: a tool must be among the first `k`.
        classify: stage 1, so that a tool which it drops for its own words is noticed; default: everything is kept.
        progress: called now and then with the number of searches done and the number to do.

    Raises:
        ValueError: `k` is less than 1.

    Example:
        >>> catalog = Catalog(Tool(name=f"search_{letter}", description="Searches things.") for letter in "ab")
        >>> report = check_reachability(catalog, Retriever(catalog, HashEmbedder()), k=1)
        >>> report.unreachable, report.twins
        (('search_b',), (('search_a', 'search_b'),))
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    tools = list(catalog)
    asked = [(tool, by, text) for tool in tools for by, text in _own_texts(tool)]
    misses: list[Miss] = []
    by_words_alone = 0
    for start in range(0, len(asked), BATCH):
        batch = asked[start : start + BATCH]
        if progress is not None:
            progress(start, len(asked))
        for (tool, by, _), found in zip(batch, _found(search, k, batch, classify), strict=True):
            names = tuple(candidate.name for candidate in found)
            by_words_alone += bool(found) and reach(found) is None
            if tool.name not in names:
                misses.append(Miss(tool.name, by, names))
    if progress is not None:
        progress(len(asked), len(asked))
    return ReachabilityReport(
        tools=len(tools),
        k=k,
        searches=len(asked),
        by_words_alone=by_words_alone,
        misses=tuple(misses),
        twins=twins(tools),
        wordless=tuple(tool.name for tool in tools if not own_words(tool)),
        left_out=tuple(map(str, catalog.left_out)),
    )


def twins(tools: Sequence[Tool]) -> tuple[tuple[str, ...], ...]:
    """Groups of two and more tools whose texts are the same but for their names; case and white space do not count.

    A tool that says nothing has only its name, and is like another one of the same name on another server.
    """
    alike: defaultdict[tuple[object, ...], list[str]] = defaultdict(list)
    for tool in tools:
        said = tuple(_plain(text) for text in (tool.description, *sorted(tool.examples)))
        name = "" if own_words(tool) else _plain(spoken_name(bare_name(tool)))
        alike[(name, said, tuple(parameter_texts(tool).items()))].append(tool.name)
    return tuple(tuple(group) for group in alike.values() if len(group) > 1)


def _own_texts(tool: Tool) -> Iterator[tuple[OwnText, str]]:
    yield "name", tool.name
    if description := tool.description.strip()[:MAX_OWN_WORDS]:
        yield "description", description
    elif example := own_words(tool):
        yield "example", example


def _found(
    search: SearchesTools,
    k: int,
    batch: Sequence[tuple[Tool, OwnText, str]],
    classify: Callable[[str], Intent] | None,
) -> list[list[Candidate]]:
    requests = [text for _, _, text in batch]
    return search.search_many(requests, k, None if classify is None else [classify(text) for text in requests])


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
