"""Embedding in batches: each distinct text once, texts of one length together, requests of several threads as one.

A model takes hardly longer for sixteen short texts than for one, so requests that arrive while it is busy are better
off together than in a queue.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import numpy as np

from ...catalog.errors import EmbedderError
from .protocol import Embedder, TextKind, Vectors

MAX_TEXTS = 64
"""Texts of several callers that are embedded at one time; bounds how long one that comes last waits for the others."""


class DeadlineExceededError(Exception):
    """The work did not end in time; when it had begun it goes on in the background."""


def embed_distinct(embedder: Embedder, texts: Sequence[str], kind: TextKind) -> Vectors:
    """Vectors of `texts`, shape ``(len(texts), dimension)``: each distinct text is embedded once, the shortest first.

    Raises:
        EmbedderError: the embedder fails, or gives vectors of another shape or with numbers that are not finite.
    """
    if not texts:
        return np.zeros((0, embedder.dimension), np.float32)
    distinct = sorted(dict.fromkeys(texts), key=len)
    vectors = np.asarray(embedder.embed(distinct, kind), np.float32)
    if vectors.shape != (len(distinct), embedder.dimension):
        raise EmbedderError(
            f"the embedder gave an array of shape {vectors.shape} for {len(distinct)} texts of "
            f"{embedder.dimension} numbers each"
        )
    if not np.isfinite(vectors).all():
        raise EmbedderError("the embedder gave numbers that are not finite")
    if len(texts) == 1:
        return vectors
    places = {text: at for at, text in enumerate(distinct)}
    return vectors[[places[text] for text in texts]]


def length_batches(lengths: Sequence[int], wasted: int, most: int) -> list[list[int]]:
    """Places of texts, in batches that are worth padding to one length; the longest texts first.

    A batch costs what its longest text costs, times its size, and something for itself. So a text joins the longer ones
    before it until the padding of their batch is as dear as another batch.

    Args:
        lengths: of the texts, in any unit.
        wasted: padding that a batch of its own would cost, in the same unit.
        most: texts of one batch.

    Example:
        >>> length_batches([10, 90, 12, 88], wasted=20, most=64)
        [[1, 3], [2, 0]]
    """
    batches: list[list[int]] = []
    padding = 0
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if batches and len(batches[-1]) < most:
            padding += lengths[batches[-1][0]] - lengths[place]
            if padding <= wasted:
                batches[-1].append(place)
                continue
        batches.append([place])
        padding = 0
    return batches


class RequestBatcher:
    """Embeds the requests of several threads together, without ever waiting for more of them to come.

    One daemon thread takes whatever waits, embeds it as one batch, and hands out the shares; what arrives meanwhile is
    the next batch. It starts with the first request and ends with the batcher. When a batch fails, each caller's texts
    are tried alone, so that nobody gets another one's error.

    Args:
        embed: vectors of texts, shape ``(len(texts), dimension)``.

    Example:
        >>> batcher = RequestBatcher(lambda texts: HashEmbedder(8).embed(texts, "query"))
        >>> batcher.embed(["refund", "weather"]).shape
        (2, 8)
    """

    def __init__(self, embed: Callable[[Sequence[str]], Vectors]) -> None:
        self._embed = embed
        self._queue = self._new_queue()

    def embed(self, texts: Sequence[str], seconds: float | None = None) -> Vectors:
        """Vectors of `texts`, shape ``(len(texts), dimension)``.

        Args:
            texts: a caller's own; they stay together.
            seconds: how long to wait at most; None: as long as it takes.

        Raises:
            DeadlineExceededError: the vectors were not there in time; texts whose turn has not come are dropped.
            Exception: what embedding these texts alone raises.
        """
        future: Future[Vectors] = Future()
        if self._queue.process != os.getpid():  # a fork has no threads but the one that forked
            self._queue = self._new_queue()
        queue = self._queue
        with queue.filled:
            queue.waiting.append((list(texts), future))
            queue.filled.notify()
            if not queue.served:
                queue.served = True
                work = (queue, self._embed)
                threading.Thread(target=_serve, args=work, name="toolpath-requests", daemon=True).start()
        try:
            return future.result(seconds)
        except TimeoutError as error:
            if future.done() and not future.cancelled():
                raise  # the embedder's own
            future.cancel()
            raise DeadlineExceededError(f"took longer than {seconds:g} s") from error
        except BaseException:  # Ctrl-C: nobody waits for these any more
            future.cancel()
            raise

    def _new_queue(self) -> _Queue:
        queue = _Queue()
        weakref.finalize(self, queue.close)
        return queue


_Waiting = tuple[list[str], "Future[Vectors]"]


class _Queue:
    """What waits to be embedded; the thread knows this and not the batcher, which may go."""

    def __init__(self) -> None:
        self.filled = threading.Condition()
        self.waiting: deque[_Waiting] = deque()
        self.process = os.getpid()
        self.served = False
        self.closed = False

    def close(self) -> None:
        with self.filled:
            self.closed = True
            self.filled.notify()

    def take(self) -> list[_Waiting]:
        """All that waits, as far as it fits into one batch; waits for the first; none: closed."""
        with self.filled:
            self.filled.wait_for(lambda: self.waiting or self.closed)
            taken: list[_Waiting] = []
            texts = 0
            while self.waiting and (not taken or texts + len(self.waiting[0][0]) <= MAX_TEXTS):
                entry = self.waiting.popleft()
                if not entry[1].cancelled():
                    taken.append(entry)
                    texts += len(entry[0])
            return taken


def _serve(queue: _Queue, embed: Callable[[Sequence[str]], Vectors]) -> None:
    while True:
        batch = queue.take()
        if not batch and queue.closed:
            return
        _embed_batch(batch, embed)
        del batch  # while waiting for the next one nothing of the last stays alive


def _embed_batch(batch: list[_Waiting], embed: Callable[[Sequence[str]], Vectors]) -> None:
    if not batch:  # all that waited were cancelled
        return
    try:
        vectors = embed([text for texts, _ in batch for text in texts])
    except BaseException as error:  # noqa: BLE001 - handed to whoever waits for the result
        if len(batch) == 1:
            future = batch[0][1]
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
            return
        for entry in batch:
            if not entry[1].cancelled():
                _embed_batch([entry], embed)
        return
    start = 0
    for texts, future in batch:
        if future.set_running_or_notify_cancel():
            future.set_result(vectors[start : start + len(texts)])
        start += len(texts)
