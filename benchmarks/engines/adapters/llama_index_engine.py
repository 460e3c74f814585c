"""LlamaIndex workflows: a step that sends itself the next event, or one that is sent many at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from shapes import Graph, main, noop
from workflows import Context, Workflow, step
from workflows.events import Event, StartEvent, StopEvent


class Next(Event):
    left: int


class Item(Event):
    number: int


class Done(Event):
    number: int


class Chain(Workflow):
    @step
    async def begin(self, ev: StartEvent) -> Next:
        return Next(left=ev.count)

    @step
    async def go_on(self, ev: Next) -> Next | StopEvent:
        await noop()
        return StopEvent(result=1) if ev.left == 1 else Next(left=ev.left - 1)


class Wide(Workflow):
    @step
    async def begin(self, ctx: Context, ev: StartEvent) -> Item | None:
        await ctx.store.set("count", ev.count)
        for number in range(ev.count):
            ctx.send_event(Item(number=number))
        return None

    @step(num_workers=64)
    async def work(self, ev: Item) -> Done:
        await noop()
        return Done(number=ev.number)

    @step
    async def end(self, ctx: Context, ev: Done) -> StopEvent | None:
        found = ctx.collect_events(ev, [Done] * await ctx.store.get("count"))
        return None if found is None else StopEvent(result=len(found))


def built(kind: type[Workflow]) -> Callable[[Graph], Callable[[], Awaitable[Any]]]:
    def build(graph: Graph) -> Callable[[], Awaitable[Any]]:
        async def run() -> None:
            assert await kind(timeout=None).run(count=len(graph))

        return run

    return build


if __name__ == "__main__":
    main({"chain": built(Chain), "wide": built(Wide)})
