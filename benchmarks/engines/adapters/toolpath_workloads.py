"""Workloads of Toolpath alone: ``python toolpath_workloads.py NAME COUNT`` prints figures as JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
from shapes import layered, noop, wide
from toolpath.orchestrator import Pipeline, PipelineBuilder, Retry, SQLiteStore, ref


async def _timed(pipeline: Pipeline, **options: Any) -> tuple[float, Any]:
    gc.collect()
    began = time.perf_counter()
    report = await pipeline.run(**options)
    return time.perf_counter() - began, report


async def sleeps(count: int) -> dict[str, float]:
    """Steps that sleep 0.1 s, all at the same time."""

    async def nap() -> int:
        await anyio.sleep(0.1)
        return 1

    builder = PipelineBuilder()
    for number in range(count):
        builder.step(nap, name=f"s{number}")
    seconds, report = await _timed(builder.build())
    assert report.ok
    return {"run_s": seconds}


async def uneven(count: int) -> dict[str, float]:
    """Chains of sleeps of random length; the run should take as long as the longest chain."""
    draw = random.Random(7)
    builder, longest = PipelineBuilder(), 0.0
    for branch in range(count):
        total = 0.0
        for step in range(5):
            pause = draw.choice([0.02, 0.08, 0.2])
            total += pause

            async def nap(pause: float = pause) -> int:
                await anyio.sleep(pause)
                return 1

            name = f"s{branch}_{step}"
            builder.step(nap, name=name, deps=[f"s{branch}_{step - 1}"] if step else (), bind={"pause": pause})
        longest = max(longest, total)
    seconds, report = await _timed(builder.build())
    assert report.ok
    return {"run_s": seconds, "critical_s": longest}


async def mapped(count: int) -> dict[str, float]:
    """One step over a list that is known only at run time."""

    async def items() -> list[int]:
        return list(range(count))

    async def work(item: int) -> int:
        return item

    seconds, report = await _timed(PipelineBuilder().step(items).map(work, items, name="each").build())
    assert len(report.value("each")) == count
    return {"run_s": seconds, "steps": count}


async def failing(count: int) -> dict[str, float]:
    """Layers, and 5% of the steps fail; what waits for them is skipped."""
    draw = random.Random(7)

    async def fail() -> int:
        raise ValueError("no")

    builder = PipelineBuilder()
    for name, deps in layered(count):
        builder.step(fail if draw.random() < 0.05 else noop, name=name, deps=deps[:2])
    seconds, report = await _timed(builder.build())
    assert not report.ok
    return {"run_s": seconds, "steps": count}


async def everything(count: int) -> dict[str, float]:
    """Retry, timeout, an idempotency key and events that somebody listens to."""
    events = []
    builder = PipelineBuilder()
    for name, deps in wide(count):
        builder.step(noop, name=name, deps=deps, retry=Retry(attempts=3), timeout=30.0)
    seconds, report = await _timed(builder.build(), on_event=events.append)
    assert report.ok
    assert len(events) == 2 * count + 2
    return {"run_s": seconds, "steps": count}


async def memory(count: int) -> dict[str, float]:
    """A chain whose outputs are 100 KB each and have one reader; the most that was there at the same time."""
    sizes: list[float] = []

    async def make(before: bytes) -> bytes:
        if len(sizes) % 100 == 0:
            sizes.append(_resident_mb())
        else:
            sizes.append(sizes[-1])
        return bytes(100_000)

    async def first() -> bytes:
        return bytes(100_000)

    builder = PipelineBuilder().step(first, name="s0")
    for number in range(1, count):
        builder.step(make, name=f"s{number}", bind={"before": ref(f"s{number - 1}")})
    pipeline = builder.build()
    base = _resident_mb()
    _, report = await _timed(pipeline, keep="leaves")
    assert report.ok
    return {"more_mb": max(sizes) - base}


async def checkpoint(count: int) -> dict[str, float]:
    """Every outcome is committed to SQLite before what waits for it starts."""
    builder = PipelineBuilder()
    for name, deps in wide(count):
        builder.step(noop, name=name, deps=deps)
    pipeline = builder.build()
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "runs.sqlite")
        seconds, report = await _timed(pipeline, store=store)
        store.close()
    assert report.ok
    return {"run_s": seconds, "steps": count}


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


if __name__ == "__main__":
    print(json.dumps(asyncio.run(globals()[sys.argv[1]](int(sys.argv[2])))))
