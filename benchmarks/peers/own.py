"""The rows that run in our environment: Toolpath as it comes, Toolpath with plain MiniLM, and vectors alone."""

from __future__ import annotations

import math
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import anyio
import numpy as np
from toolpath.catalog import Catalog
from toolpath.router import Router
from toolpath.router.retrieval import Retriever

from .process import AdapterRun, Progress
from .records import Answer, digest_of_files
from .vectors import StoredEmbedder

REPOSITORY = Path(__file__).parents[2]
SOURCES = ("catalog", "router")


def run_toolpath(
    catalog: Catalog, requests: Sequence[str], embedder: StoredEmbedder, k: int, progress: Progress | None = None
) -> AdapterRun:
    """Routes one request after the other, as a user would, without a language model.

    Embedding may take as long as it takes: on a busy machine the retriever would else answer with words alone.
    """
    embedder.embed(requests, "query")
    texts, calls, waited, started = embedder.texts, embedder.calls, embedder.seconds, time.perf_counter()
    retriever = Retriever(catalog, embedder, deadline=math.inf)
    router = Router(catalog, retriever=retriever)
    retriever.refresh()
    index_seconds = time.perf_counter() - started - (embedder.seconds - waited)
    index_texts, index_calls = embedder.texts - texts, embedder.calls - calls

    async def route_all() -> tuple[Answer, ...]:
        answers = []
        for request in requests:
            texts, calls, waited, started = embedder.texts, embedder.calls, embedder.seconds, time.perf_counter()
            decision = await router.route(request, k)
            own = time.perf_counter() - started - (embedder.seconds - waited)
            embedded, called = embedder.texts - texts, embedder.calls - calls
            answers.append(Answer(decision.ranking[:k], max(own, 0.0), embedded, called))
            if progress is not None:
                progress(len(answers))
        return tuple(answers)

    return AdapterRun(index_seconds, index_texts, index_calls, anyio.run(route_all))


def run_dense(
    catalog: Catalog, requests: Sequence[str], embedder: StoredEmbedder, k: int, progress: Progress | None = None
) -> AdapterRun:
    """The tools whose "name: description" is nearest to the request: the least that an embedder gives."""
    tools = list(catalog)
    vectors = embedder.embed([f"{tool.name}: {tool.description}" for tool in tools], "tool")
    wanted = embedder.embed(requests, "query")
    answers = []
    for vector in wanted:
        started = time.perf_counter()
        nearest = np.argsort(-(vectors @ vector), kind="stable")[:k]
        names = tuple(tools[place].name for place in nearest)
        answers.append(Answer(names, time.perf_counter() - started, 1, 1))
        if progress is not None:
            progress(len(answers))
    return AdapterRun(0.0, len(tools), 1, tuple(answers))


def source_digest() -> str:
    """Digest of all that Toolpath's rows run: the sources of the catalog and the router, committed or not."""
    files = [path for folder in SOURCES for path in sorted((REPOSITORY / folder).rglob("*")) if path.is_file()]
    return digest_of_files([path for path in files if "__pycache__" not in path.parts])


def source_version() -> str:
    """The commit of the sources, for people, as ``toolpath 1a2b3c4``, with a word when they have changed since."""
    commit = _git("rev-parse", "--short", "HEAD")
    changed = _git("status", "--porcelain", "--", *SOURCES)
    return f"toolpath {commit or 'without git'}{' and changes' if changed else ''}"


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
