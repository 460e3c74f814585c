"""A virtual environment for each peer, made of its own exact pins: what the peers need conflicts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Protocol

from .process import PeerError
from .records import digest_of_files

INSTALL_SECONDS = 3600
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)", re.MULTILINE)


class Pinned(Protocol):
    """Who has an environment."""

    @property
    def peer(self) -> str:
        """The distribution."""

    @property
    def constraints(self) -> Path:
        """Path of its exact pins."""


def python_of(row: Pinned, venvs: Path) -> Path:
    """The interpreter of the peer's environment, which is made when it is not there or its pins have changed.

    Raises:
        PeerError: it cannot be made; says what pip said last.
    """
    folder = venvs / row.peer
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    stamp = folder / "pins"
    digest = digest_of_files([row.constraints])
    if stamp.is_file() and stamp.read_text() == digest:
        return python
    print(f"  making an environment for {row.peer} in {folder}", flush=True)
    _run([sys.executable, "-m", "venv", "--clear", str(folder)], row.peer)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--requirement", str(row.constraints)], row.peer)
    stamp.write_text(digest)
    return python


def version_of(row: Pinned) -> str:
    """The peer and its pinned version, as ``callbus 0.3.1``.

    Raises:
        PeerError: its constraints file does not pin it.
    """
    pins = {
        match["name"].lower().replace("_", "-"): match["version"]
        for match in _PIN.finditer(row.constraints.read_text())
    }
    if row.peer not in pins:
        raise PeerError(f"{row.constraints.name} does not pin {row.peer}")
    return f"{row.peer} {pins[row.peer]}"


def _run(command: list[str], peer: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerError(f"{peer} cannot be installed: {error}") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        raise PeerError(f"{peer} cannot be installed: {lines[-1] if lines else f'exit code {done.returncode}'}")
