"""Runnable, tested examples; not part of the wheel."""
