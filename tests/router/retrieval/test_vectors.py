"""Vector indexes: one suite for all of them, and what is FAISS's own."""

import numpy as np
import pytest
from toolpath.router.retrieval import FaissIndex, VectorIndex

from .plain_index import PlainIndex
from .vector_index_conformance import SIZE, VectorIndexConformance, unit_vectors


class TestFaissIndex(VectorIndexConformance):
    """The default."""

    @staticmethod
    def make(dimension: int) -> VectorIndex:
        return FaissIndex(dimension)

    def test_a_dimension_must_be_positive(self) -> None:
        with pytest.raises(ValueError, match="at least one number"):
            FaissIndex(0)

    @pytest.mark.parametrize("queries", [np.zeros((1, SIZE + 1)), np.full((1, SIZE), np.inf)])
    def test_queries_that_do_not_fit_are_refused(self, queries: np.ndarray) -> None:
        index, _, _ = self.filled()
        for ask in (index.scores, lambda vectors: index.search(vectors, 1)):
            with pytest.raises(ValueError, match="vectors must"):
                ask(queries)

    def test_removing_one_of_many_copies_one_vector_only(self) -> None:
        index, keys, _ = self.filled(50)
        before = index.vectors(keys)
        index.remove(["k7"])
        assert list(index.keys) == [*keys[:7], "k49", *keys[8:49]]
        assert (index.vectors([*keys[:7], *keys[8:]]) == np.delete(before, 7, axis=0)).all()
        index.put(["k7"], unit_vectors(1))
        assert index.keys[-1] == "k7"


class TestPlainIndex(VectorIndexConformance):
    """Another implementation passes the same suite."""

    @staticmethod
    def make(dimension: int) -> VectorIndex:
        return PlainIndex(dimension)
