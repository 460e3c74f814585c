"""Hamilton's async driver: functions whose parameters are named after what they wait for."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

from hamilton import async_driver
from hamilton.ad_hoc_utils import module_from_source
from shapes import Graph, leaves, main

sys.setrecursionlimit(100_000)  # it resolves what a function needs recursively


def build(graph: Graph) -> Callable[[], Awaitable[Any]]:
    lines = []
    for name, deps in graph:
        parameters = ", ".join(f"{dep}: int" for dep in deps)
        lines.append(f"async def {name}({parameters}) -> int:\n    return 1\n")
    module = module_from_source("\n".join(lines))
    wanted = leaves(graph)
    drivers: list[Any] = []

    async def run() -> None:
        if not drivers:
            drivers.append(await async_driver.Builder().with_modules(module).build())
        result = await drivers[0].execute(wanted, inputs={})
        assert len(result) == len(wanted)

    return run


if __name__ == "__main__":
    main({"*": build})
