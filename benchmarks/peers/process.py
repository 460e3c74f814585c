"""Runs an adapter in its peer's environment, one request after the other, and never longer than allowed."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from .records import Answer

MAX_REASON = 300
"""Characters of a failure's reason in the table."""

Progress = Callable[[int], None]


class PeerError(Exception):
    """Why a peer has no result: it cannot be installed, crashed, or ran out of time. The table shows it."""


@dataclass(frozen=True)
class AdapterRun:
    """What an adapter answered: its time to index, the texts and calls it had embedded for that, its answers."""

    index_seconds: float
    index_texts: int
    index_calls: int
    answers: tuple[Answer, ...]


def run_adapter(
    command: Sequence[str],
    order: Mapping[str, Any],
    requests: Iterable[str],
    timeout: float,
    progress: Progress | None = None,
) -> AdapterRun:
    """Has a peer index a catalog and answer requests.

    Args:
        command: interpreter and adapter.
        order: the adapter's first line: tools, options, k, address of the embedding server.
        requests: in order.
        timeout: seconds for everything; the process is ended after that.
        progress: called with the number of requests answered.

    Raises:
        PeerError: the process ended before it had answered, with what it wrote last; or it took too long.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            encoding="utf-8",
            env=_environment(),
        )
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        watchdog = threading.Timer(timeout, end)
        watchdog.daemon = True
        watchdog.start()
        try:
            return _converse(process, order, requests, progress)
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            if late.is_set():
                raise PeerError(f"not done after {timeout:.0f} s") from error
            process.wait()
            raise PeerError(f"crashed: {_last_line(log)}") from error
        finally:
            watchdog.cancel()
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()


def _converse(
    process: subprocess.Popen[str], order: Mapping[str, Any], requests: Iterable[str], progress: Progress | None
) -> AdapterRun:
    ready = _ask(process, order)
    answers = []
    for request in requests:
        said = _ask(process, {"request": request})
        if "error" in said:
            answers.append(Answer((), error=said["error"][:MAX_REASON]))
        else:
            answers.append(Answer(tuple(said["names"]), said["seconds"], said["embedded"], said["calls"]))
        if progress is not None:
            progress(len(answers))
    return AdapterRun(ready["seconds"], ready["embedded"], ready["calls"], tuple(answers))


def _ask(process: subprocess.Popen[str], message: Mapping[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line.endswith("\n"):
        raise EOFError
    answer: dict[str, Any] = json.loads(line)
    return answer


def _environment() -> dict[str, str]:
    """What the peer's process sees: nothing of ours to import, nothing to download or report, one core."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return {
        **kept,
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1",
        "LANGSMITH_TRACING": "false",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _last_line(log: IO[str]) -> str:
    log.seek(0)
    lines = [line.strip() for line in log if line.strip()]
    return lines[-1][:MAX_REASON] if lines else "without a word"
