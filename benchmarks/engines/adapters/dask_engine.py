"""dask's threaded scheduler with synchronous functions: it has no async ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from dask.threaded import get
from shapes import Graph, leaves, main


def work(*inputs: int) -> int:
    return 1


def build(graph: Graph) -> Callable[[], Awaitable[Any]]:
    made = {name: (work, *deps) for name, deps in graph}
    wanted = leaves(graph)

    async def run() -> None:
        assert len(get(made, wanted)) == len(wanted)

    return run


if __name__ == "__main__":
    main({"*": build})
