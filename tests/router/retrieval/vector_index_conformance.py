"""What every `VectorIndex` has to do. A class of tests inherits from this one and says how an empty index is made."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolpath.router.retrieval import VectorIndex

SIZE = 6

CHANGES = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", "e"]), st.booleans()), max_size=25)


def unit_vectors(count: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, SIZE)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class VectorIndexConformance:
    """The suite."""

    @staticmethod
    def make(dimension: int) -> VectorIndex:
        """An empty index."""
        raise NotImplementedError

    def filled(self, count: int = 10) -> tuple[VectorIndex, list[str], np.ndarray]:
        index, keys, vectors = self.make(SIZE), [f"k{at}" for at in range(count)], unit_vectors(count)
        index.put(keys, vectors)
        return index, keys, vectors

    def test_a_new_index_is_empty(self) -> None:
        index = self.make(SIZE)
        assert index.dimension == SIZE and list(index.keys) == []
        assert index.search(unit_vectors(2), 3) == [[], []]
        assert index.scores(unit_vectors(2)).shape == (2, 0)
        assert index.scores(np.zeros((0, SIZE), np.float32)).shape == (0, 0)
        assert index.vectors([]).shape == (0, SIZE)

    def test_search_finds_the_nearest_in_order(self) -> None:
        index, keys, vectors = self.filled()
        query = unit_vectors(2, seed=1)
        for found, row in zip(index.search(query, 3), query @ vectors.T, strict=True):
            best = np.argsort(-row)[:3]
            assert [key for key, _ in found] == [keys[at] for at in best]
            assert [score for _, score in found] == pytest.approx(list(row[best]), abs=1e-6)

    def test_search_among_allowed_keys_is_exact(self) -> None:
        index, keys, vectors = self.filled(50)
        allowed = keys[7:40:3]
        query = unit_vectors(1, seed=2)
        scores = dict(zip(keys, query[0] @ vectors.T, strict=True))
        expected = sorted(allowed, key=lambda key: -scores[key])[:4]
        assert [key for key, _ in index.search(query, 4, {*allowed, "unknown"})[0]] == expected

    def test_asking_for_more_than_there_is_gives_what_there_is(self) -> None:
        index, _, _ = self.filled(3)
        query = unit_vectors(1)
        assert len(index.search(query, 99)[0]) == 3
        assert len(index.search(query, 99, {"k1"})[0]) == 1
        assert index.search(query, 5, set()) == index.search(query, 5, {"unknown"}) == index.search(query, 0) == [[]]

    def test_of_a_key_given_twice_the_last_vector_counts(self) -> None:
        index = self.make(SIZE)
        vectors = unit_vectors(2)
        index.put(["k", "k"], vectors)
        assert list(index.keys) == ["k"]
        assert index.vectors(["k"])[0] == pytest.approx(vectors[1])

    def test_vectors_handed_out_are_copies(self) -> None:
        index, _, vectors = self.filled(2)
        index.vectors(["k0"])[:] = 0
        assert index.vectors(["k0"])[0] == pytest.approx(vectors[0])

    def test_an_unknown_key_has_no_row_and_no_vector(self) -> None:
        index, _, _ = self.filled(2)
        assert index.rows(["k1", "unknown"])[1] == -1
        with pytest.raises(KeyError):
            index.vectors(["unknown"])

    @settings(suppress_health_check=[HealthCheck.differing_executors])  # each class of the suite has its own
    @given(CHANGES, st.integers(1, 4))
    def test_any_history_of_changes_leaves_just_the_current_vectors(
        self, changes: list[tuple[str, bool]], step: int
    ) -> None:
        index, state, vectors = self.make(SIZE), dict[str, np.ndarray](), unit_vectors(len(changes) + 1)
        for start in range(0, len(changes), step):
            batch = list(enumerate(changes))[start : start + step]
            gone = [key for _, (key, stays) in batch if not stays]
            put = [(key, vectors[at]) for at, (key, stays) in batch if stays]
            index.remove([*gone, "unknown"])
            for key in gone:
                state.pop(key, None)
            if put:
                index.put([key for key, _ in put], np.stack([vector for _, vector in put]))
                state.update(put)
        assert sorted(index.keys) == sorted(state)
        scores, rows = index.scores(vectors[-1:])[0], index.rows(list(state))
        assert scores.shape == (len(state),)
        for row, (key, vector) in zip(rows, state.items(), strict=True):
            assert index.keys[row] == key
            assert scores[row] == pytest.approx(vectors[-1] @ vector, abs=1e-6)
            assert index.vectors([key])[0] == pytest.approx(vector)

    @pytest.mark.parametrize(
        "vectors", [np.zeros((2, SIZE + 1)), np.zeros(SIZE), np.full((2, SIZE), np.nan), np.zeros((3, SIZE))]
    )
    def test_vectors_that_do_not_fit_are_refused(self, vectors: np.ndarray) -> None:
        with pytest.raises(ValueError, match="vectors"):
            self.make(SIZE).put(["a", "b"], vectors)
