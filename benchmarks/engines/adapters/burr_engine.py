"""Burr: a state machine, so a chain only: one action that follows itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from burr.core import ApplicationBuilder, State, action, expr
from shapes import Graph, main, noop


@action(reads=["left"], writes=["left"])
async def work(state: State) -> State:
    await noop()
    return state.update(left=state["left"] - 1)


@action(reads=[], writes=[])
async def end(state: State) -> State:
    return state


def build(graph: Graph) -> Callable[[], Awaitable[Any]]:
    async def run() -> None:
        made = (
            ApplicationBuilder()
            .with_actions(work=work, end=end)
            .with_transitions(("work", "work", expr("left > 0")), ("work", "end", expr("left == 0")))
            .with_state(left=len(graph))
            .with_entrypoint("work")
        )
        application = await made.abuild()
        _, _, state = await application.arun(halt_after=["end"])
        assert state["left"] == 0

    return run


if __name__ == "__main__":
    main({"chain": build})
