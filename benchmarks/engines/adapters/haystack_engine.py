"""Haystack: components with an async run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from haystack import Pipeline, component
from shapes import Graph, main, noop


@component
class Step:
    def __init__(self, deps: list[str]) -> None:
        component.set_input_types(self, **dict.fromkeys(deps or ["given"], int))

    @component.output_types(value=int)
    def run(self, **inputs: int) -> dict[str, int]:
        return {"value": 1}

    @component.output_types(value=int)
    async def run_async(self, **inputs: int) -> dict[str, int]:
        return {"value": await noop()}


def build(graph: Graph) -> Callable[[], Awaitable[Any]]:
    made = Pipeline()
    for name, deps in graph:
        made.add_component(name, Step(deps))
    for name, deps in graph:
        for dep in deps:
            made.connect(f"{dep}.value", f"{name}.{dep}")
    data = {name: {"given": 1} for name, deps in graph if not deps}

    async def run() -> None:
        result = await made.run_async(data)
        assert result

    return run


if __name__ == "__main__":
    main({"*": build})
