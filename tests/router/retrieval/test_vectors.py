"""What every vector index has to do, shown on FAISS."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.router.retrieval import FaissIndex, VectorIndex

SIZE = 6


def unit_vectors(count: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, SIZE)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def filled(count: int = 10) -> tuple[FaissIndex, list[str], np.ndarray]:
    index, keys, vectors = FaissIndex(SIZE), [f"k{at}" for at in range(count)], unit_vectors(count)
    index.put(keys, vectors)
    return index, keys, vectors


def test_faiss_fulfils_the_protocol() -> None:
    index: VectorIndex = FaissIndex(SIZE)
    assert index.dimension == SIZE and list(index.keys) == []


def test_search_finds_the_nearest_in_order() -> None:
    index, keys, vectors = filled()
    query = unit_vectors(2, seed=1)
    for found, row in zip(index.search(query, 3), query @ vectors.T, strict=True):
        best = np.argsort(-row)[:3]
        assert [key for key, _ in found] == [keys[at] for at in best]
        assert [score for _, score in found] == pytest.approx(list(row[best]), abs=1e-6)


def test_search_among_allowed_keys_is_exact() -> None:
    index, keys, vectors = filled(50)
    allowed = keys[7:40:3]
    query = unit_vectors(1, seed=2)
    scores = dict(zip(keys, query[0] @ vectors.T, strict=True))
    expected = sorted(allowed, key=lambda key: -scores[key])[:4]
    assert [key for key, _ in index.search(query, 4, {*allowed, "unknown"})[0]] == expected


def test_asking_for_more_than_there_is_gives_what_there_is() -> None:
    index, _, _ = filled(3)
    query = unit_vectors(1)
    assert len(index.search(query, 99)[0]) == 3
    assert len(index.search(query, 99, {"k1"})[0]) == 1
    assert index.search(query, 5, set()) == index.search(query, 5, {"unknown"}) == index.search(query, 0) == [[]]


def test_an_empty_index_answers_with_nothing() -> None:
    index = FaissIndex(SIZE)
    assert index.search(unit_vectors(2), 3) == [[], []]
    assert index.scores(unit_vectors(2)).shape == (2, 0)
    assert index.scores(np.zeros((0, SIZE), np.float32)).shape == (0, 0)


def test_of_a_key_given_twice_the_last_vector_counts() -> None:
    index = FaissIndex(SIZE)
    vectors = unit_vectors(2)
    index.put(["k", "k"], vectors)
    assert len(index) == 1
    assert index.get("k") == pytest.approx(vectors[1])


CHANGES = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", "e"]), st.booleans()), max_size=25)


@given(CHANGES, st.integers(1, 4))
def test_any_history_of_changes_leaves_just_the_current_vectors(changes: list[tuple[str, bool]], step: int) -> None:
    index, state, vectors = FaissIndex(SIZE), dict[str, np.ndarray](), unit_vectors(len(changes) + 1)
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
    assert sorted(index.keys) == sorted(state) and len(index) == len(state)
    scores = index.scores(vectors[-1:])[0]
    for key, vector in state.items():
        row = index.row(key)
        assert row is not None and scores[row] == pytest.approx(vectors[-1] @ vector, abs=1e-6)
        assert index.get(key) == pytest.approx(vector)
    assert index.row("unknown") is None and index.get("unknown") is None


@pytest.mark.parametrize(
    "vectors", [np.zeros((2, SIZE + 1)), np.zeros(SIZE), np.full((1, SIZE), np.nan), np.zeros((3, SIZE))]
)
def test_vectors_that_do_not_fit_are_refused(vectors: np.ndarray) -> None:
    with pytest.raises(ValueError, match="vectors"):
        FaissIndex(SIZE).put(["a", "b"], vectors)


def test_a_dimension_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least one number"):
        FaissIndex(0)


def test_saved_vectors_come_back_and_can_be_changed(tmp_path: Path) -> None:
    index, keys, vectors = filled()
    index.remove(["k0"])
    index.save(tmp_path / "v.faiss")
    loaded = FaissIndex.load(tmp_path / "v.faiss", index.keys, SIZE)
    loaded.put(["new"], vectors[:1])
    assert loaded.get("k9") == pytest.approx(vectors[9])
    assert sorted(loaded.keys) == sorted([*keys[1:], "new"])


def test_a_file_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    index, keys, _ = filled()
    index.save(tmp_path / "v.faiss")
    with pytest.raises(ValueError, match="not a flat index of 9 vectors"):
        FaissIndex.load(tmp_path / "v.faiss", keys[:9], SIZE)
    with pytest.raises(ValueError, match="repeat"):
        FaissIndex.load(tmp_path / "v.faiss", ["same"] * 10, SIZE)
    (tmp_path / "v.faiss").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="cannot be read"):
        FaissIndex.load(tmp_path / "v.faiss", keys, SIZE)


def test_vectors_that_cannot_be_written_are_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot be written"):
        FaissIndex(4).save(tmp_path / "nowhere" / "tools.faiss")
