"""Benchmarks are scripts: what they import stands beside them, not in a package of ours."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
