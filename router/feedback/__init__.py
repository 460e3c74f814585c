"""What became of earlier calls, as a small prior for later rankings; off unless a router is given a store."""

from .prior import Prior, Record
from .store import FeedbackError, FeedbackStore, Outcome, ToolRecord

__all__ = ["FeedbackError", "FeedbackStore", "Outcome", "Prior", "Record", "ToolRecord"]
