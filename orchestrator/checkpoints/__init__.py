"""What survives the process: the outcomes of a run's steps, so that it can be resumed."""

from .records import RunRecord, StepRecord, Store
from .sqlite import SQLiteStore

__all__ = ["RunRecord", "SQLiteStore", "StepRecord", "Store"]
