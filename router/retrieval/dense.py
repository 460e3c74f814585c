"""The dense arm: vectors of tools and of their parameters, embedded when first needed and one change at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from ...catalog import Tool
from ...catalog.digest import digest_of_text
from ..embedding import Embedder, Vectors
from ..embedding.batching import RequestBatcher, embed_distinct
from .text import parameter_texts, tool_text
from .vectors import FaissIndex, KeyedVectors, VectorIndex, VectorIndexFactory

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
        factory: makes an empty index for vectors of a dimension.
    """

    def __init__(
        self,
        embedder: Embedder,
        lock: threading.RLock,
        *,
        with_parameters: bool,
        factory: VectorIndexFactory = FaissIndex,
    ) -> None:
        self.embedder = embedder
        self.tools: VectorIndex | None = None
        self.parameters: VectorIndex | None = None
        self._with_parameters = with_parameters
        self._factory = factory
        self._lock = lock
        self._embedding = threading.Lock()
        self._pending: dict[str, Tool] = {}
        self._parameter_keys: dict[str, Mapping[str, str]] = {}
        self._requests = RequestBatcher(lambda texts: embed_distinct(embedder, texts, "query"))
        self.version = 0
        """Grows with every change of the tools' vectors."""

    @property
    def pending(self) -> int:
        """How many tools wait to be embedded."""
        return len(self._pending)

    def ensure_indexes(self, dimension: int) -> VectorIndex:
        """Makes the indexes that are not there yet; returns that of tools. Under the lock."""
        if self.tools is None:
            self.tools = self._factory(dimension)
        if self.parameters is None and self._with_parameters:
            self.parameters = self._factory(dimension)
        return self.tools

    def adopt(
        self, tools: KeyedVectors, parameters: KeyedVectors | None, keys: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Takes over saved vectors and what `keys_of` said of each tool. Under the lock.

        Raises:
            ValueError: the vectors do not fit together.
        """
        self.ensure_indexes(tools.vectors.shape[1]).put(tools.keys, tools.vectors)
        if parameters is not None and self.parameters is not None:
            self.parameters.put(parameters.keys, parameters.vectors)
        self._parameter_keys.update(keys)
        self.version += 1

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
                texts = sorted(((tool_text(tool), tool) for tool in waiting), key=lambda pair: (len(pair[0]), pair[0]))
                total = done + len(texts)
                for chunk in _chunks(texts):
                    self._embed_chunk(chunk)
                    done += len(chunk)
                    if progress is not None:
                        progress(done, total)

    def embed_requests(self, requests: Sequence[str], seconds: float | None = None) -> Vectors:
        """One unit vector per request, shape ``(len(requests), dimension)``, together with those of other threads.

        Args:
            requests: at most a batch of them.
            seconds: how long to wait at most; None: as long as it takes.

        Raises:
            EmbedderError: the embedder fails.
            DeadlineExceededError: the vectors were not there in time.
        """
        return self._requests.embed(requests, seconds)

    def best_parameters(self, query: Vectors, tools: Iterable[Tool]) -> dict[str, tuple[str, float]]:
        """For each of `tools` with parameter vectors: path and cosine of the parameter nearest to `query`.

        Args:
            query: one unit vector, shape ``(dimension,)``.
            tools: the leading tools; a full index of parameters is never compared.
        """
        if self.parameters is None:
            return {}
        owners = {tool.name: self.keys_of(tool) for tool in tools}
        keys = {key for paths in owners.values() for key in paths.values()}
        near = dict(self.parameters.search(query[np.newaxis], len(keys), keys)[0]) if keys else {}
        best = {}
        for name, paths in owners.items():
            known = [(path, near[key]) for path, key in paths.items() if key in near]
            if known:
                best[name] = max(known, key=lambda pair: pair[1])
        return best

    def prune(self, tools: Iterable[Tool]) -> None:
        """Drops vectors of parameters that none of `tools`, which are all, has any more. Under the lock."""
        if self.parameters is not None:
            used = {key for tool in tools for key in self.keys_of(tool).values()}
            self.parameters.remove([key for key in self.parameters.keys if key not in used])

    def keys_of(self, tool: Tool) -> Mapping[str, str]:
        """The paths of a tool's parameters to the keys of their vectors.

        They are kept, and saved: the texts of a tool's parameters take longer to make than the tool to be ranked.
        """
        if tool.name not in self._parameter_keys:
            self._parameter_keys[tool.name] = {path: _key(text) for path, text in parameter_texts(tool).items()}
        return self._parameter_keys[tool.name]

    def _embed_chunk(self, chunk: Sequence[tuple[str, Tool]]) -> None:
        vectors = embed_distinct(self.embedder, [text for text, _ in chunk], "tool")
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
        texts: dict[str, str] = {}
        keys: list[tuple[Tool, dict[str, str]]] = []
        for tool in tools:
            of_tool = {path: (_key(text), text) for path, text in parameter_texts(tool).items()}
            texts.update(of_tool.values())
            keys.append((tool, {path: key for path, (key, _) in of_tool.items()}))
        with self._lock:
            listed = sorted(texts)
            missing = [key for key, row in zip(listed, index.rows(listed), strict=True) if row < 0]
        vectors = embed_distinct(self.embedder, [texts[key] for key in missing], "tool")
        with self._lock:
            index.put(missing, vectors)
            self._parameter_keys.update((tool.name, of) for tool, of in keys if self._pending.get(tool.name) is tool)


def _chunks(texts: Sequence[tuple[str, Tool]]) -> Iterator[Sequence[tuple[str, Tool]]]:
    """Runs of about `CHUNK` tools, cut where the text changes: equal texts, which stand together, are embedded once."""
    start = 0
    while start < len(texts):
        end = min(start + CHUNK, len(texts))
        while end < len(texts) and texts[end][0] == texts[end - 1][0]:
            end += 1
        yield texts[start:end]
        start = end


def _key(text: str) -> str:
    return digest_of_text(text)[:32]
