"""A model writes what a tool's definition leaves out: when to use it, and how people ask for it."""

from .enriching import EnrichmentReport, enrich
from .filtering import fault, sift
from .prompts import DEFAULT_STYLES, STYLES
from .writing import Written, write_requests, write_requests_sync

__all__ = [
    "DEFAULT_STYLES",
    "STYLES",
    "EnrichmentReport",
    "Written",
    "enrich",
    "fault",
    "sift",
    "write_requests",
    "write_requests_sync",
]
