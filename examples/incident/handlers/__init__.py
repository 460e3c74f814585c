"""The tools of the on-call catalog that really work, bound by name and checked against their schemas."""

from .binding import bind_handlers, build_handlers

__all__ = ["bind_handlers", "build_handlers"]
