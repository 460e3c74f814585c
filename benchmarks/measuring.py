"""Times, machines and floors: what the speed benchmarks share."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

PACKAGES = ("toolpath", "numpy", "faiss-cpu", "torch", "sentence-transformers", "onnxruntime", "onnx", "tokenizers")


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of a benchmark.

    Attributes:
        name: what was measured.
        value: the figure.
        unit: "x" for a ratio, "ms", "s", "".
        at_most: the floor, when the figure has to stay below one.
        at_least: the floor, when it has to stay above one.
        note: what else a reader should know.
    """

    name: str
    value: float
    unit: str = "x"
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the floor is met; a figure without one always holds."""
        return not (
            np.isnan(self.value)
            or (self.at_most is not None and self.value > self.at_most)
            or (self.at_least is not None and self.value < self.at_least)
        )

    @property
    def floor(self) -> str:
        """The floor in words, "" without one."""
        if self.at_most is not None:
            return f"at most {self.at_most:g} {self.unit}".strip()
        return "" if self.at_least is None else f"at least {self.at_least:g} {self.unit}".strip()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "name": self.name,
            "value": round(self.value, 5),
            "unit": self.unit,
            "floor": self.floor,
            "holds": self.holds,
            "note": self.note,
        }


def timed(work: Callable[[], object]) -> float:
    """Seconds that `work` takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def best_of(work: Callable[[], object], times: int) -> float:
    """Seconds of the quickest of `times` runs."""
    return min(timed(work) for _ in range(times))


def quantile(seconds: Sequence[float], share: float) -> float:
    """The quantile of `seconds`; 0.5 is the median."""
    return float(np.quantile(np.array(seconds), share))


def machine() -> dict[str, str]:
    """What the figures depend on: processor, cores, load, Python, packages, date."""
    found = {
        "date": time.strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


def resident_mb() -> float:
    """Memory of this process in MB; NaN where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def table(title: str, lines: Sequence[Line], about: dict[str, str]) -> str:
    """The figures as a Markdown table, with the machine below."""
    rows = ["| figure | measured | floor | |", "| --- | --- | --- | --- |"]
    for line in lines:
        verdict = ("holds" if line.holds else "**FAILS**") if line.floor else ""
        measured = f"{line.value:.4g} {line.unit}".strip()
        name = f"{line.name} ({line.note})" if line.note else line.name
        rows.append(f"| {name} | {measured} | {line.floor} | {verdict} |")
    return "\n".join([f"# {title}", "", *rows, "", ", ".join(f"{key} {value}" for key, value in about.items()), ""])


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def command_line(script: str, arguments: Sequence[str]) -> str:
    """How a result was made, for its page: without the absolute paths of the machine that made it."""
    return " ".join(
        ["python", script, *(os.path.relpath(one) if Path(one).is_absolute() else one for one in arguments)]
    )
