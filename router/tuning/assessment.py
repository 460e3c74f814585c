"""How well an embedder finds tools by itself: recall over a catalog's labelled requests, before and after learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...catalog import Catalog
from ..embedding import Vectors
from ..retrieval.text import tool_text

CUTOFFS = (1, 5)


@dataclass(frozen=True, slots=True)
class Examination:
    """Labelled requests over one catalog, none of which may be learned from.

    Attributes:
        name: for people.
        tools: names in catalog order.
        texts: their texts, parallel to `tools`.
        requests: users' texts.
        accepted: parallel to `requests`: for every wanted tool the names that count as it.
    """

    name: str
    tools: tuple[str, ...]
    texts: tuple[str, ...]
    requests: tuple[str, ...]
    accepted: tuple[tuple[frozenset[str], ...], ...]

    def recalls(self, embed: Callable[[Sequence[str]], Vectors]) -> dict[int, list[float]]:
        """For each of `CUTOFFS` the recall of every request, by the cosine alone."""
        scores = embed(self.requests) @ embed(self.texts).T
        recalls: dict[int, list[float]] = {k: [] for k in CUTOFFS}
        for row, wanted in zip(scores, self.accepted, strict=True):
            order = [self.tools[at] for at in np.argsort(-row, kind="stable")[: max(CUTOFFS)]]
            for k in CUTOFFS:
                recalls[k].append(sum(not gold.isdisjoint(order[:k]) for gold in wanted) / len(wanted))
        return recalls


def examination(name: str, catalog: Catalog, requests: Sequence[tuple[str, Sequence[frozenset[str]]]]) -> Examination:
    """An examination from requests with the names that serve them.

    Args:
        name: for people.
        catalog: the tools.
        requests: text, and for every wanted tool the names that count as it; those without one are left out.
    """
    kept = [(text, tuple(wanted)) for text, wanted in requests if wanted]
    return Examination(
        name,
        tuple(tool.name for tool in catalog),
        tuple(map(tool_text, catalog)),
        tuple(text for text, _ in kept),
        tuple(wanted for _, wanted in kept),
    )


def judge_of(examinations: Sequence[Examination]) -> Callable[[Callable[[Sequence[str]], Vectors]], float]:
    """A judge for `train_update`: the mean of recall@1 and recall@5 over several examinations, each counting alike."""

    def judge(embed: Callable[[Sequence[str]], Vectors]) -> float:
        means = [np.mean(recalls) for each in examinations for recalls in each.recalls(embed).values()]
        return float(np.mean(means))

    return judge
