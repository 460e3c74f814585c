"""Random pipelines, killed and resumed: a few here, CHAOS_KILLS of them in `make chaos`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = int(os.environ.get("CHAOS_KILLS", "6"))
ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes to kill are forked, which this system cannot")
def test_what_was_committed_is_not_done_again_and_the_end_is_the_same() -> None:
    command = [sys.executable, "-m", "tests.support.chaos", str(COUNT)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{COUNT} random pipelines were killed and resumed; 0 failed" in done.stdout
