"""From tool calls to a finished run."""

from ..catalog import Degraded
from .pipeline import (
    Attempt,
    Fallback,
    FallbackPolicy,
    Level,
    Missing,
    Pipeline,
    PipelineBuilder,
    Ref,
    Retry,
    Run,
    RunInterrupted,
    RunReport,
    StepOutcome,
    StepReport,
    constant,
    ref,
    run_input,
)
from .runtime import CallContext, LoopGuard, Runtime

__all__ = [
    "Attempt",
    "CallContext",
    "Degraded",
    "Fallback",
    "FallbackPolicy",
    "Level",
    "LoopGuard",
    "Missing",
    "Pipeline",
    "PipelineBuilder",
    "Ref",
    "Retry",
    "Run",
    "RunInterrupted",
    "RunReport",
    "Runtime",
    "StepOutcome",
    "StepReport",
    "constant",
    "ref",
    "run_input",
]
