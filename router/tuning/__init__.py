"""Teaching an embedder what requests for tools look like: pairs, training of a low-rank update, and its test."""

from .training import Recipe, Step, train_update
from .tune import Tuned, tune

__all__ = ["Recipe", "Step", "Tuned", "train_update", "tune"]
