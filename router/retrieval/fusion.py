"""How the arms' scores become one ranking: pure functions over arrays, and the constants with their origin."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]

SMALLEST_SPREAD = 0.02
"""A standard deviation of cosines below this is noise (MiniLM has 0.08 to 0.13 over real catalogs): dividing by it
would blow up differences that mean nothing, as in a catalog of two look-alike tools."""


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """How much each arm counts.

    The fused score is ``dense * z + lexical * bm25 + parameters * best`` where `z` is the cosine in standard
    deviations over the catalog, `bm25` is left in its own unit and `best` is the cosine of the tool's best parameter,
    in standard deviations over the parameters of the leading tools.

    BM25 is not standardised per request: its size says how much evidence there is. A request that shares five rare
    words with a tool should follow the words, one that shares "get" should not, and dividing by the request's own
    spread hides the difference.

    The weights are the same for every catalog; the evidence follows it. BM25 in its own unit grows with the rarity of
    the shared words and with the size of the catalog and is 0 between two languages; cosines count in the spread that
    they have here. Rules that choose weights without labels were tried and did not win: with the weight of words that
    serves best when one half of a tool's description looks for the other half, mean recall@5 on the training catalogs
    below is 0.932, with the fixed one 0.933 (MiniLM, no parameters), and on one catalog a point less. The fixed weights
    lie within 0.7 points of each catalog's own best. An embedder without meaning is another matter (`HashEmbedder`
    gains 1.2 points with more weight on words): who has labelled requests, fits the weights (`evaluation.fitting`).

    All constants were chosen on six public training catalogs (Seal-Tools, ACEBench English, BFCL simple, multiple and
    parallel, ToolAlpaca) with MiniLM. Mean recall@5 there: dense alone 0.821, BM25 alone 0.894, both standardised
    0.907 (0.7 and 0.3) to 0.915 (0.5 and 0.5), this form 0.917.

    Attributes:
        dense: for a request in a language that the embedder knows. 1.2 belongs to the tuned default: on ToolAlpaca and
            the development part of the on-call requests, which it has not learned from, recall@5 is 0.937 and 0.717
            with it, 0.937 and 0.717 with 1.6. Plain MiniLM, with which the other figures here were found at 0.8, is
            as good with it (MetaTool 0.817 for 0.818, LiveMCPBench 0.426 for 0.425).
        dense_unknown: for one in a language that it does not know; all but silent, it orders what shares no word.
        lexical: per point of BM25. Only its ratio to `dense` matters; recall is flat from 0.2 to 0.35.
        parameters: of the best parameter, for the leading tools. Recall@5 and @10 at 0: 0.917, 0.952; at 0.1: 0.916,
            0.954; at 0.2: 0.917, 0.955; at 0.8 it hurts: 0.907, 0.951.
    """

    dense: float = 1.2
    dense_unknown: float = 0.05
    lexical: float = 0.2
    parameters: float = 0.1

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (isinstance(value, int | float) and np.isfinite(value) and value >= 0):
                raise ValueError(f"the weight {field.name!r} must be a finite number of at least 0, not {value!r}")

    def to_dict(self) -> dict[str, float]:
        """The weights by name, as JSON takes them."""
        return {name: float(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> FusionWeights:
        """The weights that `to_dict` gave; those that are not named have their default.

        Raises:
            ValueError: a name is unknown, or a value is no weight.
        """
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(values) - set(known)):
            raise ValueError(f"there are no weights called {', '.join(unknown)}; weights: {', '.join(known)}")
        return cls(**values)

    def dense_for(self, known_share: float) -> float:
        """The dense arm's weight when the embedder knows this share (0 to 1) of the request.

        By the square of the share: one vector stands for the whole text, and what a model does not know pulls it away.
        """
        known = known_share * known_share
        return self.dense * known + self.dense_unknown * (1 - known)


def standardise(scores: Floats) -> Floats:
    """`scores` as standard deviations from their mean, along the last axis; not finite (unknown) ones become 0.

    Arrays that are empty, constant or nearly so (`SMALLEST_SPREAD`) come out near 0 instead of blowing up.
    """
    known = np.isfinite(scores)
    count = np.maximum(known.sum(axis=-1, keepdims=True), 1)
    mean = np.where(known, scores, 0).sum(axis=-1, keepdims=True) / count
    centred = np.where(known, scores - mean, 0)
    spread = np.sqrt((centred**2).sum(axis=-1, keepdims=True) / count)
    return np.asarray(centred / np.maximum(spread, SMALLEST_SPREAD))


def fuse(standing: Floats, lexical: Floats, known_share: float, weights: FusionWeights) -> Floats:
    """One score per tool from the standardised cosines and the raw BM25, each of shape ``(tools,)``."""
    return np.asarray(weights.dense_for(known_share) * standing + weights.lexical * lexical)


def leading(scores: Floats, k: int, allowed: npt.NDArray[np.bool_] | None = None) -> list[int]:
    """Places of the `k` highest scores (among `allowed`), best first; of equal ones the earlier place comes first."""
    places = np.arange(len(scores)) if allowed is None else np.flatnonzero(allowed)
    if k < len(places):
        values = scores[places]
        threshold = np.partition(values, len(values) - k)[len(values) - k]
        places = places[values >= threshold]
    order = np.argsort(-scores[places], kind="stable")[:k]
    return [int(place) for place in places[order]]


def exact_first(places: Collection[int], exact: Collection[int]) -> list[int]:
    """`places` with those of tools that the request names outright in front, each group in its own order."""
    named = list(dict.fromkeys(exact))
    return named + [place for place in places if place not in set(named)]
