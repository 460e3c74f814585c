"""Vectors by key, searched exactly: the protocol that the retriever needs, and FAISS behind it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..embedding.protocol import Vectors

Rows = npt.NDArray[np.int64]


class VectorIndex(Protocol):
    """Unit vectors by key, compared by inner product, which for unit vectors is the cosine.

    Not thread-safe; the retriever holds its lock around every call. An implementation has to pass the suite in
    ``tests/router/retrieval/vector_index_conformance.py``.
    """

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        ...

    @property
    def keys(self) -> Sequence[str]:
        """The keys, in the order of the columns of `scores`; changes with `put` and `remove`."""
        ...

    def rows(self, keys: Sequence[str]) -> Rows:
        """The column of each of `keys` in `scores`, shape ``(len(keys),)``; -1 for a key that has no vector."""
        ...

    def vectors(self, keys: Sequence[str]) -> Vectors:
        """A copy of the keys' vectors, shape ``(len(keys), dimension)``.

        Raises:
            KeyError: one of the keys has no vector.
        """
        ...

    def put(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Enters vectors, shape ``(len(keys), dimension)``, in place of what the keys had before.

        Of a key given twice the last vector counts.

        Raises:
            ValueError: the shape is another one, or a number is not finite.
        """
        ...

    def remove(self, keys: Iterable[str]) -> None:
        """Takes keys out; those that are not there are passed over."""
        ...

    def search(self, queries: Vectors, k: int, allowed: Collection[str] | None = None) -> list[list[tuple[str, float]]]:
        """For each query of shape ``(n, dimension)`` the `k` nearest keys (among `allowed`) with scores, best first."""
        ...

    def scores(self, queries: Vectors) -> Vectors:
        """The score of every key for every query, shape ``(n, len(keys))``."""
        ...


@dataclass(frozen=True, slots=True)
class KeyedVectors:
    """Vectors and whose they are: what goes into a file and comes out of it.

    Attributes:
        keys: no key stands there twice.
        vectors: shape ``(len(keys), dimension)``.
    """

    keys: Sequence[str]
    vectors: Vectors


VectorIndexFactory = Callable[[int], VectorIndex]
"""Makes an empty index for vectors of so many numbers."""


class FaissIndex:
    """A flat FAISS index over inner products: exact, and as fast as it gets up to some 100,000 vectors.

    All scores at once come from one matrix product over the index's own memory: as fast as FAISS's own distance
    kernel, and several times faster than a search for the best few, which FAISS's flat index does row by row (24 ms
    against 4 ms for one query against 40,000 vectors of 384 numbers, on one machine). Where an approximate index
    begins to pay is measured by ``benchmarks/routing_speed.py``. Removing moves the last vector into the gap, so
    neither removing nor replacing ever copies the index.

    Args:
        dimension: numbers per vector.

    Raises:
        ValueError: `dimension` is not positive.
    """

    def __init__(self, dimension: int) -> None:
        if dimension < 1:
            raise ValueError(f"a vector needs at least one number, not {dimension}")
        import faiss

        self._faiss: Any = faiss
        self._index: Any = faiss.IndexFlatIP(dimension)
        self._dimension = dimension
        self._keys: list[str] = []
        self._rows: dict[str, int] = {}

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        return self._dimension

    @property
    def keys(self) -> Sequence[str]:
        """The keys, in the order of the columns of `scores`."""
        return self._keys

    def rows(self, keys: Sequence[str]) -> Rows:
        """The column of each of `keys` in `scores`; -1 for a key that has no vector."""
        found = self._rows.get
        return np.fromiter((found(key, -1) for key in keys), np.int64, len(keys))

    def vectors(self, keys: Sequence[str]) -> Vectors:
        """A copy of the keys' vectors, shape ``(len(keys), dimension)``.

        Raises:
            KeyError: one of the keys has no vector.
        """
        copied: Vectors = self._memory()[[self._rows[key] for key in keys]]
        return copied

    def put(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Enters vectors in place of what the keys had before; of a key given twice the last one counts.

        Raises:
            ValueError: the shape is not ``(len(keys), dimension)``, or a number is not finite.
        """
        vectors = self._checked(vectors)
        if len(keys) != len(vectors):
            raise ValueError(f"{len(keys)} keys came with {len(vectors)} vectors")
        latest = {key: at for at, key in enumerate(keys)}
        known = [(self._rows[key], at) for key, at in latest.items() if key in self._rows]
        if known:
            rows, places = zip(*known, strict=True)
            self._memory()[list(rows)] = vectors[list(places)]
        fresh = [key for key in latest if key not in self._rows]
        if fresh:
            new = vectors if len(fresh) == len(keys) else vectors[[latest[key] for key in fresh]]
            self._index.add(np.ascontiguousarray(new))
            self._rows.update((key, row) for row, key in enumerate(fresh, len(self._keys)))
            self._keys.extend(fresh)

    def remove(self, keys: Iterable[str]) -> None:
        """Takes keys out; those that are not there are passed over."""
        gone = [key for key in dict.fromkeys(keys) if key in self._rows]
        if not gone:
            return
        memory = self._memory()
        for key in gone:
            row, last = self._rows.pop(key), self._keys.pop()
            if last != key:
                memory[row] = memory[len(self._keys)]
                self._keys[row], self._rows[last] = last, row
        self._index.remove_ids(self._faiss.IDSelectorRange(len(self._keys), self._index.ntotal))

    def search(self, queries: Vectors, k: int, allowed: Collection[str] | None = None) -> list[list[tuple[str, float]]]:
        """The `k` nearest keys with scores for each query, best first; exact among `allowed` when it is given.

        Raises:
            ValueError: the queries have the wrong shape or hold a number that is not finite.
        """
        queries = self._checked(queries)
        if allowed is None:
            k = min(k, len(self._keys))
            if k < 1:
                return [[] for _ in queries]
            found, places = self._index.search(queries, k)
            return [self._named(near, line) for near, line in zip(places, found, strict=True)]
        rows = np.array([self._rows[key] for key in allowed if key in self._rows], np.int64)
        # Copying the allowed rows costs what they are; FAISS's selectors would walk over all that are not.
        found = queries @ self._memory()[rows].T
        order = np.argsort(-found, axis=1, kind="stable")[:, : max(k, 0)]
        return [self._named(rows[near], line[near]) for near, line in zip(order, found, strict=True)]

    def scores(self, queries: Vectors) -> Vectors:
        """The score of every key for every query, shape ``(n, len(keys))``.

        Raises:
            ValueError: the queries have the wrong shape or hold a number that is not finite.
        """
        queries = self._checked(queries)
        product: Vectors = queries @ self._memory().T
        return product

    def _named(self, rows: npt.NDArray[np.integer], scores: Vectors) -> list[tuple[str, float]]:
        return [(self._keys[row], float(score)) for row, score in zip(rows, scores, strict=True)]

    def _memory(self) -> Vectors:
        """FAISS's own storage as an array; valid until the index grows or shrinks."""
        if not self._index.ntotal:
            return np.zeros((0, self._dimension), np.float32)
        flat = self._faiss.rev_swig_ptr(self._index.get_xb(), self._index.ntotal * self._dimension)
        memory: Vectors = flat.reshape(self._index.ntotal, self._dimension)
        return memory

    def _checked(self, vectors: Vectors) -> Vectors:
        vectors = np.ascontiguousarray(vectors, np.float32)
        if vectors.ndim != 2 or vectors.shape[1] != self._dimension:
            raise ValueError(f"vectors must have the shape (n, {self._dimension}), not {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise ValueError("vectors must hold finite numbers only")
        return vectors
