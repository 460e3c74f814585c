"""One tool call, safely."""

from .breaker import BreakerState, CircuitBreaker
from .budget import Budget, Spent, spend
from .caching import Cache, CacheStore, MemoryStore, SQLiteCacheStore
from .classify import classify
from .guards import LoopGuard
from .limiting import Limit
from .prefetch import Prefetch
from .runtime import CallContext, Runtime
from .states import ToolStates

__all__ = [
    "BreakerState",
    "Budget",
    "Cache",
    "CacheStore",
    "CallContext",
    "CircuitBreaker",
    "Limit",
    "LoopGuard",
    "MemoryStore",
    "Prefetch",
    "Runtime",
    "SQLiteCacheStore",
    "Spent",
    "ToolStates",
    "classify",
    "spend",
]
