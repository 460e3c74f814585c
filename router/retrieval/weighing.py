"""Choosing the arms' weights on labelled requests, and keeping the chosen ones beside the index.

The arms are asked once; what a request's ranking would be under other weights is arithmetic over their raw scores.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...catalog.errors import IndexMismatchError
from ..embedding import Vectors
from .fusion import Floats, FusionWeights, exact_first, leading, standardise
from .store import replace_json

WEIGHTS = "weights.json"
KIND = "toolpath weights"

DEPTH = 200
"""Tools kept of each arm, its best: what is worse in both hardly comes among the first ten under any weights."""

LEXICAL_GRID = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.5)
"""Per point of BM25, beside a dense weight of 0.8: from a tie-break to all but BM25 alone."""

PARAMETERS_GRID = (0.0, 0.05, 0.1, 0.2, 0.4)
UNKNOWN_GRID = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the arms say of one labelled request, for the tools that may lead under some weights.

    Attributes:
        places: of these tools in the catalog, ascending; shape ``(tools,)``, as all arrays here.
        dense: cosines in standard deviations over the whole catalog.
        lexical: BM25.
        parameters: cosine of each tool's best parameter, NaN without one.
        known_share: share of the request in languages that the embedder knows.
        exact: places of tools that the request names outright.
        gold: for each tool wanted, the places of all that are right in its place.
    """

    places: npt.NDArray[np.int64]
    dense: Floats
    lexical: Floats
    parameters: Floats
    known_share: float
    exact: tuple[int, ...]
    gold: tuple[frozenset[int], ...]

    def ranks(self, weights: FusionWeights, pool: int) -> list[int | None]:
        """Place in the ranking, from 1, of each tool wanted; None where none of those accepted is among the tools.

        Args:
            weights: to rank with.
            pool: leading tools whose parameters are compared.
        """
        fused = weights.dense_for(self.known_share) * self.dense + weights.lexical * self.lexical
        if weights.parameters > 0:
            top = leading(fused, pool)
            fused[top] += weights.parameters * self.known_share * standardise(self.parameters[top])
        order = self.places[np.argsort(-fused, kind="stable")].tolist()
        rank = {place: at for at, place in enumerate(exact_first(order, self.exact), 1)}
        return [min((rank[place] for place in accepted if place in rank), default=None) for accepted in self.gold]


def strongest(
    cosines: Vectors, lexical: Floats, allowed: npt.NDArray[np.bool_] | None = None, depth: int = DEPTH
) -> npt.NDArray[np.int64]:
    """Places of the `depth` best tools of either arm (among `allowed`), ascending; NaN counts as the worst cosine."""
    known = np.where(np.isfinite(cosines), cosines, -np.inf)
    return np.unique(np.array([*leading(known, depth, allowed), *leading(lexical, depth, allowed)], np.int64))


@dataclass(frozen=True, slots=True)
class Objective:
    """What weights are chosen by: recall at `k`, and between equals the mean reciprocal rank.

    Attributes:
        k: rank up to which a tool counts as found.
        pool: leading tools whose parameters are compared.
    """

    k: int = 5
    pool: int = 20

    def __call__(self, evidence: Sequence[Evidence], weights: FusionWeights) -> tuple[float, float]:
        """Mean recall at `k` and mean reciprocal rank of the best tool, both over the requests; higher is better."""
        recall = reciprocal = 0.0
        for one in evidence:
            ranks = [rank for rank in one.ranks(weights, self.pool) if rank is not None]
            recall += sum(rank <= self.k for rank in ranks) / len(one.gold)
            reciprocal += 1 / min(ranks) if ranks else 0.0
        return recall / len(evidence), reciprocal / len(evidence)


def choose_weights(
    evidence: Sequence[Evidence], start: FusionWeights, objective: Objective, *, with_parameters: bool = True
) -> FusionWeights:
    """The weights with the best `objective` on `evidence`, found one weight at a time from `start` on.

    A ranking depends on ratios only, so `dense` stays what it is in `start` (0.8 where that is 0). A weight moves only
    for a gain; of equal ones the nearest to what it was is taken.

    Args:
        evidence: of the requests to fit on, not empty.
        start: where the search begins.
        objective: what is better.
        with_parameters: whether there are vectors of parameters at all.
    """
    best = start if start.dense > 0 else replace(start, dense=FusionWeights().dense)
    scale = best.dense / FusionWeights().dense
    grids: dict[str, tuple[float, ...]] = {"lexical": LEXICAL_GRID}
    if with_parameters:
        grids["parameters"] = PARAMETERS_GRID
    if any(one.known_share < 1 for one in evidence):
        grids["dense_unknown"] = UNKNOWN_GRID
    score = objective(evidence, best)
    moved = True
    while moved:
        moved = False
        for name, grid in grids.items():
            now = getattr(best, name)
            for value in sorted((scale * step for step in grid), key=lambda value: abs(value - now)):
                weights = replace(best, **{name: value})
                if (reached := objective(evidence, weights)) > score:
                    best, score, moved = weights, reached, True
    return best


def save_weights(folder: Path, weights: FusionWeights, fingerprint: str) -> None:
    """Writes `weights` beside the index in `folder`, in one step, in place of those that are there.

    Args:
        folder: of a saved index.
        weights: what a retriever that opens the folder shall use.
        fingerprint: of the embedder for which they were chosen.

    Raises:
        OSError: the folder cannot be written.
    """
    replace_json(folder / WEIGHTS, {"kind": KIND, "fingerprint": fingerprint, "weights": weights.to_dict()})


def load_weights(folder: Path, fingerprint: str) -> FusionWeights | None:
    """The weights that were saved in `folder`, or None when there are none.

    Raises:
        IndexMismatchError: the file is damaged, or the weights were chosen for another embedder: a weight belongs to
            the scores of one model.
    """
    path = folder / WEIGHTS
    if not path.is_file():
        return None
    advice = "choose them anew with `toolpath fit`, or remove the file"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["kind"] != KIND:
            raise ValueError("it belongs to something else")
        made_for, weights = content["fingerprint"], FusionWeights.from_dict(content["weights"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise IndexMismatchError(f"the weights in {path} cannot be read ({error}); {advice}") from error
    if made_for != fingerprint:
        raise IndexMismatchError(
            f"the weights in {path} were chosen for another embedding model (fingerprint {made_for!r}, now "
            f"{fingerprint!r}); {advice}"
        )
    return weights
