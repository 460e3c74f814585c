"""What scores are worth in this catalog with this embedder: measured by searching for tools with their own words.

A cosine of 0.3 is a lot for one embedder and nothing for another, and BM25 grows with the catalog. The tools' own
descriptions (or examples of requests) are answerable requests that need no labels: what they reach is the yardstick.
"""

from __future__ import annotations

import random
import statistics
import threading
import weakref
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...catalog import Catalog, CatalogChange, Tool
from ..language import detect_language
from ..records import Candidate
from ..searching import SearchesTools
from .records import Yardstick
from .yardstick_file import load_yardsticks, save_yardsticks

SAMPLE = 128
"""Tools whose own words are searched for: about a second with the default embedder."""
WIDTH = 5
"""Candidates of each search: the nearest tool in meaning need not rank first."""
MIN_SAMPLE = 8
"""Fewer own requests in a language say nothing about requests in that language."""
REFIT_AFTER = 0.1
"""Share of the catalog that may change before the yardsticks are fitted again."""
MAX_OWN_WORDS = 300
"""Characters of a description that stand for a request."""


def reach(candidates: Sequence[Candidate]) -> float | None:
    """How near any candidate comes to the request in meaning: the best cosine, None when none was computed."""
    return max((candidate.parts["dense"] for candidate in candidates if "dense" in candidate.parts), default=None)


def fit_yardsticks(retriever: SearchesTools, tools: Sequence[Tool]) -> dict[str, Yardstick]:
    """A yardstick for each language in which the tools describe themselves.

    Args:
        retriever: searches the catalog that `tools` come from.
        tools: at most `SAMPLE` of them are asked, the same ones for the same names.
    """
    able = sorted((tool for tool in tools if own_words(tool)), key=lambda tool: tool.name)
    asked = random.Random(len(able)).sample(able, SAMPLE) if len(able) > SAMPLE else able
    requests = [own_words(tool) for tool in asked]
    reached: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for request, found in zip(requests, retriever.search_many(requests, WIDTH) if requests else (), strict=True):
        if (best := reach(found)) is not None:
            words = max(candidate.parts.get("lexical", 0.0) for candidate in found)
            reached[detect_language(request)].append((best, words))
    yardsticks = {
        language: Yardstick(
            statistics.median(best for best, _ in values), statistics.median(words for _, words in values), len(values)
        )
        for language, values in reached.items()
        if len(values) >= MIN_SAMPLE
    }
    return {language: yardstick for language, yardstick in yardsticks.items() if yardstick.typical > 0}


def own_words(tool: Tool) -> str:
    """A request that the tool surely serves: its first example, else the beginning of its description."""
    return next((example for example in tool.examples if example.strip()), tool.description[:MAX_OWN_WORDS]).strip()


class CatalogYardsticks:
    """The yardsticks of a catalog, fitted when first asked for and again after it has changed by a tenth.

    Args:
        catalog: the tools.
        retriever: searches them.
    """

    def __init__(self, catalog: Catalog, retriever: SearchesTools) -> None:
        self._catalog, self._retriever = catalog, retriever
        self._lock = threading.Lock()
        self._yardsticks: Mapping[str, Yardstick] | None = None
        self._changes = 0
        _count_changes(catalog, self)

    def of(self, language: str) -> Yardstick | None:
        """The yardstick for requests in a language, None when the catalog says nothing in it. Call it in a thread."""
        return self._fitted().get(language)

    def languages(self) -> frozenset[str]:
        """Those that have a yardstick; none in a catalog of a few tools. Call it in a thread."""
        return frozenset(self._fitted())

    def _fitted(self) -> Mapping[str, Yardstick]:
        with self._lock:
            if self._yardsticks is None or self._changes > REFIT_AFTER * len(self._catalog):
                self._changes = 0
                self._yardsticks = self._kept_or_fitted()
            return self._yardsticks

    def _kept_or_fitted(self) -> Mapping[str, Yardstick]:
        """From beside the retriever's saved index when they are there for these very tools, else measured and kept."""
        folder = getattr(self._retriever, "folder", None)
        if not isinstance(folder, Path):
            return fit_yardsticks(self._retriever, list(self._catalog))
        key = self._key()
        kept = load_yardsticks(folder, key)
        if kept is None:
            kept = fit_yardsticks(self._retriever, list(self._catalog))
            save_yardsticks(folder, key, kept)
        return kept

    def _key(self) -> str:
        embedder, weights = getattr(self._retriever, "embedder", None), getattr(self._retriever, "weights", None)
        return f"{self._catalog.digest} {getattr(embedder, 'fingerprint', '')} {weights} {SAMPLE} {WIDTH}"

    def _changed(self) -> None:
        self._changes += 1


def _count_changes(catalog: Catalog, yardsticks: CatalogYardsticks) -> None:
    listener = weakref.WeakMethod(yardsticks._changed)

    def on_change(_change: CatalogChange) -> None:
        if (method := listener()) is not None:
            method()

    weakref.finalize(yardsticks, catalog.subscribe(on_change))
