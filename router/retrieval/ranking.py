"""From both arms' scores for one request to candidates: fusing, narrowing, the named tools first, and the reasons."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..embedding import Embedder, Vectors
from ..language import language_shares
from ..records import Candidate, Intent
from .dense import DenseArm
from .fusion import FusionWeights, exact_first, fuse, leading, standardise
from .lexical import LexicalIndex
from .text import words_and_terms
from .view import CatalogView
from .weighing import Evidence, strongest

PARAMETER_POOL = 20
"""Leading tools (at least; twice `k` when that is more) whose parameters are compared."""

SHOWN_WORDS = 4
"""Matching words in a candidate's reasons."""


@dataclass(frozen=True, slots=True)
class Ranker:
    """Ranks one view of the catalog. Lives for one look at the indexes, under the retriever's lock."""

    view: CatalogView
    lexical: LexicalIndex
    dense: DenseArm
    weights: FusionWeights

    def rank(
        self, request: str, k: int, intent: Intent, query: Vectors | None, cosines: Vectors | None, trouble: str
    ) -> list[Candidate]:
        """The best `k` candidates.

        Args:
            request: not blank.
            k: at most so many.
            intent: what stage 1 keeps.
            query: the request's vector, shape ``(dimension,)``; None: words decide alone.
            cosines: of all tools, shape ``(tools,)``, when there is a query.
            trouble: why there is no query, for the reasons.
        """
        words = {term: word for word, term in words_and_terms(request)}
        matches = self.view.lexical_scores(self.lexical, words)
        allowed = self.view.allowed(intent)
        parts = {"lexical": matches}
        best: dict[int, tuple[str, float]] = {}
        notes = [trouble] if trouble else []
        if query is None or cosines is None:
            fused = self.weights.lexical * matches
        else:
            known, foreign = known_share(request, self.dense.embedder)
            if foreign:
                notes.append(f"mostly words: the embedder does not know {', '.join(foreign)}")
            standing = standardise(cosines)
            fused = fuse(standing, matches, known, self.weights)
            parts["dense"] = cosines
            parts["standing"] = standing
            if known and self.weights.dense > 0:
                parts["lead"] = (fused - fused.max()) / self.weights.dense
            if self.weights.parameters > 0:
                pool = leading(fused, max(PARAMETER_POOL, 2 * k), allowed)
                best = self._best_parameters(query, pool)
                nearest = standardise(np.array([best[place][1] if place in best else np.nan for place in pool]))
                fused[pool] += self.weights.parameters * known * nearest
        exact = self._named(request, intent)
        places = exact_first(leading(fused, k, allowed), exact)[:k]
        return self._candidates(places, fused, parts, best, exact, words, notes)

    def evidence(
        self, request: str, intent: Intent, query: Vectors, cosines: Vectors, wanted: Sequence[Collection[str]]
    ) -> Evidence:
        """The raw scores behind `rank`, of the tools that may lead under some weights.

        Args:
            request: not blank.
            intent: what stage 1 keeps.
            query: the request's vector, shape ``(dimension,)``.
            cosines: of all tools, shape ``(tools,)``.
            wanted: for each tool that the request wants, the names that are right in its place.
        """
        words = {term: word for word, term in words_and_terms(request)}
        matches = self.view.lexical_scores(self.lexical, words)
        gold = tuple(frozenset(self.view.places[name] for name in names) for names in wanted)
        places = strongest(cosines, matches, self.view.allowed(intent))
        best = self._best_parameters(query, places.tolist())
        return Evidence(
            places,
            standardise(cosines)[places],
            matches[places],
            np.array([best[place][1] if place in best else np.nan for place in places.tolist()]),
            known_share(request, self.dense.embedder)[0],
            tuple(self._named(request, intent)),
            gold,
        )

    def _best_parameters(self, query: Vectors, pool: Sequence[int]) -> dict[int, tuple[str, float]]:
        found = self.dense.best_parameters(query, [self.view.tools[place] for place in pool])
        return {place: found[name] for place in pool if (name := self.view.tools[place].name) in found}

    def _named(self, request: str, intent: Intent) -> list[int]:
        """Places of tools that the request names outright; one that is a name and nothing else needs no stage 1.

        They survive all that stage 1 drops, but not the caller's own restriction.
        """
        places = [self.view.places[name] for name in (*intent.exact, request.strip()) if name in self.view.places]
        return [place for place in places if intent.within is None or self.view.tools[place].name in intent.within]

    def _candidates(
        self,
        places: Sequence[int],
        fused: npt.NDArray[np.floating],
        parts: dict[str, Vectors],
        best: dict[int, tuple[str, float]],
        exact: Collection[int],
        words: dict[str, str],
        notes: Sequence[str],
    ) -> list[Candidate]:
        top = max((float(fused[place]) for place in places), default=0.0)
        matching = self.lexical.matching([self.view.tools[place].name for place in places], words)
        rarity, unknown = self.lexical.rarities(words)
        known = sum(rarity.values())
        total = known + unknown * (len(words) - len(rarity))
        candidates = []
        for place, terms in zip(places, matching, strict=True):
            own = {arm: float(scores[place]) for arm, scores in parts.items() if not np.isnan(scores[place])}
            own["covered"] = sum(rarity[term] for term in terms) / known if known else 0.0
            own["unknown"] = 1 - known / total if total else 0.0
            reasons = []
            if place in exact:
                own["exact"] = 1.0
                reasons.append("named in the request")
            if terms:
                reasons.append("words: " + ", ".join(words[term] for term in terms[:SHOWN_WORDS]))
            if place in best:
                path, own["parameters"] = best[place]
                reasons.append(f"best parameter: {path}")
            score = top if place in exact else float(fused[place])
            candidates.append(Candidate(self.view.tools[place], score, own, (*reasons, *notes)))
        return candidates


def known_share(request: str, embedder: Embedder) -> tuple[float, list[str]]:
    """The share (0 to 1) of the request in languages that the embedder knows, and the other languages."""
    shares = language_shares(request)
    foreign = [language for language in shares if not embedder.knows(language)]
    return 1.0 - sum(shares[language] for language in foreign), foreign
