"""Toolpath, policies off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from shapes import Graph, main, noop
from toolpath.orchestrator import PipelineBuilder


def build(graph: Graph) -> Callable[[], Awaitable[Any]]:
    builder = PipelineBuilder()
    for name, deps in graph:
        builder.step(noop, name=name, deps=deps)
    pipeline = builder.build()

    async def run() -> None:
        report = await pipeline.run()
        assert report.ok

    return run


if __name__ == "__main__":
    main({"*": build})
