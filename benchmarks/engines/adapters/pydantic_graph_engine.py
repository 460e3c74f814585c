"""pydantic-graph: steps along edges; a step that waits for several has a join before it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_graph import GraphBuilder, reduce_sum
from shapes import Graph, leaves, main, noop


def build(graph: Graph) -> Callable[[], Awaitable[Any]]:
    made: Any = GraphBuilder(input_type=int, output_type=int)

    async def call(ctx: Any) -> int:
        return await noop()

    steps = {name: made.step(call, node_id=name) for name, _ in graph}
    starts = [steps[name] for name, deps in graph if not deps]
    made.add(made.edge_from(made.start_node).to(*starts))
    for name, deps in graph:
        if deps:
            made.add(made.edge_from(steps[deps[0]]).to(steps[name]))
    ends = [steps[name] for name in leaves(graph)]
    if len(ends) == 1:
        made.add(made.edge_from(ends[0]).to(made.end_node))
    else:
        join = made.join(reduce_sum, initial=0)
        made.add(made.edge_from(*ends).to(join), made.edge_from(join).to(made.end_node))
    built = made.build()

    async def run() -> None:
        result = await built.run(inputs=0)
        assert result == len(ends)

    return run


if __name__ == "__main__":
    main({"chain": build, "wide": build})
