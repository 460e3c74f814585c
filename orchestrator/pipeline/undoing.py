"""Takes back what the steps of an abandoned run have done."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import anyio

from .. import threads
from ..runtime import classify
from .journal import Journal
from .ledger import Ledger

UNDO_SECONDS = 30.0
"""For each step; cancellation waits so long at most."""


async def undo_all(ledger: Ledger, journal: Journal | None = None) -> None:
    """Undoes every step that succeeded and says how, the last one first; what goes wrong is noted, and the next
    one is undone all the same. A cancellation does not interrupt it. In a kept run the step counts as not done again.
    """
    for step in ledger.to_undo():
        assert step.undo is not None  # it was chosen for that
        with anyio.CancelScope(shield=True):
            try:
                with anyio.fail_after(UNDO_SECONDS):
                    await _undo(step.undo, ledger.values[step.index])
            except Exception as error:  # noqa: BLE001 - it is in the report; the others are undone all the same
                ledger.undone[step.index] = classify(error).message or type(error).__name__
            else:
                ledger.undone[step.index] = ""
                if journal is not None:
                    await journal.undone(step)


async def _undo(function: Callable[..., Any], output: Any) -> None:
    arguments = (output,) if _takes_one(function) else ()
    if threads.runs_in_loop(function):
        await function(*arguments)
        return
    returned = await threads.run_in_thread(lambda: function(*arguments))
    if inspect.isawaitable(returned):
        await returned


def _takes_one(function: Callable[..., Any]) -> bool:
    kinds = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
    )
    return any(one.kind in kinds for one in inspect.signature(function).parameters.values())
