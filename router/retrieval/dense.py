"""The dense arm: vectors of tools and of their parameters, embedded when first needed and one change at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from ...catalog import Tool
from ...catalog.digest import digest_of_text
from ...catalog.errors import EmbedderError
from ..embedding import Embedder, TextKind, Vectors
from .text import parameter_texts, tool_text
from .vectors import FaissIndex

Progress = Callable[[int, int], None]
"""Called with the number of tools embedded so far and the number to embed."""

CHUNK = 256
"""Tools embedded between two looks at the lock: small enough for progress, large enough to fill batches."""


class DenseArm:
    """Vectors of a catalog's tools. The lock is the retriever's; embedding happens outside of it.

    Args:
        embedder: makes the vectors.
        lock: guards the indexes.
        with_parameters: whether parameters get vectors too.
    """

    def __init__(self, embedder: Embedder, lock: threading.RLock, *, with_parameters: bool) -> None:
        self.embedder = embedder
        self.tools: FaissIndex | None = None
        self.parameters: FaissIndex | None = None
        self._with_parameters = with_parameters
        self._lock = lock
        self._embedding = threading.Lock()
        self._pending: dict[str, Tool] = {}
        self._parameter_keys: dict[str, dict[str, str]] = {}
        self.version = 0
        """Grows with every change of the tools' vectors."""

    @property
    def pending(self) -> int:
        """How many tools wait to be embedded."""
        return len(self._pending)

    def ensure_indexes(self, dimension: int) -> FaissIndex:
        """Makes the indexes that are not there yet; returns that of tools. Under the lock."""
        if self.tools is None:
            self.tools = FaissIndex(dimension)
        if self.parameters is None and self._with_parameters:
            self.parameters = FaissIndex(dimension)
        return self.tools

    def put(self, tool: Tool) -> None:
        """Takes note of a new or changed tool; an old vector of it is dropped at once."""
        self.remove(tool.name)
        self._pending[tool.name] = tool

    def remove(self, name: str) -> None:
        """Forgets the tool called `name`."""
        self._pending.pop(name, None)
        self._parameter_keys.pop(name, None)
        self.version += 1
        if self.tools is not None:
            self.tools.remove([name])

    def embed_pending(self, progress: Progress | None = None) -> int:
        """Embeds the tools that wait, and says how many; tools that change meanwhile are embedded as they are then.

        Raises:
            EmbedderError: the embedder fails; what was embedded before stays.
        """
        done = 0
        with self._embedding:
            while True:
                with self._lock:
                    waiting = list(self._pending.values())
                if not waiting:
                    return done
                # By length over all of them, not per chunk: texts of one length waste no padding.
                texts = sorted(((tool_text(tool), tool) for tool in waiting), key=lambda pair: len(pair[0]))
                total = done + len(texts)
                for chunk in _chunks(texts):
                    self._embed_chunk(chunk)
                    done += len(chunk)
                    if progress is not None:
                        progress(done, total)

    def embed_requests(self, requests: Sequence[str]) -> Vectors:
        """One unit vector per request, shape ``(len(requests), dimension)``.

        Raises:
            EmbedderError: the embedder fails.
        """
        return self._embed(requests, "query")

    def best_parameters(self, query: Vectors, tools: Iterable[Tool]) -> dict[str, tuple[str, float]]:
        """For each of `tools` with parameter vectors: path and cosine of the parameter nearest to `query`.

        Args:
            query: one unit vector, shape ``(dimension,)``.
            tools: the leading tools; a full index of parameters is never compared.
        """
        if self.parameters is None:
            return {}
        owners = {tool.name: self._keys_of(tool) for tool in tools}
        keys = {key for paths in owners.values() for key in paths.values()}
        near = dict(self.parameters.search(query[np.newaxis], len(keys), keys)[0]) if keys else {}
        best = {}
        for name, paths in owners.items():
            known = [(path, near[key]) for path, key in paths.items() if key in near]
            if known:
                best[name] = max(known, key=lambda pair: pair[1])
        return best

    def prune(self, used: Collection[str]) -> None:
        """Drops vectors of parameters that are not among `used`, keys as in `parameter_keys`; under the lock."""
        if self.parameters is not None:
            self.parameters.remove([key for key in self.parameters.keys if key not in used])

    def _keys_of(self, tool: Tool) -> dict[str, str]:
        """Path to key of every parameter; kept, for the tools that lead one request lead others too."""
        if tool.name not in self._parameter_keys:
            self._parameter_keys[tool.name] = {path: _key(text) for path, text in parameter_texts(tool).items()}
        return self._parameter_keys[tool.name]

    def _embed_chunk(self, chunk: Sequence[tuple[str, Tool]]) -> None:
        vectors = self._embed([text for text, _ in chunk], "tool")
        with self._lock:
            self.ensure_indexes(vectors.shape[1])
        self._embed_parameters([tool for _, tool in chunk])
        with self._lock:
            # A tool that was changed or removed in the meantime is pending again, or gone.
            current = [at for at, (_, tool) in enumerate(chunk) if self._pending.get(tool.name) is tool]
            index = self.ensure_indexes(vectors.shape[1])
            index.put([chunk[at][1].name for at in current], vectors[current])
            self.version += 1
            for at in current:
                del self._pending[chunk[at][1].name]

    def _embed_parameters(self, tools: Sequence[Tool]) -> None:
        index = self.parameters
        if index is None:
            return
        texts = {_key(text): text for tool in tools for text in parameter_texts(tool).values()}
        with self._lock:
            missing = sorted(key for key in texts if key not in index)
        vectors = self._embed([texts[key] for key in missing], "tool")
        with self._lock:
            index.put(missing, vectors)

    def _embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        size = self.embedder.dimension
        if not texts:
            return np.zeros((0, size), np.float32)
        vectors = np.asarray(self.embedder.embed(texts, kind), np.float32)
        if vectors.shape != (len(texts), size):
            raise EmbedderError(
                f"the embedder gave an array of shape {vectors.shape} for {len(texts)} texts of {size} numbers each"
            )
        if not np.isfinite(vectors).all():
            raise EmbedderError("the embedder gave numbers that are not finite")
        return vectors


def _chunks(texts: Sequence[tuple[str, Tool]]) -> Iterable[Sequence[tuple[str, Tool]]]:
    return (texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK))


def parameter_keys(tools: Iterable[Tool]) -> set[str]:
    """The keys under which the vectors of all parameters of `tools` are held."""
    return {_key(text) for tool in tools for text in parameter_texts(tool).values()}


def _key(text: str) -> str:
    return digest_of_text(text)[:32]
