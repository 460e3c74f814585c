"""How well a router chooses: labelled requests, the scoring behind `toolpath bench`, and its report."""

from .arguments import ArgumentScore
from .calibrating import CalibrationReport, calibrate
from .evaluate import evaluate, evaluate_sync
from .loading import load_queries
from .outcomes import Confusion, Fate, GoldOutcome, Outcome, judge
from .queries import Query, QueryError, resolve_names, sample, where_fields
from .report import BenchReport, Tokens
from .scores import Scores

__all__ = [
    "ArgumentScore",
    "BenchReport",
    "CalibrationReport",
    "Confusion",
    "Fate",
    "GoldOutcome",
    "Outcome",
    "Query",
    "QueryError",
    "Scores",
    "Tokens",
    "calibrate",
    "evaluate",
    "evaluate_sync",
    "judge",
    "load_queries",
    "resolve_names",
    "sample",
    "where_fields",
]
