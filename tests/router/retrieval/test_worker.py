"""Work with a deadline."""

import gc
import threading

import pytest
from toolpath.router.retrieval.worker import BackgroundWorker, DeadlineExceededError

SOON, NEVER = 0.01, 30.0


def test_work_that_ends_in_time_gives_its_result() -> None:
    assert BackgroundWorker().run(lambda: 42, NEVER) == 42


def test_an_error_of_the_work_reaches_the_caller_as_it_is() -> None:
    def fail() -> None:
        raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        BackgroundWorker().run(fail, NEVER)


def test_late_work_goes_on_and_work_that_never_began_is_dropped() -> None:
    worker, go, ended, ran = BackgroundWorker(), threading.Event(), threading.Event(), list[str]()

    def slow() -> None:
        go.wait(NEVER)
        ran.append("slow")

    for work in (slow, lambda: ran.append("second")):
        with pytest.raises(DeadlineExceededError, match=r"longer than 0\.01 s"):
            worker.run(work, SOON)
    go.set()
    worker.run(ended.set, NEVER)
    assert ran == ["slow"]


def test_the_thread_ends_with_its_worker() -> None:
    worker = BackgroundWorker()
    thread = worker.run(threading.current_thread, NEVER)
    assert thread.daemon
    del worker
    gc.collect()
    thread.join(NEVER)
    assert not thread.is_alive()
