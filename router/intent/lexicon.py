"""Which words of a catalog speak for which category, and how sure a request's words make us.

A naive Bayes model over the catalog's own words (names, aliases, categories, tags, examples, descriptions), so
that it needs no training data and follows the catalog. Its probabilities are not believed as they stand: how clear
the picture must be before anything is dropped is fitted per catalog (`caution`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...catalog import Tool
from ..retrieval.text import tokenize
from .names import bare_name

Floats = npt.NDArray[np.float64]

SMOOTHING = 0.5
"""Pseudo-tools per category that use the word as often as the whole catalog does."""
MAX_TERMS = 60
"""Terms of a request that are looked at: the rarest."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Categories by how well a request fits them.

    Attributes:
        categories: best first.
        scores: log-likelihood of each, up to a constant; same order.
        evidence: the positive part of each score, what speaks for the category; same order.
        telling: the request's terms that speak most for the best category, with their part of its evidence.
    """

    categories: tuple[str, ...]
    scores: Floats
    evidence: Floats
    telling: tuple[tuple[str, float], ...]

    def lead(self, kept: int) -> float:
        """By how much the best category is ahead of the best one that is dropped when `kept` stay; 0 when none is."""
        return float(self.scores[0] - self.scores[kept]) if kept < len(self.scores) else 0.0

    @property
    def supported(self) -> list[str]:
        """The categories that any term speaks for, best first."""
        return [category for category, e in zip(self.categories, self.evidence, strict=True) if e > 0]

    def rivalry(self, kept: Container[str]) -> float:
        """The strongest evidence for a dropped category as a share of the strongest for a kept one.

        Near 0 the request is about the kept categories alone; a request with two subjects has a high one, however
        large the lead. Infinite when nothing speaks for a kept category.
        """
        inside = max((e for c, e in zip(self.categories, self.evidence, strict=True) if c in kept), default=0.0)
        outside = max((e for c, e in zip(self.categories, self.evidence, strict=True) if c not in kept), default=0.0)
        return float(outside / inside) if inside > 0 else math.inf


class CategoryLexicon:
    """Counts of terms per category. Not safe for changes while it is read."""

    def __init__(self) -> None:
        self._tools: Counter[str] = Counter()
        self._terms: dict[str, Counter[str]] = {}
        self._order: tuple[str, ...] | None = None

    def add(self, tool: Tool) -> None:
        """Counts the tool's terms for its category; a tool without a category is left out."""
        if tool.category is None:
            return
        self._tools[tool.category] += 1
        for term in tool_terms(tool):
            self._terms.setdefault(term, Counter())[tool.category] += 1
        self._order = None

    def remove(self, tool: Tool) -> None:
        """Takes out what `add` counted."""
        if tool.category is None:
            return
        self._tools[tool.category] -= 1
        self._tools += Counter()  # drops a category whose last tool is gone
        for term in tool_terms(tool):
            counts = self._terms[term]
            counts[tool.category] -= 1
            if not counts[tool.category]:
                del counts[tool.category]
            if not counts:
                del self._terms[term]
        self._order = None

    @property
    def categories(self) -> tuple[str, ...]:
        """All categories, the largest first."""
        if self._order is None:
            self._order = tuple(sorted(self._tools, key=lambda category: (-self._tools[category], category)))
        return self._order

    def rank(self, terms: Iterable[str], without: Tool | None = None) -> Ranking:
        """Ranks the categories for the given terms.

        Each term adds ``log((n + a p) / (N + a))`` to a category, where n of its N tools use the term, p is the
        share of all tools that do, and a is `SMOOTHING`: multinomial naive Bayes smoothed towards the catalog.

        Args:
            terms: of a request, as `content_terms` gives them; unknown ones are skipped.
            without: a tool of the catalog whose own contribution is taken out first.
        """
        names = self.categories
        place = {name: index for index, name in enumerate(names)}
        sizes = np.array([self._tools[name] for name in names], dtype=np.float64)
        own = tool_terms(without) if without is not None else frozenset()
        home = place.get(without.category or "", -1) if without is not None else -1
        if home >= 0:
            sizes[home] -= 1
        total = float(sizes.sum())
        scores, evidence = np.zeros(len(names)), np.zeros(len(names))
        gains: list[tuple[str, Floats]] = []
        for term in self._rarest(terms):
            counts = np.zeros(len(names))
            for category, count in self._terms[term].items():
                counts[place[category]] = count
            if home >= 0 and term in own:
                counts[home] -= 1
            share = float(counts.sum()) / max(total, 1.0)
            if share == 0.0:
                continue
            gain = np.log((counts + SMOOTHING * share) / (sizes + SMOOTHING)) - math.log(share)
            scores += gain
            evidence += np.maximum(gain, 0.0)
            gains.append((term, gain))
        best = np.argsort(-scores, kind="stable")
        first = int(best[0]) if len(best) else 0
        telling = sorted(((term, float(gain[first])) for term, gain in gains), key=lambda item: -item[1])
        return Ranking(
            categories=tuple(names[int(index)] for index in best),
            scores=scores[best],
            evidence=evidence[best],
            telling=tuple(item for item in telling if item[1] > 0),
        )

    def _rarest(self, terms: Iterable[str]) -> Sequence[str]:
        known = {term for term in terms if term in self._terms}
        return sorted(known, key=lambda term: (sum(self._terms[term].values()), term))[:MAX_TERMS]


def content_terms(text: str) -> frozenset[str]:
    """The terms of `text` that can be about something: stems and bigrams, no single characters and no numbers."""
    return frozenset(term for term in tokenize(text) if len(term) > 1 and not term.isdigit())


def tool_terms(tool: Tool) -> frozenset[str]:
    """The content terms of everything that describes the tool, its namespace left out: it would flood its category."""
    texts = (bare_name(tool), *tool.aliases, tool.category or "", *tool.tags, *tool.examples, tool.description[:1000])
    return content_terms(" \n ".join(texts))
