"""Microsoft's agent framework: executors along edges, in supersteps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agent_framework import Executor, WorkflowBuilder, WorkflowContext, handler
from shapes import Graph, leaves, main, noop


class Step(Executor):
    @handler
    async def work(self, message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(await noop())


class Begin(Executor):
    @handler
    async def work(self, message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message)


class End(Executor):
    @handler
    async def one(self, message: int, ctx: WorkflowContext[Any, int]) -> None:
        await ctx.yield_output(message)

    @handler
    async def all(self, messages: list[int], ctx: WorkflowContext[Any, int]) -> None:
        await ctx.yield_output(len(messages))


def build(graph: Graph) -> Callable[[], Awaitable[Any]]:
    async def run() -> None:
        begin, end = Begin(id="begin"), End(id="end")
        steps = {name: Step(id=name) for name, _ in graph}
        made = WorkflowBuilder(max_iterations=len(graph) + 10, start_executor=begin, output_from=[end])
        starts = [steps[name] for name, deps in graph if not deps]
        made = made.add_edge(begin, starts[0]) if len(starts) == 1 else made.add_fan_out_edges(begin, starts)
        for name, deps in graph:
            if deps:
                made = made.add_edge(steps[deps[0]], steps[name])
        ends = [steps[name] for name in leaves(graph)]
        made = made.add_edge(ends[0], end) if len(ends) == 1 else made.add_fan_in_edges(ends, end)
        result = await made.build().run(1)
        assert result.get_outputs() == [len(ends)]

    return run


if __name__ == "__main__":
    main({"chain": build, "wide": build})
