"""The catalog as arrays: where each tool stands in the indexes of both arms, and which tools an intent keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...catalog import Tool
from ..embedding import Vectors
from ..records import Intent
from .dense import DenseArm
from .lexical import LexicalIndex

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CatalogView:
    """The catalog as arrays, as of one moment.

    Attributes:
        tools: in catalog order; the position in it is a tool's place.
        places: names and aliases to places.
        lexical_rows: place to row in the lexical index.
        dense_rows: place to row among the vectors, -1 where there is none yet.
        version: of the dense arm, for which `dense_rows` hold.
    """

    tools: tuple[Tool, ...]
    places: dict[str, int]
    lexical_rows: Rows
    dense_rows: Rows
    version: int

    def allowed(self, intent: Intent) -> npt.NDArray[np.bool_] | None:
        """Which places may be found, shape ``(tools,)``: where ``intent.keeps``; None: all."""
        if not intent.narrowed:
            return None
        kept = np.ones(len(self.tools), bool)
        if intent.categories:
            codes, numbers = self._categories
            kept = (codes < 0) | np.isin(codes, [numbers[name] for name in intent.categories if name in numbers])
            kept[[self.places[name] for name in intent.exact if self._is_a_name(name)]] = True
        if intent.within is not None:
            within = np.zeros(len(self.tools), bool)
            within[[self.places[name] for name in intent.within if self._is_a_name(name)]] = True
            kept &= within
        return kept

    def cosines(self, dense: DenseArm, queries: Vectors) -> Vectors:
        """Cosines of all tools, shape ``(requests, tools)``; NaN where a tool has no vector yet."""
        if dense.tools is None or not len(dense.tools.keys):
            return np.full((len(queries), len(self.tools)), np.nan, np.float32)
        scores = dense.tools.scores(queries)
        if self._aligned and scores.shape[1] == len(self.tools):
            return scores
        scores = np.take(scores, self.dense_rows, axis=1, mode="wrap")
        scores[:, self.dense_rows < 0] = np.nan
        return scores

    def lexical_scores(self, lexical: LexicalIndex, terms: Mapping[str, object]) -> npt.NDArray[np.float32]:
        """BM25 of all tools for the distinct `terms`, shape ``(tools,)``."""
        return lexical.scores(terms)[self.lexical_rows]

    def _is_a_name(self, name: str) -> bool:
        """Whether a tool is called so, and has it not as an alias."""
        return name in self.places and self.tools[self.places[name]].name == name

    @cached_property
    def _aligned(self) -> bool:
        """Whether the vectors stand in catalog order, as they do until the catalog changes."""
        return bool((self.dense_rows == np.arange(len(self.tools))).all())

    @cached_property
    def _categories(self) -> tuple[npt.NDArray[np.int64], dict[str, int]]:
        """The number of each tool's category, -1 without one, and the numbers by category."""
        numbers: dict[str | None, int] = {None: -1}
        codes = [numbers.setdefault(tool.category, len(numbers)) for tool in self.tools]
        return np.array(codes, np.int64), {name: number for name, number in numbers.items() if name is not None}


def view_of(tools: dict[str, Tool], lexical: LexicalIndex, dense: DenseArm) -> CatalogView:
    """The view of `tools`, all of which the lexical index must hold; some ten milliseconds for 40,000 of them."""
    names = list(tools)
    places = {alias: place for place, tool in enumerate(tools.values()) for alias in tool.aliases}
    places.update(zip(names, range(len(names)), strict=True))
    rows = np.full(len(names), -1, np.int64) if dense.tools is None else dense.tools.rows(names)
    return CatalogView(tuple(tools.values()), places, lexical.rows(names), rows, dense.version)
