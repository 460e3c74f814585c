"""Tools that need another tool's output: who gives what, and all that a pick needs."""

from .graph import DependencyGraph
from .offer import ClosureBudget, offered_beside
from .records import Dangling, Dependency, EdgeKind, Prerequisite

__all__ = [
    "ClosureBudget",
    "Dangling",
    "Dependency",
    "DependencyGraph",
    "EdgeKind",
    "Prerequisite",
    "offered_beside",
]
