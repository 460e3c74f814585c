"""LangGraph: a state graph without a checkpointer."""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from shapes import Graph, leaves, main, noop


class State(TypedDict):
    done: Annotated[int, operator.add]


async def node(state: State) -> dict[str, int]:
    return {"done": await noop()}


def build(graph: Graph) -> Callable[[], Awaitable[Any]]:
    made = StateGraph(State)
    for name, deps in graph:
        made.add_node(name, node)
        made.add_edge(deps if len(deps) > 1 else deps[0] if deps else START, name)
    for name in leaves(graph):
        made.add_edge(name, END)
    compiled = made.compile()

    async def run() -> None:
        result = await compiled.ainvoke({"done": 0}, {"recursion_limit": len(graph) + 10})
        assert result["done"] == len(graph)

    return run


if __name__ == "__main__":
    main({"*": build})
