"""The floor: the least that can be written with anyio, a ready list and one task for each step that is waited for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from shapes import Graph, main, noop


def build(graph: Graph) -> Callable[[], Awaitable[Any]]:
    index = {name: at for at, (name, _) in enumerate(graph)}
    dependants: list[list[int]] = [[] for _ in graph]
    for at, (_, deps) in enumerate(graph):
        for dep in deps:
            dependants[index[dep]].append(at)
    counts = [len(deps) for _, deps in graph]

    async def run() -> list[Any]:
        waiting, values = counts.copy(), [None] * len(counts)
        ready = [at for at, count in enumerate(counts) if not count]

        async def work() -> None:
            while ready:
                at = ready.pop()
                values[at] = await noop()  # type: ignore[call-overload]
                for dependant in dependants[at]:
                    waiting[dependant] -= 1
                    if not waiting[dependant]:
                        ready.append(dependant)

        async with anyio.create_task_group() as group:
            group.start_soon(work)
        return values

    return run


if __name__ == "__main__":
    main({"*": build})
