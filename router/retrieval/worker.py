"""One background thread for work that may take longer than its caller can wait."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from ..embedding.batching import DeadlineExceededError

__all__ = ["BackgroundWorker", "DeadlineExceededError"]

T = TypeVar("T")
_Job = tuple["Future[Any]", Callable[[], Any]]


class BackgroundWorker:
    """Runs jobs one after another in a daemon thread that starts with the first job and ends with the worker.

    `concurrent.futures.ThreadPoolExecutor` would not do: the interpreter waits for its threads at exit, and a model
    that hangs would then hang the exit.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._started = False
        weakref.finalize(self, self._jobs.put, None)

    def run(self, work: Callable[[], T], seconds: float) -> T:
        """What `work` returns or raises, if that happens within `seconds`.

        Raises:
            DeadlineExceededError: it did not; work that has not begun by then never begins.
        """
        future: Future[T] = Future()
        with self._lock:
            if not self._started:
                threading.Thread(target=_serve, args=(self._jobs,), name="toolpath-embedding", daemon=True).start()
                self._started = True
        self._jobs.put((future, work))
        try:
            return future.result(seconds)
        except TimeoutError as error:
            if future.done() and not future.cancelled():
                raise  # the work itself raised it
            future.cancel()
            raise DeadlineExceededError(f"took longer than {seconds:g} s") from error


def _serve(jobs: queue.SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        future, work = job
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits for the result
                future.set_exception(error)
        del job, future, work  # while waiting for the next job nothing of the last one stays alive
