"""tawazi: an async DAG of async functions."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

from shapes import Graph, leaves, main
from tawazi import dag, xn
from tawazi.consts import Resource

sys.setrecursionlimit(100_000)


@xn(resource=Resource.async_thread)
async def work(*inputs: int) -> int:
    return 1


def build(graph: Graph) -> Callable[[], Awaitable[Any]]:
    wanted = leaves(graph)

    def whole() -> Any:
        made: dict[str, Any] = {}
        for name, deps in graph:
            made[name] = work(*[made[dep] for dep in deps])
        return tuple(made[name] for name in wanted)

    built: Any = dag(whole, max_concurrency=64, is_async=True)

    async def run() -> None:
        assert len(await built()) == len(wanted)

    return run


if __name__ == "__main__":
    main({"*": build})
