"""Checks the arguments of a call against a tool's schema, and says of every field what is wrong with it."""

from .validation import validate_arguments

__all__ = ["validate_arguments"]
