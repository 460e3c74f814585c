"""Steps in processes of their own: real processes, real time."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from toolpath.catalog.errors import BindingError
from toolpath.orchestrator import PipelineBuilder


def work(number: int) -> tuple[int, int]:
    return number * 2, os.getpid()


def hang(marker: str) -> None:
    Path(marker).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(600)


def fail() -> None:
    raise LookupError("nothing there")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_step_runs_in_another_process_and_its_exception_comes_back(backend: str) -> None:
    builder = PipelineBuilder().step(work, bind={"number": 21}, process=True).step(fail, process=True)
    report = builder.build().run_sync(backend=backend)
    doubled, pid = report.value("work")
    assert doubled == 42
    assert pid != os.getpid()
    assert isinstance(report["fail"].exception, LookupError)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_timeout_kills_the_process(backend: str, tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    builder = PipelineBuilder().step(hang, bind={"marker": str(marker)}, process=True, timeout=4)
    report = builder.build().run_sync(backend=backend)
    assert report["hang"].outcome == "timed_out"
    assert not report["hang"].history[0].still_running
    pid = int(marker.read_text(encoding="utf-8"))

    deadline = time.monotonic() + 10
    while _alive(pid):
        assert time.monotonic() < deadline, "the process is still there"
        time.sleep(0.02)


def test_what_cannot_be_sent_to_a_process_is_refused_at_once() -> None:
    with pytest.raises(BindingError, match="cannot run in a process"):
        PipelineBuilder().step(lambda: 1, name="x", process=True).build()
