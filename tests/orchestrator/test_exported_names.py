"""The public face: its names, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import toolpath.orchestrator as face

PUBLIC = {
    "Answer",
    "Approver",
    "Attempt",
    "BindingError",
    "Budget",
    "Cache",
    "CacheStore",
    "CallContext",
    "CheckpointError",
    "CircuitBreaker",
    "Comparison",
    "CycleError",
    "Degraded",
    "DuplicateStepError",
    "Event",
    "EventKind",
    "EventStream",
    "Fallback",
    "FallbackPolicy",
    "Inbox",
    "InputError",
    "Join",
    "Level",
    "Limit",
    "LoopGuard",
    "MemoryStore",
    "Missing",
    "OpenRun",
    "Pipeline",
    "PipelineBuilder",
    "PipelineError",
    "Prefetch",
    "Question",
    "Ref",
    "Retry",
    "Run",
    "RunInterrupted",
    "RunRecord",
    "RunReport",
    "Runtime",
    "SQLiteCacheStore",
    "SQLiteStore",
    "Span",
    "SpanEvent",
    "SpanExporter",
    "Spent",
    "StepContext",
    "StepOutcome",
    "StepRecord",
    "StepReport",
    "Store",
    "Timeout",
    "ToolError",
    "ToolStates",
    "Tracing",
    "UnknownStepError",
    "ask_model",
    "at_least",
    "build_definition",
    "constant",
    "current_step",
    "heartbeat",
    "load_pipeline",
    "pipeline_schema",
    "progress",
    "ref",
    "run_input",
    "spend",
    "stale",
}
HEAVY = ("torch", "faiss", "sentence_transformers", "transformers", "scipy", "pandas", "matplotlib", "trio")


def test_the_public_names_are_exactly_these() -> None:
    assert set(face.__all__) == PUBLIC
    assert list(face.__all__) == sorted(face.__all__)


def test_every_public_name_exists_and_explains_itself() -> None:
    for name in PUBLIC:
        assert (getattr(face, name).__doc__ or "").strip(), f"{name} has no docstring"


def test_importing_it_loads_nothing_heavy() -> None:
    check = f"import sys, toolpath.orchestrator; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_it_does_not_need_sniffio_which_anyio_no_longer_brings_along() -> None:
    check = "import sys; sys.modules['sniffio'] = None; import toolpath.orchestrator as o\n"
    check += "report = o.PipelineBuilder().then(lambda: 1, name='one').build().run_sync()\n"
    check += "print(report.value('one'))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.returncode) == ("1", 0), done.stderr
