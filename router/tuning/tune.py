"""Tuning the default embedder to one catalog: learn on a part of the requests, judge on another, keep only gains."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...catalog import Catalog
from ...catalog.digest import digest_of_text
from ...catalog.errors import RoutingError
from ..embedding import Embedder, SentenceTransformerEmbedder
from ..embedding.minilm import DEFAULT_SHA256
from ..embedding.update import LowRankUpdate
from ..retrieval import Retriever
from .assessment import CUTOFFS, examination, judge_of
from .pairs import labelled_lesson, self_lesson
from .training import Recipe, Step, train_update

MIN_REQUESTS = 50
"""Fewer labelled requests leave about ten to judge by, which tell a gain from luck no more."""
SHARES = (60, 20, 20)
"""Percent of the requests that are learned from, that choose the state that is kept, and that judge in the end."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """What came of tuning.

    Attributes:
        update: the update for the plain weights, the one that it began with included.
        before: ``{1: …, 5: …}``, recall of the whole retrieval on the judging requests with the embedder as it was.
        after: the same with the update.
        learned: requests that were learned from.
        judged: requests that judged; none of them was learned from or chose anything.
    """

    update: LowRankUpdate
    before: Mapping[int, float]
    after: Mapping[int, float]
    learned: int
    judged: int

    @property
    def better(self) -> bool:
        """Whether the mean of recall@1 and recall@5 rose; what is not better should not be used."""
        return sum(self.after.values()) > sum(self.before.values())

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "better": self.better,
            "before": {f"recall@{k}": round(value, 6) for k, value in self.before.items()},
            "after": {f"recall@{k}": round(value, 6) for k, value in self.after.items()},
            "learned": self.learned,
            "judged": self.judged,
        }


Request = tuple[str, Sequence[Collection[str]]]
"""A text, and for every wanted tool the names that count as it, the labelled one first."""


def tune(
    catalog: Catalog,
    requests: Sequence[Request],
    *,
    start: LowRankUpdate | None = None,
    recipe: Recipe | None = None,
    progress: Callable[[Step], None] | None = None,
) -> Tuned:
    """Learns an update of the default embedder for `catalog`. Takes minutes; call it in a thread.

    Requests are divided by a digest of their text, so that equal texts stay together and the division is always the
    same. Beside the labelled requests, sentences of the tools' own descriptions are learned from.

    Args:
        catalog: the tools.
        requests: labelled requests; those that want nothing are left out.
        start: the update that the embedder has now; default: the plain weights.
        recipe: default: `Recipe()` with three passes, since one catalog has few requests.
        progress: called after every step.

    Raises:
        RoutingError: there are fewer than `MIN_REQUESTS` requests, or they all fall into one part.
        CatalogError: a request wants a tool that the catalog does not have.
        EmbedderError: the embedder cannot be loaded.
    """
    wanted = [(text, tuple(map(tuple, golds))) for text, golds in requests if golds]
    if len(wanted) < MIN_REQUESTS:
        raise RoutingError(
            f"tuning needs at least {MIN_REQUESTS} labelled requests, got {len(wanted)}; a model can write more"
        )
    learned, choosing, judging = divided(wanted)
    if not (learned and choosing and judging):
        raise RoutingError("tuning needs different requests: these have too few distinct texts to be divided")
    embedder = SentenceTransformerEmbedder(update=start)
    lessons = [
        labelled_lesson("requests", catalog, [(text, [gold[0] for gold in golds]) for text, golds in learned]),
        self_lesson("own words", list(catalog), 0),
    ]
    judge = judge_of([examination("choosing", catalog, _accepted(choosing))])
    recipe = recipe if recipe is not None else Recipe(epochs=3)
    found = train_update(embedder.loaded(), DEFAULT_SHA256, lessons, recipe, judge=judge, progress=progress)
    about = {"requests": str(len(learned)), "catalog": catalog.digest}
    update = found if start is None else start.then(found, about)
    return Tuned(
        update=update,
        before=_recalls(catalog, judging, embedder),
        after=_recalls(catalog, judging, SentenceTransformerEmbedder(update=update)),
        learned=len(learned),
        judged=len(judging),
    )


Wanted = tuple[str, tuple[tuple[str, ...], ...]]


def divided(requests: Sequence[Wanted]) -> tuple[list[Wanted], list[Wanted], list[Wanted]]:
    """The requests to learn from, to choose by and to judge by, about as `SHARES` says; equal texts stay together."""
    parts: tuple[list[Wanted], list[Wanted], list[Wanted]] = ([], [], [])
    for request in requests:
        place = int(digest_of_text(" ".join(request[0].split()).casefold())[:8], 16) % 100
        parts[0 if place < SHARES[0] else 1 if place < SHARES[0] + SHARES[1] else 2].append(request)
    return parts


def _accepted(requests: Sequence[Wanted]) -> list[tuple[str, list[frozenset[str]]]]:
    return [(text, [frozenset(gold) for gold in golds]) for text, golds in requests]


def _recalls(catalog: Catalog, requests: Sequence[Wanted], embedder: Embedder) -> dict[int, float]:
    """Mean recall of both arms together at each cutoff."""
    found = Retriever(catalog, embedder).search_many([text for text, _ in requests], max(CUTOFFS))
    sums = dict.fromkeys(CUTOFFS, 0.0)
    for (_, golds), candidates in zip(requests, found, strict=True):
        names = [candidate.name for candidate in candidates]
        for k in CUTOFFS:
            sums[k] += sum(not set(gold).isdisjoint(names[:k]) for gold in golds) / len(golds)
    return {k: total / len(requests) for k, total in sums.items()}
