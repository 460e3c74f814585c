"""Requests of several threads embedded together: shares, failures, deadlines."""

import gc
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog.errors import EmbedderError
from toolpath.router.embedding import HashEmbedder
from toolpath.router.embedding.batching import DeadlineExceededError, RequestBatcher, embed_distinct, length_batches

SOON, NEVER = 0.01, 30.0


class Model:
    """Embeds by hashing; holds its first batch back until it is let go, and remembers every batch."""

    def __init__(self, held: bool = True) -> None:
        self.batches: list[list[str]] = []
        self.begun, self.go = threading.Event(), threading.Event()
        self.failure: BaseException | None = None
        if not held:
            self.go.set()

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.batches.append(list(texts))
        self.begun.set()
        assert self.go.wait(NEVER)
        if self.failure is not None and any("bad" in text for text in texts):
            raise self.failure
        return HashEmbedder(16).embed(texts, "query")


def together(model: Model, batcher: RequestBatcher, requests: Sequence[list[str]]) -> list[Callable[[], np.ndarray]]:
    """Sends the first request, and the others while it is being embedded; then lets the model go."""
    pool = ThreadPoolExecutor(len(requests))
    futures = [pool.submit(batcher.embed, requests[0])]
    assert model.begun.wait(NEVER)
    futures += [pool.submit(batcher.embed, request) for request in requests[1:]]
    waiting = batcher._queue.waiting
    while len(waiting) < len(requests) - 1:
        os.sched_yield()
    model.go.set()
    pool.shutdown()
    return [future.result for future in futures]


def test_requests_that_arrive_while_the_model_is_busy_become_one_batch() -> None:
    model = Model()
    requests = [["first"], *([f"request {at}"] for at in range(15))]
    shares = together(model, RequestBatcher(model), requests)
    assert [len(batch) for batch in model.batches] == [1, 15]
    for share, request in zip(shares, requests, strict=True):
        assert (share() == HashEmbedder(16).embed(request, "query")).all()


def test_a_batch_takes_whole_requests_up_to_its_size() -> None:
    model = Model()
    requests = [["first"], *([f"{at}.{part}" for part in range(30)] for at in range(3)), ["text"] * 100]
    shares = together(model, RequestBatcher(model), requests)
    assert [len(share()) for share in shares] == [1, 30, 30, 30, 100]
    sizes = sorted(len(batch) for batch in model.batches)
    assert sizes in ([1, 30, 60, 100], [1, 30, 30, 30, 100])  # as they happened to arrive


def test_one_bad_text_fails_its_own_caller_only() -> None:
    model = Model()
    model.failure = EmbedderError("cannot read this")
    first, bad, good = together(model, RequestBatcher(model), [["first"], ["bad one"], ["good one"]])
    assert (good() == HashEmbedder(16).embed(["good one"], "query")).all() and len(first()) == 1
    with pytest.raises(EmbedderError, match="cannot read this"):
        bad()


def test_the_batcher_survives_any_error() -> None:
    model = Model(held=False)
    batcher = RequestBatcher(model)
    for failure in (ZeroDivisionError("of the model"), TimeoutError("its own"), SystemExit("its exit")):
        model.failure = failure
        with pytest.raises(type(failure)):
            batcher.embed(["bad"], NEVER)
    assert batcher.embed(["good"]).shape == (1, 16)


def test_past_the_deadline_the_caller_goes_on_and_what_has_not_begun_is_never_embedded() -> None:
    model = Model()
    batcher = RequestBatcher(model)
    with ThreadPoolExecutor(1) as pool:
        begun = pool.submit(batcher.embed, ["begun"])
        assert model.begun.wait(NEVER)
        with pytest.raises(DeadlineExceededError, match=r"longer than 0\.01 s"):
            batcher.embed(["dropped"], SOON)
        model.go.set()
        assert begun.result(NEVER).shape == (1, 16)
    assert batcher.embed(["later"], NEVER).shape == (1, 16)
    assert model.batches == [["begun"], ["later"]]


def test_the_thread_ends_with_its_batcher() -> None:
    threads: list[threading.Thread] = []

    def embed(texts: Sequence[str]) -> np.ndarray:
        threads.append(threading.current_thread())
        return HashEmbedder(16).embed(texts, "query")

    batcher = RequestBatcher(embed)
    batcher.embed(["text"])
    assert threads[0].daemon
    del batcher
    gc.collect()
    threads[0].join(NEVER)
    assert not threads[0].is_alive()


def test_after_a_fork_the_child_starts_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(held=False)
    batcher = RequestBatcher(model)
    batcher.embed(["parent"])
    before = batcher._queue
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert batcher.embed(["child"], NEVER).shape == (1, 16)
    assert batcher._queue is not before


class Recording(HashEmbedder):
    """Remembers what it is asked."""

    def __init__(self) -> None:
        super().__init__(16)
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str], kind: str) -> np.ndarray:
        self.asked.append(list(texts))
        return super().embed(texts, "query")


def test_each_distinct_text_is_embedded_once_the_shortest_first() -> None:
    embedder = Recording()
    texts = ["a long text", "short", "a long text", "short", "text"]
    vectors = embed_distinct(embedder, texts, "tool")
    assert embedder.asked == [["text", "short", "a long text"]]
    assert (vectors == HashEmbedder(16).embed(texts, "tool")).all()


def test_no_text_asks_no_model() -> None:
    embedder = Recording()
    assert embed_distinct(embedder, [], "tool").shape == (0, 16)
    assert embedder.asked == []


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(0, 60), st.integers(1, 8))
def test_batches_by_length_hold_every_text_once_and_waste_no_more_than_allowed(
    lengths: list[int], wasted: int, most: int
) -> None:
    batches = length_batches(lengths, wasted, most)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        assert 1 <= len(batch) <= most
        assert sum(max(lengths[place] for place in batch) - lengths[place] for place in batch) <= wasted
