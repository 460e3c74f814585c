"""The retriever: keeps two arms in step with a catalog, and ranks its tools for a request.

Words are found by BM25, meaning by vectors; the lexical arm always answers, the dense one when its model does.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...catalog import Catalog, CatalogChange, Tool
from ...catalog.errors import EmbedderError, IndexMismatchError
from ..records import Candidate, Intent
from .dense import DenseArm, Progress
from .embedders import Embedder, SentenceTransformerEmbedder
from .fusion import FusionWeights, exact_first, fuse, leading, standardise
from .language import language_shares
from .lexical import LexicalIndex
from .store import REBUILD, SavedIndex, load_index, save_index
from .text import tool_digest, tool_terms, words_and_terms
from .vectors import Vectors
from .worker import BackgroundWorker, DeadlineExceededError

MAX_REQUEST_CHARACTERS = 20_000
"""What is read of a request; far above any question, far below what would stall the tokenizers."""

PARAMETER_POOL = 20
"""Leading tools (at least; twice `k` when that is more) whose parameters are compared."""

SHOWN_WORDS = 4
BATCH = 64


@dataclass(frozen=True, slots=True)
class _View:
    """The catalog as arrays.

    Attributes:
        tools: in catalog order; the position in it is a tool's place.
        places: names and aliases to places.
        lexical_rows: place to row in the lexical index.
        dense_rows: place to row among the vectors, -1 where there is none yet.
    """

    tools: tuple[Tool, ...]
    places: dict[str, int]
    lexical_rows: npt.NDArray[np.int64]
    dense_rows: npt.NDArray[np.int64]


class Retriever:
    """Finds the tools of a catalog that may serve a request. Follows changes of the catalog; safe in several threads.

    A tool that is added or changed is embedded with the next search, alone; one that is removed is never found again.
    Nothing here waits for an event loop: call it in a thread (`Router` does).

    Args:
        catalog: the tools.
        embedder: makes the vectors; default: `SentenceTransformerEmbedder()`, loaded with the first search.
        weights: of the arms; default: `FusionWeights()`.
        index: folder that `save` wrote. Tools that changed since are embedded anew, tools that are gone are dropped.
        rebuild: start afresh when the folder holds no usable index, instead of raising.
        deadline: seconds that embedding may take in one search; after that the lexical arm answers alone, and says
            so in every candidate's reasons. Default: as long as it takes. Embedding goes on in the background.

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
        self._view: _View | None = None
        self._lexical = LexicalIndex()
        self._dense = DenseArm(
            embedder if embedder is not None else SentenceTransformerEmbedder(),
            self._lock,
            with_parameters=self._weights.parameters > 0,
        )
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
        vectors, trouble = self._vectors(requests)
        found: list[list[Candidate]] = []
        for start in range(0, len(requests), BATCH):
            with self._lock:
                view = self._current_view()
                near = self._dense_scores(None if vectors is None else vectors[start : start + BATCH], view)
                for at, request in enumerate(requests[start : start + BATCH]):
                    intent = Intent() if intents is None else intents[start + at]
                    dense = None if vectors is None or near is None else (vectors[start + at], near[at])
                    found.append(self._rank(request, k, intent, view, dense, trouble))
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
                if self._dense.pending:  # the catalog changed in between
                    continue
                self._current_view()
                self._dense.prune(self._tools.values())
                vectors = self._dense.ensure_indexes(self.embedder.dimension)
                saved = SavedIndex(
                    self.embedder.fingerprint, self._digests, self._lexical, vectors, self._dense.parameters
                )
                save_index(saved, Path(folder))
                return

    def unreachable(self, k: int = 10) -> list[str]:
        """Names of tools that are not among the `k` found for their own description (or name, without one).

        Such a tool has look-alikes that come before it, or a text that says nothing; it will hardly ever be chosen.
        """
        with self._lock:
            tools = list(self._tools.values())
        found = self.search_many([tool.description.strip() or tool.name for tool in tools], k)
        return [
            tool.name
            for tool, candidates in zip(tools, found, strict=True)
            if tool.name not in {candidate.name for candidate in candidates}
        ]

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
        except IndexMismatchError:
            if not rebuild:
                raise
            return
        self._digests = dict(saved.digests)
        self._lexical, self._dense.tools, self._dense.parameters = saved.lexical, saved.tools, saved.parameters

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

    def _current_view(self) -> _View:
        """Counts the words of new tools, and the arrays that go with the catalog as it is; under the lock."""
        for tool in self._unread.values():
            self._lexical.put(tool.name, tool_terms(tool))
            self._digests[tool.name] = tool_digest(tool)
        self._unread.clear()
        if self._view is None:
            names = list(self._tools)
            vectors = self._dense.tools
            self._view = _View(
                tuple(self._tools.values()),
                {name: place for place, tool in enumerate(self._tools.values()) for name in (tool.name, *tool.aliases)},
                np.fromiter(map(self._lexical.row, names), np.int64, len(names)),
                np.full(len(names), -1)
                if vectors is None
                else np.fromiter((-1 if (row := vectors.row(name)) is None else row for name in names), np.int64),
            )
        return self._view

    def _vectors(self, requests: Sequence[str]) -> tuple[Vectors | None, str]:
        """The requests' vectors, or None and why the lexical arm has to do without them."""

        def embed() -> Vectors:
            try:
                self._dense.embed_pending()
            finally:
                with self._lock:
                    self._view = None  # also after a failure: what was embedded before it stays
            return self._dense.embed_requests(requests)

        try:
            return (embed() if self._deadline is None else self._worker.run(embed, self._deadline)), ""
        except DeadlineExceededError as error:
            return None, f"words only: embedding {error}"
        except EmbedderError as error:
            return None, f"words only: {error}"

    def _dense_scores(self, vectors: Vectors | None, view: _View) -> Vectors | None:
        """Cosines of every tool in catalog order, shape ``(requests, tools)``; NaN where a tool has no vector yet."""
        if vectors is None or self._dense.tools is None:
            return None
        scores = self._dense.tools.scores(vectors)
        if not scores.shape[1]:
            return None
        return np.where(view.dense_rows >= 0, scores[:, view.dense_rows], np.float32(np.nan))

    def _rank(
        self,
        request: str,
        k: int,
        intent: Intent,
        view: _View,
        dense: tuple[Vectors, Vectors] | None,
        trouble: str,
    ) -> list[Candidate]:
        words = words_and_terms(request)
        if not view.tools or not request.strip():
            return []
        lexical = self._lexical.scores([term for _, term in words])[view.lexical_rows]
        notes = [trouble] if trouble else []
        parameters: dict[str, tuple[str, float]] = {}
        allowed = _allowed(view, intent)
        if dense is None:
            fused = np.asarray(self._weights.lexical * lexical)
        else:
            known, foreign = self._known_share(request)
            fused = fuse(dense[1], lexical, known, self._weights)
            if foreign:
                notes.append(f"mostly words: the embedder does not know {', '.join(foreign)}")
            if self._weights.parameters > 0:
                pool = leading(fused, max(PARAMETER_POOL, 2 * k), allowed)
                parameters = self._dense.best_parameters(dense[0], [view.tools[place] for place in pool])
                best = [parameters.get(view.tools[place].name, ("", np.nan))[1] for place in pool]
                weight = self._weights.parameters * known
                fused[pool] += weight * standardise(np.array(best))
        # A request that is a name and nothing else needs no stage 1 to be understood.
        named = [view.places[name] for name in (*intent.exact, request.strip()) if name in view.places]
        # What is named survives all that stage 1 drops, but not the caller's own restriction.
        exact = [place for place in named if intent.within is None or view.tools[place].name in intent.within]
        places = exact_first(leading(fused, k, allowed), exact)[:k]
        top = float(max(fused[place] for place in places)) if places else 0.0
        return [
            self._candidate(
                view.tools[place],
                max(float(fused[place]), top) if place in exact else float(fused[place]),
                {
                    "lexical": float(lexical[place]),
                    **({} if dense is None or np.isnan(dense[1][place]) else {"dense": float(dense[1][place])}),
                    **({"exact": 1.0} if place in exact else {}),
                },
                words,
                parameters.get(view.tools[place].name),
                notes,
            )
            for place in places
        ]

    def _candidate(
        self,
        tool: Tool,
        score: float,
        parts: dict[str, float],
        words: list[tuple[str, str]],
        parameter: tuple[str, float] | None,
        notes: list[str],
    ) -> Candidate:
        reasons = ["named in the request"] if "exact" in parts else []
        shown = {term: word for word, term in words}
        if matching := self._lexical.matching(tool.name, shown):
            reasons.append("words: " + ", ".join(shown[term] for term in matching[:SHOWN_WORDS]))
        if parameter is not None:
            parts["parameters"] = parameter[1]
            reasons.append(f"best parameter: {parameter[0]}")
        return Candidate(tool, score, parts, (*reasons, *notes))

    def _known_share(self, request: str) -> tuple[float, list[str]]:
        """The share of the request in languages that the embedder knows, and the other languages."""
        shares = language_shares(request)
        foreign = [language for language in shares if not self.embedder.knows(language)]
        return 1.0 - sum(shares[language] for language in foreign), foreign


def _allowed(view: _View, intent: Intent) -> npt.NDArray[np.bool_] | None:
    """Which places stage 1 keeps; None: all."""
    if not intent.narrowed:
        return None
    return np.fromiter((intent.keeps(tool) for tool in view.tools), bool, len(view.tools))


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
