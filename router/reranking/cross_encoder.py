"""A reranker that the sentence-transformers library runs: a cross-encoder reads request and tool as one text."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..records import Candidate
from ..retrieval.text import tool_text
from ..retrieval.worker import BackgroundWorker, DeadlineExceededError
from .fusing import left_alone, movable, reranked
from .protocol import RerankerError

BATCH_SIZE = 32
DEPTH = 20
"""Candidates read for each request. The time of a request grows with it: a cross-encoder has no index."""
WEIGHT = 0.5
"""Both judges count the same: no cross-encoder could be had offline, so this was not measured. Let
``toolpath bench --reranker`` say on requests of your own what is best for your model."""
MAX_REQUEST_CHARACTERS = 1_000
MAX_TOOL_CHARACTERS = 2_000
"""What is read of a request and of a tool. Models read 512 word pieces of both together; where one of them alone is
longer than that, the library would cut the other as well."""


class CrossEncoderReranker:
    """A cross-encoder of the sentence-transformers library, loaded when it is first needed. Safe in several threads.

    Toolpath ships no such model: name one on a hub, or a folder. It needs no extra, only the model. When it cannot be
    loaded, fails, gives numbers that are not finite or is late, the candidates stay as they were and say so; call
    `load` first to have a wrong name raise.

    Args:
        model: name on a hub, or folder, of a cross-encoder with one score per pair, such as
            ``"cross-encoder/ms-marco-MiniLM-L6-v2"`` (English) or ``"BAAI/bge-reranker-v2-m3"`` (multilingual).
        revision: commit or tag of a model named on a hub.
        device: as torch names it; default: the library's choice.
        batch_size: pairs read at once.
        depth: candidates read for each request.
        weight: of the reranker's score against that of stage 2, both in standard deviations over the candidates
            read: 0 changes nothing, 1 follows the reranker alone.
        deadline: seconds that reading may take for one call, loading included; default: as long as it takes.

    Raises:
        ValueError: `weight` is not between 0 and 1, `depth` or `batch_size` is below 1, or the deadline is not
            positive.

    Example:
        >>> reranker = CrossEncoderReranker("cross-encoder/ms-marco-MiniLM-L6-v2", depth=10)
        >>> reranker.rerank("weather in Oslo", [])
        []
    """

    def __init__(
        self,
        model: str | Path,
        revision: str | None = None,
        *,
        device: str | None = None,
        batch_size: int = BATCH_SIZE,
        depth: int = DEPTH,
        weight: float = WEIGHT,
        deadline: float | None = None,
    ) -> None:
        if not 0 <= weight <= 1:
            raise ValueError(f"the weight of a reranker must be between 0 and 1, not {weight!r}")
        for name, value in (("depth", depth), ("batch_size", batch_size)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, not {value!r}")
        if deadline is not None and not deadline > 0:
            raise ValueError(f"a deadline must be a positive number of seconds, not {deadline!r}")
        self._name = str(model)
        self._revision = revision
        self._device = device
        self._batch_size = batch_size
        self._depth = depth
        self._weight = weight
        self._deadline = deadline
        self._worker = BackgroundWorker()
        self._lock = threading.Lock()
        self._model: Any = None

    def __repr__(self) -> str:
        return f"CrossEncoderReranker({self._name!r}, depth={self._depth}, weight={self._weight:g})"

    @property
    def depth(self) -> int:
        """See `Reranker`."""
        return self._depth

    def load(self) -> None:
        """Loads the model now instead of with the first request.

        Raises:
            RerankerError: it cannot be loaded, or does not give one score per pair.
        """
        with self._lock:
            self._loaded()

    def rerank(self, request: str, candidates: Sequence[Candidate]) -> list[Candidate]:
        """See `Reranker`."""
        return self.rerank_many([request], [candidates])[0]

    def rerank_many(self, requests: Sequence[str], found: Sequence[Sequence[Candidate]]) -> list[list[Candidate]]:
        """See `Reranker`. All pairs of all requests are read in one pass, equal ones once.

        Raises:
            ValueError: there is not one list of candidates per request.
        """
        if len(requests) != len(found):
            raise ValueError(f"{len(requests)} requests came with {len(found)} lists of candidates")
        pools = [movable(candidates, self._depth) for candidates in found]
        pairs = [
            (request, tool_text(candidate.tool))
            for request, pool in zip(requests, pools, strict=True)
            for candidate in pool
        ]
        try:
            scores = iter(self._scores_in_time(pairs))
        except DeadlineExceededError as error:
            return [left_alone(candidates, f"reading {error}") for candidates in found]
        except RerankerError as error:
            return [left_alone(candidates, str(error)) for candidates in found]
        return [
            reranked(candidates, [next(scores) for _ in pool], self._weight, self._depth)
            for candidates, pool in zip(found, pools, strict=True)
        ]

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """How well each text answers its request, as the model's raw output (a logit): higher is better.

        Args:
            pairs: request and text of a tool; long ones are cut.

        Raises:
            RerankerError: the model cannot be loaded, fails, or gives numbers that are not finite.
        """
        if not pairs:
            return []
        cut = [
            (_readable(request, MAX_REQUEST_CHARACTERS), _readable(text, MAX_TOOL_CHARACTERS))
            for request, text in pairs
        ]
        distinct = {pair: at for at, pair in enumerate(dict.fromkeys(cut))}
        with self._lock:
            values = self._predict(self._loaded(), list(distinct))
        if values.shape != (len(distinct),):
            raise RerankerError(f"{self._name} gave an array of shape {values.shape} for {len(distinct)} pairs")
        if not np.isfinite(values).all():
            raise RerankerError(f"{self._name} gave scores that are not finite; its weights may be damaged")
        return [float(values[distinct[pair]]) for pair in cut]

    def _scores_in_time(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        if not pairs or self._deadline is None:
            return self.scores(pairs)
        return self._worker.run(lambda: self.scores(pairs), self._deadline)

    def _predict(self, model: Any, pairs: list[tuple[str, str]]) -> np.typing.NDArray[np.floating]:
        from torch.nn import Identity

        try:
            # Without the model's own activation: a sigmoid squeezes all that is unlikely into differences of nothing.
            values = model.predict(
                pairs, batch_size=self._batch_size, show_progress_bar=False, activation_fn=Identity()
            )
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise RerankerError(f"{self._name} failed to read {len(pairs)} pairs: {error}") from error
        return np.asarray(values, np.float64)

    def _loaded(self) -> Any:
        if self._model is not None:
            return self._model
        try:
            from sentence_transformers import CrossEncoder
            from transformers.utils import logging
        except ImportError as error:
            raise RerankerError(
                f"{self._name} needs sentence-transformers, which cannot be imported: {error}"
            ) from error
        hub_logging: Any = logging  # untyped
        shows_progress = hub_logging.is_progress_bar_enabled()
        hub_logging.disable_progress_bar()
        try:
            model = CrossEncoder(self._name, revision=self._revision, device=self._device)
        except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
            raise RerankerError(
                f"{self._name} cannot be loaded ({error}); check the name or path, and whether its hub can be reached"
            ) from error
        finally:
            if shows_progress:
                hub_logging.enable_progress_bar()
        if model.num_labels != 1:
            raise RerankerError(
                f"{self._name} sorts pairs into {model.num_labels} classes; a reranker gives one score per pair"
            )
        self._model = model
        return model


def _readable(text: str, limit: int) -> str:
    return text[:limit].encode("utf-8", "replace").decode()  # tokenizers refuse lone surrogates
