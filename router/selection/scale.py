"""What a cosine is worth in this catalog with this embedder: fitted by searching for tools with their own words.

A cosine of 0.3 is a lot for one embedder and nothing for another. The tools' own descriptions (or examples of requests)
are answerable requests that need no labels: the cosines at which they find tools are the catalog's yardstick. Cosines
serve better than fused scores here: a short request that no tool serves still shares rare words with some tool.
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
from ..language import detect_language
from ..records import Candidate
from ..searching import SearchesTools

SAMPLE = 128
"""Tools whose own words are searched for: about a second with the default embedder."""
WIDTH = 5
"""Candidates of each search: the nearest tool in meaning need not rank first."""
MIN_SAMPLE = 8
"""Fewer own requests in a language say nothing about requests in that language."""
REFIT_AFTER = 0.1
"""Share of the catalog that may change before the scale is fitted again."""
MAX_OWN_WORDS = 300
"""Characters of a description that stand for a request."""

INTERCEPT, SLOPE = -1.72, 3.49
"""Logistic regression of "some tool fits" on `reach` over the typical reach. Fitted on requests of toolalpaca,
bfcl_multiple and acebench_en (with their own tool; and, as requests that no tool serves, the same ones without it) and
on the development part of the on-call requests, with MiniLM."""


def reach(candidates: Sequence[Candidate]) -> float | None:
    """How near any candidate comes to the request in meaning: the best cosine, None when none was computed."""
    return max((candidate.parts["dense"] for candidate in candidates if "dense" in candidate.parts), default=None)


@dataclass(frozen=True, slots=True)
class Scale:
    """The yardstick for requests of one language.

    Attributes:
        typical: median reach of the tools' own words.
        samples: how many tools were asked.
    """

    typical: float
    samples: int

    def confidence(self, reached: float) -> float:
        """How likely it is that some tool fits, 0 to 1: ``logistic(INTERCEPT + SLOPE * reached / typical)``."""
        return 1 / (1 + math.exp(-(INTERCEPT + SLOPE * max(-2.0, min(2.0, reached / self.typical)))))


def fit_scales(retriever: SearchesTools, tools: Sequence[Tool]) -> dict[str, Scale]:
    """A scale for each language in which the tools describe themselves.

    Args:
        retriever: searches the catalog that `tools` come from.
        tools: at most `SAMPLE` of them are asked, the same ones for the same names.
    """
    able = sorted((tool for tool in tools if own_words(tool)), key=lambda tool: tool.name)
    asked = random.Random(len(able)).sample(able, SAMPLE) if len(able) > SAMPLE else able
    requests = [own_words(tool) for tool in asked]
    reached: defaultdict[str, list[float]] = defaultdict(list)
    for request, found in zip(requests, retriever.search_many(requests, WIDTH) if requests else (), strict=True):
        if (best := reach(found)) is not None:
            reached[detect_language(request)].append(best)
    medians = {language: (statistics.median(values), len(values)) for language, values in reached.items()}
    return {
        language: Scale(typical, samples)
        for language, (typical, samples) in medians.items()
        if samples >= MIN_SAMPLE and typical > 0
    }


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
