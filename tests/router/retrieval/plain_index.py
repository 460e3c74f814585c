"""A second `VectorIndex`: a dictionary of vectors, with the columns in another order than they came in."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np


class PlainIndex:
    """Keeps one array per key; its columns are in alphabetical order, which moves most of them with every change."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._held: dict[str, np.ndarray] = {}

    @property
    def keys(self) -> Sequence[str]:
        return sorted(self._held)

    def rows(self, keys: Sequence[str]) -> np.ndarray:
        place = {key: at for at, key in enumerate(self.keys)}
        return np.array([place.get(key, -1) for key in keys], np.int64)

    def vectors(self, keys: Sequence[str]) -> np.ndarray:
        return np.array([self._held[key] for key in keys], np.float32).reshape(len(keys), self.dimension)

    def put(self, keys: Sequence[str], vectors: np.ndarray) -> None:
        vectors = np.array(vectors, np.float32)
        if vectors.shape != (len(keys), self.dimension) or not np.isfinite(vectors).all():
            raise ValueError("these vectors do not fit")
        self._held.update(zip(keys, vectors, strict=True))

    def remove(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._held.pop(key, None)

    def search(
        self, queries: np.ndarray, k: int, allowed: Collection[str] | None = None
    ) -> list[list[tuple[str, float]]]:
        found = []
        for query in queries:
            scores = [
                (key, float(query @ vector)) for key, vector in self._held.items() if allowed is None or key in allowed
            ]
            found.append(sorted(scores, key=lambda pair: -pair[1])[:k])
        return found

    def scores(self, queries: np.ndarray) -> np.ndarray:
        return np.asarray(queries, np.float32) @ self.vectors(self.keys).T
