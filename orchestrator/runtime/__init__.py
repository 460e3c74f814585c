"""One tool call, safely."""

from .classify import classify
from .guards import LoopGuard
from .runtime import CallContext, Runtime

__all__ = ["CallContext", "LoopGuard", "Runtime", "classify"]
