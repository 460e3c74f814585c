"""The retriever: keeps two arms in step with a catalog, and ranks its tools for a request.

Words are found by BM25, meaning by vectors; the lexical arm always answers, the dense one when its model does.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from ...catalog import Catalog, CatalogChange, Tool
from ...catalog.errors import EmbedderError, IndexMismatchError
from ..embedding import Embedder, Vectors, default_embedder
from ..records import Candidate, Intent
from .dense import DenseArm, Progress
from .fusion import FusionWeights
from .lexical import LexicalIndex
from .ranking import Ranker
from .store import REBUILD, SavedIndex, load_index, save_index
from .text import tool_digest, tool_terms
from .vectors import FaissIndex, KeyedVectors, VectorIndex, VectorIndexFactory
from .view import CatalogView, view_of
from .weighing import Evidence
from .worker import BackgroundWorker, DeadlineExceededError

MAX_REQUEST_CHARACTERS = 20_000
"""What is read of a request; far above any question, far below what would stall the tokenizers."""

BATCH = 64
"""Requests embedded together and ranked between two looks at the lock; bounds the memory for their scores, too."""

PATIENCE = 10.0
PATIENCE_PER_REQUEST = 1.0
"""Seconds that a model which has answered before may take for a batch of requests before the words answer alone: a
hundred times what a busy machine needs, a sixth of the minute for which embedding is reported to stall elsewhere."""


class Retriever:
    """Finds the tools of a catalog that may serve a request. Follows changes of the catalog; safe in several threads.

    A tool that is added or changed is embedded with the next search, alone; one that is removed is never found again.
    Nothing here waits for an event loop: call it in a thread (`Router` does).

    Args:
        catalog: the tools.
        embedder: makes the vectors; default: `default_embedder()`, loaded with the first search.
        weights: of the arms; default: `FusionWeights()`.
        index: folder that `save` wrote. Tools that changed since are embedded anew, tools that are gone are dropped.
        rebuild: start afresh when the folder holds no usable index, instead of raising.
        deadline: seconds that embedding may take in one search, loading the model and embedding new tools included;
            after that the lexical arm answers alone, and says so in every candidate's reasons, while embedding goes on
            in the background. ``math.inf``: as long as it takes. Default: as long as it takes for the first search
            and when tools have changed, then `PATIENCE` and `PATIENCE_PER_REQUEST`.
        vectors: makes an empty vector index for a dimension. Default: `FaissIndex`.

    Raises:
        IndexMismatchError: the folder holds no index, a damaged one, or one made by another model.
        EmbedderError: an index is given and the embedder cannot say which model it is.
        ValueError: the deadline is not positive.

    Example:
        >>> catalog = Catalog([Tool(name="refund_order", description="Pays a customer's money back."),
        ...                    Tool(name="get_weather", description="Forecast for a city.")])
        >>> retriever = Retriever(catalog, HashEmbedder())
        >>> [candidate.name for candidate in retriever.search("weather in Oslo", k=1)]
        ['get_weather']
    """

    def __init__(
        self,
        catalog: Catalog,
        embedder: Embedder | None = None,
        *,
        weights: FusionWeights | None = None,
        index: str | Path | None = None,
        rebuild: bool = False,
        deadline: float | None = None,
        vectors: VectorIndexFactory = FaissIndex,
    ) -> None:
        if deadline is not None and not deadline > 0:
            raise ValueError(f"a deadline must be a positive number of seconds, not {deadline!r}")
        self._weights = weights if weights is not None else FusionWeights()
        self._deadline = deadline
        self._worker = BackgroundWorker()
        self._lock = threading.RLock()
        self._tools: dict[str, Tool] = {}
        self._unread: dict[str, Tool] = {}
        self._digests: dict[str, str] = {}
        self._view: CatalogView | None = None
        self._lexical = LexicalIndex()
        self._dense = DenseArm(
            embedder if embedder is not None else default_embedder(),
            self._lock,
            with_parameters=self._weights.parameters > 0,
            factory=vectors,
        )
        self._warm = False
        self.folder: Path | None = None
        """Where the index is kept, for what else belongs beside it; `open_retriever` says so."""
        if index is not None:
            self._adopt(Path(index), rebuild)
        _follow(catalog, self)
        with self._lock:
            for tool in list(catalog):
                self._enter(tool)
            for name in [name for name in self._digests if name not in self._tools]:
                self._forget(name)

    @property
    def embedder(self) -> Embedder:
        """What makes the vectors."""
        return self._dense.embedder

    @property
    def weights(self) -> FusionWeights:
        """How much each arm counts. Set them to other ones at any time; nothing is embedded anew.

        Vectors of parameters are only made when a retriever starts with a weight for them.
        """
        return self._weights

    @weights.setter
    def weights(self, weights: FusionWeights) -> None:
        with self._lock:
            self._weights = weights

    def search(self, request: str, k: int, intent: Intent | None = None) -> list[Candidate]:
        """The `k` best tools for `request`, best first; ties in catalog order.

        Tools that the request names outright come first whatever their score. When the embedder fails or is late,
        words alone decide, and each candidate's reasons say so.

        Args:
            request: what is wanted, in any language; nothing is found for a blank one.
            k: at most so many candidates.
            intent: what stage 1 made of the request; narrows the search to what ``intent.keeps``.

        Raises:
            ValueError: `k` is less than 1.
        """
        return self.search_many([request], k, None if intent is None else [intent])[0]

    def search_many(
        self, requests: Sequence[str], k: int, intents: Sequence[Intent] | None = None
    ) -> list[list[Candidate]]:
        """`search` for many requests, embedded together.

        Raises:
            ValueError: `k` is less than 1, or there is not one intent per request.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        if intents is not None and len(intents) != len(requests):
            raise ValueError(f"{len(requests)} requests came with {len(intents)} intents")
        requests = [request[:MAX_REQUEST_CHARACTERS] for request in requests]
        started = time.monotonic()
        trouble = self._embed_pending()
        spent = time.monotonic() - started
        found: list[list[Candidate]] = []
        for start in range(0, len(requests), BATCH):
            batch = requests[start : start + BATCH]
            vectors: Vectors | None = None
            if not trouble:
                started = time.monotonic()
                vectors, trouble = self._vectors(batch, self._patience(len(batch), spent))
                spent += time.monotonic() - started
            wanted = [Intent()] * len(batch) if intents is None else intents[start : start + BATCH]
            found += self._rank(batch, k, wanted, vectors, trouble)
        return found

    def refresh(self, progress: Progress | None = None) -> int:
        """Brings both arms up to date now instead of with the next search; returns how many tools were embedded.

        Args:
            progress: called now and then with the number of tools done and the number to do.

        Raises:
            EmbedderError: the embedder fails.
        """
        with self._lock:
            self._current_view()
        return self._dense.embed_pending(progress)

    def save(self, folder: str | Path, progress: Progress | None = None) -> None:
        """Brings the index up to date and writes it to `folder`; a crash while saving leaves the old one whole.

        Args:
            folder: made when it does not exist.
            progress: as in `refresh`.

        Raises:
            EmbedderError: the embedder fails.
            IndexMismatchError: the folder belongs to something else.
            OSError: the folder cannot be written.
        """
        while True:
            self.refresh(progress)
            with self._lock:
                self._current_view()
                if self._dense.pending:  # the catalog changed in between
                    continue
                self._dense.prune(self._tools.values())
                tools = self._dense.ensure_indexes(self.embedder.dimension)
                parameters = self._dense.parameters
                saved = SavedIndex(
                    self.embedder.fingerprint,
                    dict(self._digests),
                    self._lexical.copy(),
                    _copied(tools),
                    None if parameters is None else _copied(parameters),
                    {name: dict(self._dense.keys_of(tool)) for name, tool in self._tools.items()},
                )
                break
        save_index(saved, Path(folder))

    def evidence(
        self,
        requests: Sequence[str],
        wanted: Sequence[Sequence[Collection[str]]],
        intents: Sequence[Intent] | None = None,
    ) -> list[Evidence]:
        """What the arms say of labelled requests, for choosing weights: see `weighing`.

        Args:
            requests: none of them blank.
            wanted: for each request, and each tool that it wants, the names that are right in its place.
            intents: what stage 1 made of each request.

        Raises:
            EmbedderError: the embedder fails; weights for words alone would be no weights.
            KeyError: a name is not in the catalog.
        """
        self._dense.embed_pending()
        requests = [request[:MAX_REQUEST_CHARACTERS] for request in requests]
        vectors = self._dense.embed_requests(requests)
        found: list[Evidence] = []
        for start in range(0, len(requests), BATCH):
            batch = slice(start, start + BATCH)
            with self._lock:
                view = self._current_view()
                ranker = Ranker(view, self._lexical, self._dense, self._weights)
                cosines = view.cosines(self._dense, vectors[batch])
                found += [
                    ranker.evidence(
                        request,
                        Intent() if intents is None else intents[start + at],
                        vectors[start + at],
                        cosines[at],
                        wanted[start + at],
                    )
                    for at, request in enumerate(requests[batch])
                ]
        return found

    def _adopt(self, folder: Path, rebuild: bool) -> None:
        """Takes over a saved index, or nothing when it is unusable and may be rebuilt."""
        fingerprint = self.embedder.fingerprint
        try:
            saved = load_index(folder)
            if saved.fingerprint != fingerprint:
                raise IndexMismatchError(
                    f"the index in {folder} was made by another embedding model (fingerprint {saved.fingerprint!r}, "
                    f"now {fingerprint!r}); use that model, or {REBUILD}"
                )
            if self._weights.parameters > 0 and saved.parameters is None:
                raise IndexMismatchError(f"the index in {folder} holds no vectors of parameters; {REBUILD}")
            with self._lock:
                self._dense.adopt(saved.tools, saved.parameters, saved.parameter_keys)
        except IndexMismatchError:
            if not rebuild:
                raise
            return
        self._digests = dict(saved.digests)
        self._lexical = saved.lexical

    def _changed(self, change: CatalogChange) -> None:
        with self._lock:
            if change.before is not None and (change.after is None or change.after.name != change.before.name):
                self._forget(change.before.name)
            if change.after is not None:
                self._enter(change.after)

    def _enter(self, tool: Tool) -> None:
        """Takes note of a tool; the work it makes (words, vector) waits for the next search."""
        known = self._digests.get(tool.name)
        self._tools[tool.name] = tool
        self._view = None
        if known is not None and known == tool_digest(tool):
            return
        self._digests.pop(tool.name, None)
        self._unread[tool.name] = tool
        self._lexical.remove(tool.name)
        self._dense.put(tool)

    def _forget(self, name: str) -> None:
        self._tools.pop(name, None)
        self._unread.pop(name, None)
        self._digests.pop(name, None)
        self._lexical.remove(name)
        self._dense.remove(name)
        self._view = None

    def _current_view(self) -> CatalogView:
        """Counts the words of new tools, and the arrays that go with the catalog as it is; under the lock."""
        for tool in self._unread.values():
            self._lexical.put(tool.name, tool_terms(tool))
            self._digests[tool.name] = tool_digest(tool)
        self._unread.clear()
        if self._view is None or self._view.version != self._dense.version:
            self._view = view_of(self._tools, self._lexical, self._dense)
        return self._view

    def _embed_pending(self) -> str:
        """Embeds tools that wait, and says why that has to be done without, or nothing."""
        if not self._dense.pending:
            return ""
        self._warm = False
        try:
            if self._deadline is None or self._deadline == math.inf:
                self._dense.embed_pending()
            else:
                self._worker.run(self._dense.embed_pending, self._deadline)
        except DeadlineExceededError as error:
            return f"words only: embedding {error}"
        except EmbedderError as error:
            return f"words only: {error}"
        return ""

    def _vectors(self, requests: Sequence[str], seconds: float | None) -> tuple[Vectors | None, str]:
        """The vectors of a batch, or None and why the lexical arm has to do without them."""
        try:
            vectors = self._dense.embed_requests(requests, seconds)
        except DeadlineExceededError:
            return None, f"words only: embedding took longer than {self._deadline or seconds:g} s"
        except EmbedderError as error:
            return None, f"words only: {error}"
        self._warm = True
        return vectors, ""

    def _patience(self, count: int, spent: float) -> float | None:
        """Seconds that embedding so many requests may take after `spent`; None: as long as it takes."""
        if self._deadline is None:
            return PATIENCE + PATIENCE_PER_REQUEST * count if self._warm else None
        if self._deadline == math.inf:
            return None
        return max(0.0, self._deadline - spent)

    def _rank(
        self, requests: Sequence[str], k: int, intents: Sequence[Intent], vectors: Vectors | None, trouble: str
    ) -> list[list[Candidate]]:
        with self._lock:
            view = self._current_view()
            ranker = Ranker(view, self._lexical, self._dense, self._weights)
            cosines = None if vectors is None else view.cosines(self._dense, vectors)
            return [
                ranker.rank(
                    request,
                    k,
                    intents[at],
                    None if vectors is None else vectors[at],
                    None if cosines is None else cosines[at],
                    trouble,
                )
                if request.strip() and view.tools
                else []
                for at, request in enumerate(requests)
            ]


def _copied(index: VectorIndex) -> KeyedVectors:
    keys = list(index.keys)
    return KeyedVectors(keys, index.vectors(keys))


def _follow(catalog: Catalog, retriever: Retriever) -> None:
    """Subscribes without keeping the retriever alive: a catalog may outlive many of them."""
    reference = weakref.ref(retriever)
    stop: list[Callable[[], None]] = []

    def changed(change: CatalogChange) -> None:
        living = reference()
        if living is not None:
            living._changed(change)
        else:
            stop[0]()

    stop.append(catalog.subscribe(changed))
