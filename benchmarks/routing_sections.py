"""What `routing_speed` measures, section by section; every floor is one of issue 3."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import numpy as np
from toolpath.catalog import load_catalog, save_tools
from toolpath.router import Router
from toolpath.router.embedding import Embedder, Vectors, default_embedder
from toolpath.router.embedding.onnx import OnnxEmbedder
from toolpath.router.evaluation import load_queries
from toolpath.router.retrieval import FaissIndex, Retriever
from toolpath.router.retrieval.text import tool_text

from .measuring import Line, best_of, quantile, resident_mb, timed
from .pooled import NearbyEmbedder, Pool, catalog_of, pooled, requests_of

IN_FLIGHT = 16
ROUTE_FLOORS = {3_000: 1.3, 40_000: 2.0}
"""Catalog size to how many times the embedding alone a warm `route` may take."""
BUILT_TEXTS = 600
"""Tool texts that are embedded to compare how fast an index is built."""
BLOCK = 25
"""Requests after which embedders take turns: the threads of one spin for a while after its run and slow the next."""
LABELLED = 500
"""Requests of each labelled set that compare the recall of two embedders."""
APPROXIMATE_FROM = 100_000


def routing(data: Path, size: int, requests: Sequence[str]) -> Iterator[Line]:
    """Warm `route` beside the embedding alone, one after the other and 16 at a time; then one changed tool, and a saved
    index."""
    pool = pooled(data, size)
    embedder = NearbyEmbedder(default_embedder(), pool.originals)
    catalog = catalog_of(pool)
    before = resident_mb()
    built = time.perf_counter()
    router = Router(catalog, embedder=embedder)
    retriever = router.retriever
    assert isinstance(retriever, Retriever)
    retriever.refresh()
    router.route_sync(requests[0])
    label = f"{size:,} tools"
    variants = f"{size - pool.real:,} of them variants with vectors near their originals'" if size > pool.real else ""
    yield Line(f"{label}: index built and first route", time.perf_counter() - built, "s", note=variants)
    yield Line(f"{label}: memory of router and index", resident_mb() - before, "MB")
    alone, routed, single = anyio.run(_one_after_the_other, router, embedder, requests)
    ratio = quantile(routed, 0.5) / quantile(alone, 0.5)
    yield Line(f"{label}: embedding one request", quantile(alone, 0.5) * 1e3, "ms")
    yield Line(f"{label}: warm route beside embedding alone", ratio, at_most=ROUTE_FLOORS.get(size))
    yield Line(f"{label}: p95 of route beside p50", quantile(routed, 0.95) / quantile(routed, 0.5), at_most=2)
    share = f"the other {1 - len(single) / len(routed):.0%} are embedded as a whole and in parts"
    yield Line(
        f"{label}: the same, requests with one wish", quantile(single, 0.95) / quantile(single, 0.5), "x", note=share
    )
    in_flight = anyio.run(_in_flight, router, requests)
    yield Line(
        f"{label}: throughput of {IN_FLIGHT} in flight beside one after the other", sum(routed) / in_flight, at_least=3
    )
    yield from _one_change(pool, router, embedder)
    with tempfile.TemporaryDirectory() as folder:
        yield Line(f"{label}: saving the index", timed(lambda: retriever.save(folder)), "s")
        loading = best_of(lambda: Retriever(catalog, embedder, index=folder), 3)
        yield Line(f"{label}: loading the saved index", loading, "s", at_most=2 if size <= 40_000 else None)


async def _one_after_the_other(
    router: Router, embedder: Embedder, requests: Sequence[str]
) -> tuple[list[float], list[float], list[float]]:
    """Seconds of embedding each request alone and of routing it, in turns; then of routing those with one wish."""
    for request in requests[:5]:
        await router.route(request)
    alone, routed, single = [], [], []
    for request in requests:
        alone.append(timed(lambda request=request: embedder.embed([request], "query")))  # type: ignore[misc]
        started = time.perf_counter()
        decision = await router.route(request)
        routed.append(time.perf_counter() - started)
        if len(decision.intent.parts) < 2:
            single.append(routed[-1])
    return alone, routed, single


async def _in_flight(router: Router, requests: Sequence[str]) -> float:
    """Seconds for all requests when `IN_FLIGHT` are on their way at any time."""
    waiting = iter(requests)

    async def client() -> None:
        for request in waiting:
            await router.route(request)

    started = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(IN_FLIGHT):
            tasks.start_soon(client)
    return time.perf_counter() - started


def _one_change(pool: Pool, router: Router, embedder: NearbyEmbedder) -> Iterator[Line]:
    """One tool of the catalog is replaced and found by its new words, one of which no other tool of any size has."""
    label, beyond = f"{len(pool.tools):,} tools", []
    counts = []
    for number in range(5):
        description = f"Calibrates the quarkometer {number} of the lab."
        tool = pool.tools[number * 7].model_copy(update={"description": description})
        request = f"calibrate quarkometer {number}"
        embedder.texts.clear()
        started = time.perf_counter()
        router.catalog.replace(tool)
        found = router.route_sync(request).candidates
        took = time.perf_counter() - started
        assert any(candidate.tool is tool for candidate in found), "the changed tool is not found"
        counts.append(len([text for text in embedder.texts if text != request]))
        alone = timed(lambda request=request: embedder.embed([request], "query"))  # type: ignore[misc]
        alone += timed(lambda tool=tool: embedder.inner.embed([tool_text(tool)], "tool"))  # type: ignore[misc]
        beyond.append(took - alone)
    yield Line(f"{label}: tools embedded after one change", max(counts), "", at_most=1, at_least=None)
    yield Line(f"{label}: one change beyond its embedding", quantile(beyond, 0.5) * 1e3, "ms", at_most=100)


def exported(data: Path, requests: Sequence[str]) -> Iterator[Line]:
    """The exported embedder beside its source, the default one that sentence-transformers runs."""
    plain, exact, rounded = default_embedder(), OnnxEmbedder(), OnnxEmbedder(precision="int8")
    texts = list(dict.fromkeys(tool_text(tool) for tool in pooled(data, BUILT_TEXTS).tools))
    embedders: tuple[Embedder, ...] = (plain, exact, rounded)
    for embedder in embedders:
        embedder.embed(requests[:3], "query")
    seconds: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for first in range(0, len(requests), BLOCK):
        block = requests[first : first + BLOCK]
        for at, embedder in enumerate(embedders):
            embedder.embed(block[:1], "query")
            seconds[at] += [timed(lambda e=embedder, r=request: e.embed([r], "query")) for request in block]  # type: ignore[misc]
    median = [quantile(seconds[at], 0.5) for at in range(3)]
    reference = np.concatenate([plain.embed(texts, "tool"), plain.embed(requests, "query")])
    built = [best_of(lambda e=embedder: e.embed(texts, "tool"), 2) for embedder in embedders]  # type: ignore[misc]
    yield Line("onnx fp32: one request, times as fast as plain", median[0] / median[1], at_least=2.5)
    yield Line("onnx int8: one request, times as fast as plain", median[0] / median[2])
    for name, embedder, at in (("fp32", exact, 1), ("int8", rounded, 2)):
        vectors = np.concatenate([embedder.embed(texts, "tool"), embedder.embed(requests, "query")])
        cosines = (vectors * reference).sum(axis=1)
        yield Line(f"onnx {name}: smallest cosine", cosines.min(), "", at_least=0.999 if name == "fp32" else None)
        yield Line(f"onnx {name}: mean cosine", cosines.mean(), "")
        floor = 2.0 if name == "int8" else None
        yield Line(f"onnx {name}: index built, times as fast as plain", built[0] / built[at], at_least=floor)
    lost = []
    for folder in sorted(path.parent for path in data.glob("*/queries.jsonl") if path.stat().st_size):
        if (plain_recall := _recall(folder, plain)) is not None:
            lost.append((_recall(folder, rounded) or 0.0) - plain_recall)
            yield Line(f"onnx int8: recall@5 on {folder.name} beside plain", 100 * lost[-1], "points")
    yield Line("onnx int8: mean change of recall@5", 100 * float(np.mean(lost)), "points", at_least=-0.5)


def _recall(folder: Path, embedder: Embedder) -> float | None:
    """Recall@5 on the first labelled English requests of a folder; None when it has too few."""
    catalog = load_catalog(folder, strict=False)
    queries = [query for query in load_queries(folder) if query.tools and query.query.isascii()][:LABELLED]
    if len(queries) < 50 or len(catalog) > 2_000:
        return None
    found = Retriever(catalog, embedder).search_many([query.query for query in queries], 5)
    hits = [
        sum(name in {candidate.name for candidate in candidates} for name in query.tools) / len(query.tools)
        for query, candidates in zip(queries, found, strict=True)
    ]
    return float(np.mean(hits))


def cold(data: Path, request: str) -> Iterator[Line]:
    """A fresh process with the exported model and a saved index: from nothing to the answer."""
    with tempfile.TemporaryDirectory() as folder:
        tools = pooled(data, 1_000).tools
        catalog, index = Path(folder) / "tools.jsonl", Path(folder) / "index"
        save_tools(catalog, tools)
        command = [sys.executable, "-m", "toolpath.console.app"]
        options = ["--index", str(index), "--embedder", "onnx"]
        index_it = [*command, "index", str(catalog), "-o", str(index), "--embedder", "onnx"]
        subprocess.run(index_it, check=True, capture_output=True)
        route = [*command, "route", str(catalog), request, *options]
        seconds = best_of(lambda: subprocess.run(route, check=True, capture_output=True), 3)
    yield Line("cold `toolpath route` with onnx, 1,000 tools in a saved index", seconds, "s", at_most=2)


def searching(size: int, seed: int = 0) -> Iterator[Line]:
    """Exact and approximate search among `size` vectors of 384 numbers in clusters, one query at a time."""
    import faiss

    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((size // 50, 384), np.float32)
    vectors = _unit(centres[generator.integers(len(centres), size=size)] + generator.standard_normal((size, 384)))
    queries = _unit(vectors[generator.integers(size, size=50)] + 0.5 * generator.standard_normal((50, 384)) / 384**0.5)
    label = f"{size:,} vectors"
    flat = faiss.IndexFlatIP(384)
    flat.add(vectors)
    exact = flat.search(queries, 10)[1]
    ours = FaissIndex(384)
    ours.put([str(at) for at in range(size)], vectors)
    yield Line(f"{label}: all scores, our index", _each(queries, ours.scores), "ms")
    yield Line(f"{label}: all scores, plain numpy", _each(queries, lambda query: vectors @ query[0]), "ms")
    kernel = faiss.METRIC_INNER_PRODUCT
    by_kernel = _each(queries, lambda query: faiss.pairwise_distances(query, vectors, kernel))
    yield Line(f"{label}: all scores, FAISS's distance kernel", by_kernel, "ms")
    yield Line(f"{label}: best 10, FAISS flat", _each(queries, lambda query: flat.search(query, 10)), "ms")
    if size < APPROXIMATE_FROM:
        return
    cells = int(4 * size**0.5)
    lists = faiss.IndexIVFFlat(faiss.IndexFlatIP(384), 384, cells, kernel)
    graph = faiss.IndexHNSWFlat(384, 32, kernel)
    graph.hnsw.efSearch = 128
    for name, index in (("IVF, 16 cells visited", lists), ("HNSW, 32 links, efSearch 128", graph)):
        before, built = resident_mb(), timed(lambda index=index: (index.train(vectors), index.add(vectors)))  # type: ignore[misc]
        lists.nprobe = 16
        found = index.search(queries, 10)[1]
        same = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(exact, found, strict=True)])
        took = _each(queries, lambda query, index=index: index.search(query, 10))  # type: ignore[misc]
        note = f"finds {same:.0%} of the best 10, built in {built:.0f} s, {resident_mb() - before:.0f} MB"
        yield Line(f"{label}: best 10, {name}", took, "ms", note=note)


def _each(queries: Vectors, search: object) -> float:
    """Milliseconds of the median query, asked alone."""
    assert callable(search)
    return quantile([timed(lambda q=query: search(q[np.newaxis])) for query in queries], 0.5) * 1e3  # type: ignore[misc]


def _unit(vectors: np.ndarray) -> Vectors:
    return np.ascontiguousarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


__all__ = ["cold", "exported", "requests_of", "routing", "searching"]
