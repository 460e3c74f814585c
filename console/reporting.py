"""Runs a pipeline to its end, or to Ctrl-C, and shows what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NoReturn

from ..orchestrator import Run, RunInterrupted, RunReport
from ..orchestrator.pipeline.pipeline import run_to_end
from .output import ERR, EXIT_INTERRUPTED, EXIT_NOT_OK, OUT, harmless, leave, print_json


def run_and_show(run: Run, *, as_json: bool, mermaid: bool) -> Callable[[], NoReturn]:
    """Executes a run and returns what shows its report and leaves with the exit code that it deserves."""
    try:
        report, interrupted = run_to_end(run), False
    except RunInterrupted as stop:
        report, interrupted = stop.report, True

    def shown() -> NoReturn:
        if interrupted:
            ERR.print("interrupted; this is what the run had come to:")
        show_report(report, as_json=as_json, as_mermaid=mermaid)
        # a thread that timed out may still be running; the report is written, so do not wait for it
        leave(EXIT_INTERRUPTED if interrupted else 0 if report.ok else EXIT_NOT_OK)

    return shown


def show_report(report: RunReport, *, as_json: bool, as_mermaid: bool) -> None:
    """Prints a report."""
    if as_json:
        print_json(report.to_dict() | ({"mermaid": report.to_mermaid()} if as_mermaid else {}))
        return
    OUT.print(harmless(str(report)), markup=False, soft_wrap=True)
    for name, value in report.outputs.items():
        text = value if isinstance(value, str) else json.dumps(report[name].to_dict()["value"], ensure_ascii=False)
        OUT.print(f"\n{name}:\n  {harmless(text)}", markup=False, soft_wrap=True)
    if as_mermaid:
        OUT.print("\n" + report.to_mermaid(), markup=False, soft_wrap=True)
