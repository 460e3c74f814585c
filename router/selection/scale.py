"""What a score is worth in this catalog with this embedder: fitted by searching for tools with their own words.

A fused score of 6 is a lot in one catalog and nothing in another. The tools' own descriptions (or examples of requests)
are answerable requests that need no labels: the scores at which they find their tools are the catalog's yardstick.
"""

from __future__ import annotations

import math
import random
import statistics
import threading
import weakref
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...catalog import Catalog, CatalogChange, Tool
from ..records import Candidate
from ..retrieval.language import detect_language
from ..searching import SearchesTools

SAMPLE = 128
"""Tools whose own words are searched for: about a second with the default embedder."""
MIN_SAMPLE = 8
"""Fewer own requests in a language say nothing about requests in that language."""
REFIT_AFTER = 0.1
"""Share of the catalog that may change before the scale is fitted again."""
MAX_OWN_WORDS = 300
"""Characters of a description that stand for a request."""

INTERCEPT, HEIGHT, MARGIN = -4.1, 4.1, 3.6
"""Logistic regression of "the first tool is right" on height and margin (see `Scale.confidence`)."""
USUAL_MARGIN = 0.12
"""Mean margin of the same data, where there is no second candidate to compare with."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The yardstick for requests of one language.

    Attributes:
        typical: median of the scores with which a tool is found by its own words.
        samples: how many tools were asked.
        dense: whether the scores had a dense part; scores without one are on another scale.
    """

    typical: float
    samples: int
    dense: bool

    def fits(self, candidate: Candidate) -> bool:
        """Whether the candidate's score was made like those that the scale was fitted on."""
        return ("dense" in candidate.parts) == self.dense

    def confidence(self, scores: Sequence[float]) -> float:
        """How likely the first candidate is the right tool, 0 to 1.

        ``logistic(INTERCEPT + HEIGHT * first / typical + MARGIN * (first - second) / typical)``

        Args:
            scores: of the candidates, best first; at least one.
        """
        height = scores[0] / self.typical
        margin = (scores[0] - scores[1]) / self.typical if len(scores) > 1 else USUAL_MARGIN
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, INTERCEPT + HEIGHT * height + MARGIN * margin))))


def fit_scales(retriever: SearchesTools, tools: Sequence[Tool]) -> dict[str, Scale]:
    """A scale for each language in which the tools describe themselves.

    Args:
        retriever: searches the catalog that `tools` come from.
        tools: at most `SAMPLE` of them are asked, the same ones for the same names.
    """
    able = sorted((tool for tool in tools if own_words(tool)), key=lambda tool: tool.name)
    asked = random.Random(len(able)).sample(able, SAMPLE) if len(able) > SAMPLE else able
    requests = [own_words(tool) for tool in asked]
    first: defaultdict[str, list[Candidate]] = defaultdict(list)
    for request, found in zip(requests, retriever.search_many(requests, 1) if requests else (), strict=True):
        if found:
            first[detect_language(request)].append(found[0])
    scales = {}
    for language, candidates in first.items():
        typical = statistics.median(candidate.score for candidate in candidates)
        dense = [("dense" in candidate.parts) for candidate in candidates]
        if len(candidates) >= MIN_SAMPLE and typical > 0 and len(set(dense)) == 1:
            scales[language] = Scale(typical, len(candidates), dense[0])
    return scales


def own_words(tool: Tool) -> str:
    """A request that the tool surely serves: its first example, else the beginning of its description."""
    return next((example for example in tool.examples if example.strip()), tool.description[:MAX_OWN_WORDS]).strip()


class CatalogScales:
    """The scales of a catalog, fitted when first asked for and again after it has changed by a tenth.

    Args:
        catalog: the tools.
        retriever: searches them.
    """

    def __init__(self, catalog: Catalog, retriever: SearchesTools) -> None:
        self._catalog, self._retriever = catalog, retriever
        self._lock = threading.Lock()
        self._scales: Mapping[str, Scale] | None = None
        self._changes = 0
        _count_changes(catalog, self)

    def of(self, language: str) -> Scale | None:
        """The scale for requests in a language, or None when the catalog says nothing about it. Call it in a thread."""
        with self._lock:
            if self._scales is None or self._changes > REFIT_AFTER * len(self._catalog):
                self._changes = 0
                self._scales = fit_scales(self._retriever, list(self._catalog))
            return self._scales.get(language)

    def _changed(self) -> None:
        self._changes += 1


def _count_changes(catalog: Catalog, scales: CatalogScales) -> None:
    listener = weakref.WeakMethod(scales._changed)

    def on_change(_change: CatalogChange) -> None:
        if (method := listener()) is not None:
            method()

    weakref.finalize(scales, catalog.subscribe(on_change))
