"""From steps to a finished run."""

from .builder import PipelineBuilder
from .conditions import Comparison
from .definition import build_definition, load_pipeline
from .definition_schema import pipeline_schema
from .model_knowledge import ask_model
from .open_run import OpenRun
from .outcomes import FallbackPolicy, Join, Missing, StepOutcome, at_least
from .pipeline import Pipeline, RunInterrupted
from .policies import Fallback, Level, Retry, Timeout, constant, stale
from .refs import Ref, ref, run_input
from .report import Attempt, RunReport, StepReport
from .run import Run
from .streaming import EventStream

__all__ = [
    "Attempt",
    "Comparison",
    "EventStream",
    "Fallback",
    "FallbackPolicy",
    "Join",
    "Level",
    "Missing",
    "OpenRun",
    "Pipeline",
    "PipelineBuilder",
    "Ref",
    "Retry",
    "Run",
    "RunInterrupted",
    "RunReport",
    "StepOutcome",
    "StepReport",
    "Timeout",
    "ask_model",
    "at_least",
    "build_definition",
    "constant",
    "load_pipeline",
    "pipeline_schema",
    "ref",
    "run_input",
    "stale",
]
