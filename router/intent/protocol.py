"""What the router asks of stage 1, so that anybody's classifier can stand in for the rules."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..records import Intent


@runtime_checkable
class IntentClassifier(Protocol):
    """Stage 1: narrows the catalog to a few categories, but only when it is sure."""

    def classify(self, request: str) -> Intent:
        """What the request seems to be about; an empty `Intent` keeps every tool.

        Called in a worker thread, possibly several at once.
        """
        ...
