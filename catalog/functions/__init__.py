"""Makes a tool from a typed Python function."""

from .decorator import tool

__all__ = ["tool"]
