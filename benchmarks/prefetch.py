"""What warming the usual next tool saves: simulated sessions, with and without it, in the same run.

    python -m benchmarks.prefetch [--sessions 100] [--json]

Each session walks through tools as people do who mostly take the same way; the model "thinks" between two calls, and
the first call of a tool in a session opens a connection. Time is simulated: the figures are the same on any machine.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Sequence

import anyio
import trio.testing
from toolpath.catalog import Catalog, Tool, ToolCall
from toolpath.orchestrator import CallContext, Prefetch, Runtime

WAY = {"search": "read", "read": "summarise", "summarise": "search"}
CONNECT, WORK = 0.03, 0.01
"""Seconds that the first and that each call of a tool takes."""


async def sessions(count: int, likely: float, think: float, warming: bool, seed: int = 7) -> tuple[float, float]:
    """Runs sessions and returns the mean seconds of a call, and the share of warm-ups that were used.

    Args:
        count: how many, of 10 calls each.
        likely: how often somebody takes the usual way.
        think: seconds between two calls.
        warming: whether the next tool is warmed meanwhile.
        seed: of the ways that are taken.
    """
    draw = random.Random(seed)
    connected: set[str] = set()

    async def connect(tool: str) -> None:
        if tool not in connected:
            await anyio.sleep(CONNECT)
            connected.add(tool)

    def made(name: str) -> Tool:
        async def work() -> str:
            await connect(name)
            await anyio.sleep(WORK)
            return name

        return Tool(name=name, description=name, handler=work)

    prefetch = Prefetch({name: lambda name=name: connect(name) for name in WAY}) if warming else None  # type: ignore[misc]
    runtime = Runtime(Catalog([made(name) for name in WAY]), prefetch=prefetch)
    waits: list[float] = []
    for session in range(count):
        connected.clear()
        tool, caller = "search", f"session-{session}"
        for _ in range(10):
            began = anyio.current_time()
            await runtime.call(ToolCall(tool=tool), CallContext(caller=caller))
            waits.append(anyio.current_time() - began)
            async with anyio.create_task_group() as group:
                group.start_soon(runtime.warm_next, caller)
                await anyio.sleep(think)
            tool = WAY[tool] if draw.random() < likely else draw.choice(list(WAY))
    stats = None if prefetch is None else prefetch.stats
    used = 0.0 if stats is None or not stats.warmed else stats.used / max(stats.used + stats.wasted, 1)
    return statistics.fmean(waits), used


def _simulated(count: int, likely: float, warming: bool) -> tuple[float, float]:
    options = {"clock": trio.testing.MockClock(autojump_threshold=0)}
    return anyio.run(sessions, count, likely, 0.05, warming, backend="trio", backend_options=options)


def main(arguments: Sequence[str]) -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=100, help="of ten calls each")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    chosen = parser.parse_args(arguments)
    rows = []
    for likely in (0.9, 0.7, 0.4):
        plain, _ = _simulated(chosen.sessions, likely, False)
        warmed, used = _simulated(chosen.sessions, likely, True)
        rows.append({"usual_way": likely, "call_ms": plain * 1000, "warmed_call_ms": warmed * 1000, "used": used})
    if chosen.json:
        print(json.dumps({"rows": rows}))
        return 0
    print("| usual way taken | a call | with warming | warm-ups that were used |\n| --- | --- | --- | --- |")
    for row in rows:
        print(
            f"| {row['usual_way']:.0%} | {row['call_ms']:.1f} ms | {row['warmed_call_ms']:.1f} ms | {row['used']:.0%} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
