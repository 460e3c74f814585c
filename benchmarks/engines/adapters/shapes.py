"""The graphs that every engine is given, as plain data, and how an adapter reports. Needs nothing but Python."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

Graph = list[tuple[str, list[str]]]
"""(name, names it waits for), each after the ones it waits for."""


def chain(count: int) -> Graph:
    """Each waits for the one before."""
    return [(f"s{n}", [f"s{n - 1}"] if n else []) for n in range(count)]


def wide(count: int) -> Graph:
    """Nobody waits."""
    return [(f"s{n}", []) for n in range(count)]


def layered(count: int) -> Graph:
    """Layers of 50, each step of which waits for every step of the layer before."""
    layers = [[f"s{layer}_{n}" for n in range(50)] for layer in range(count // 50)]
    return [(name, layers[at - 1] if at else []) for at, layer in enumerate(layers) for name in layer]


def lattice(count: int) -> Graph:
    """A square in which each step waits for the one above and the one to the left."""
    side = int(count**0.5)
    return [
        (f"s{row}_{col}", [f"s{row - 1}_{col}"] * (row > 0) + [f"s{row}_{col - 1}"] * (col > 0))
        for row in range(side)
        for col in range(side)
    ]


SHAPES: dict[str, Callable[[int], Graph]] = {"chain": chain, "wide": wide, "layered": layered, "lattice": lattice}


def leaves(graph: Graph) -> list[str]:
    """Those that nobody waits for."""
    waited = {dep for _, deps in graph for dep in deps}
    return [name for name, _ in graph if name not in waited]


async def noop() -> int:
    """What a step does."""
    return 1


Build = Callable[[Graph], Callable[[], Awaitable[Any]]]
"""Builds a graph once, and returns what runs it."""


def main(builds: dict[str, Build]) -> None:
    """``python adapter.py WORKLOAD COUNT``: prints the seconds of building and of the best of two runs, as JSON.

    Args:
        builds: by workload, or "*" for any.
    """
    workload, count = sys.argv[1], int(sys.argv[2])
    build = builds.get(workload) or builds.get("*")
    if build is None:
        print(json.dumps({"absent": "it has no such graphs"}))
        return
    graph = SHAPES[workload](count)

    async def measured() -> dict[str, float]:
        began = time.perf_counter()
        run = build(graph)
        built = time.perf_counter() - began
        seconds = []
        for _ in range(2):
            gc.collect()
            began = time.perf_counter()
            await run()
            seconds.append(time.perf_counter() - began)
        return {"build_s": built, "run_s": min(seconds), "steps": len(graph)}

    print(json.dumps(asyncio.run(measured())))
