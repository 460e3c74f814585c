"""Runs a router over labelled requests and scores what it decides."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TypedDict, Unpack

import anyio
import anyio.to_thread

from ...catalog import Catalog
from ..decision import RoutingDecision
from ..router import Router
from .outcomes import confusions, judge
from .queries import Query, QueryError, check_field, resolve_names
from .report import BenchReport, Tokens
from .scores import Scores, score

CUTOFFS = (1, 3, 5, 10)
LATENCY_SAMPLE = 50
BATCH = 128
"""Requests per `route_many`: large enough to embed well, small enough to show progress."""

NO_VALUE = "(none)"
"""Group of the requests that lack the field of a breakdown."""

Progress = Callable[[int, int], None]


class EvaluateOptions(TypedDict, total=False):
    """The options of `evaluate`, for those who pass them on."""

    k: int
    candidates: bool
    by: Sequence[str] | None
    latency_sample: int
    seed: int
    progress: Progress | None


async def evaluate(
    router: Router,
    queries: Sequence[Query],
    *,
    k: int = max(CUTOFFS),
    candidates: bool = False,
    by: Sequence[str] | None = None,
    latency_sample: int = LATENCY_SAMPLE,
    seed: int = 0,
    progress: Progress | None = None,
) -> BenchReport:
    """Routes every request and compares the decisions with the labels.

    Of a conversation all of the user's turns are routed as one text (`Query.request`). Requests that no tool serves
    hold only against their own `candidates`: they are restricted to those where a row has them, whatever
    `candidates` says.

    Args:
        router: the router to score.
        queries: labelled requests, as `load_queries` reads them.
        k: candidates to ask the router for, which is also what stage 3 sees. Recall is given at 1, 3, 5 and 10 as
            far as `k` reaches, and at `k`.
        candidates: restrict every request to its own candidates; requests without are left out and counted.
        by: fields to break the scores down by; default: "lang", where requests have it. "category" falls back to
            the first gold tool's category when no request has such a field.
        latency_sample: requests to route one at a time, for the latency; the others are routed in batches.
        seed: of the bootstrap and of the latency sample.
        progress: called with the number of requests done and of all requests.

    Raises:
        QueryError: a label names a tool that the catalog does not have, no request is left, a request's candidates
            lack its gold tool, or no request has a field of `by`.
        EmbedderError: the embedder fails; a router would go on with words alone, a measurement must not.
        RoutingError: `k` is below 1.
    """
    resolved = resolve_names(queries, router.catalog)
    scored, left_out = _restrictable(resolved) if candidates else (resolved, {})
    if not scored:
        raise QueryError("no request is left to score" + (": none of them has candidates" if left_out else ""))
    if by is None:
        by = ("lang",) if any("lang" in query.fields for query in scored) else ()
    groups = {name: _grouped(scored, name, router.catalog) for name in by}
    await anyio.to_thread.run_sync(_embed_catalog, router)
    decisions, latencies = await _route_all(router, scored, k, candidates, latency_sample, seed, progress)
    outcomes = [
        judge(query, decision, router.catalog, within_candidates=_within(query, candidates) is not None)
        for query, decision in zip(scored, decisions, strict=True)
    ]
    cutoffs = tuple(sorted({n for n in CUTOFFS if n < k} | {k}))

    def summarise() -> tuple[Scores, dict[str, dict[str, Scores]]]:
        return score(outcomes, cutoffs, seed), {
            name: {value: score([outcomes[i] for i in places], cutoffs, seed) for value, places in values.items()}
            for name, values in groups.items()
        }

    scores, broken_down = await anyio.to_thread.run_sync(summarise)
    return BenchReport(
        scores=scores,
        by=broken_down,
        confused=confusions(outcomes),
        tokens=Tokens.of(outcomes),
        latencies=tuple(latencies),
        served_by=dict(Counter(outcome.decision.selection.served_by for outcome in outcomes).most_common()),
        left_out=left_out,
        conversations=sum(bool(query.history) for query in scored),
        outcomes=tuple(outcomes),
        k=k,
        cutoffs=cutoffs,
        tools=len(router.catalog),
        catalog_digest=router.catalog.digest,
        embedder=_embedder(router),
        within_candidates=candidates,
    )


def evaluate_sync(router: Router, queries: Sequence[Query], **options: Unpack[EvaluateOptions]) -> BenchReport:
    """`evaluate` for code without an event loop; takes and raises the same.

    Raises:
        RuntimeError: an event loop is running in this thread; use ``await evaluate(...)`` there.
    """
    return anyio.run(partial(evaluate, router, queries, **options))


async def _route_all(
    router: Router,
    queries: Sequence[Query],
    k: int,
    candidates: bool,
    latency_sample: int,
    seed: int,
    progress: Progress | None,
) -> tuple[list[RoutingDecision], list[float]]:
    """The decisions in order, and the milliseconds of those that were routed alone.

    No request is routed twice, so a model that costs money is asked once per request.
    """
    places = list(range(len(queries)))
    random.Random(seed).shuffle(places)
    # the first request pays for loading the model and building the index, so its time says nothing
    alone, batched = places[: latency_sample + 1], sorted(places[latency_sample + 1 :])
    decisions: dict[int, RoutingDecision] = {}
    latencies: list[float] = []

    def advance() -> None:
        if progress is not None:
            progress(len(decisions), len(queries))

    advance()
    for place in alone:
        started = time.perf_counter()
        decisions[place] = await router.route(queries[place].request, k, within=_within(queries[place], candidates))
        latencies.append((time.perf_counter() - started) * 1e3)
        advance()
    for start in range(0, len(batched), BATCH):
        chunk = batched[start : start + BATCH]
        texts = [queries[place].request for place in chunk]
        within = [_within(queries[place], candidates) for place in chunk]
        decisions.update(zip(chunk, await router.route_many(texts, k, within=within), strict=True))
        advance()
    return [decisions[place] for place in range(len(queries))], latencies[1:]


def _embed_catalog(router: Router) -> None:
    from ..retrieval import Retriever  # its modules are not needed for a retriever of the user's own

    if isinstance(router.retriever, Retriever):
        router.retriever.refresh()


def _embedder(router: Router) -> str:
    embedder = getattr(router.retriever, "embedder", None)
    if embedder is None:
        return "unknown"
    described = repr(embedder)
    return type(embedder).__name__ if described.startswith("<") else described


def _within(query: Query, candidates: bool) -> Collection[str] | None:
    """The only tools that the request may get, or None: all."""
    return query.candidates if candidates or query.expect_none else None


def _restrictable(queries: Sequence[Query]) -> tuple[list[Query], dict[str, int]]:
    """The requests that have candidates, and how many have none."""
    kept = [query for query in queries if query.candidates is not None]
    for query in kept:
        for gold in query.gold:
            if gold.accepted.isdisjoint(query.candidates or ()):
                raise QueryError(f"{query.where or query.id}: the gold tool {gold.name!r} is not among the candidates")
    without = len(queries) - len(kept)
    return kept, {"without candidates": without} if without else {}


def _grouped(queries: Sequence[Query], name: str, catalog: Catalog) -> Mapping[str, list[int]]:
    """Value of the field to the places of the requests that have it, the largest group first."""
    of_tool = name == "category" and not any(name in query.fields for query in queries)
    if not of_tool:
        check_field(queries, name)
    groups: dict[str, list[int]] = {}
    for place, query in enumerate(queries):
        value = _category(query, catalog) if of_tool else query.fields.get(name)
        groups.setdefault(_label(value), []).append(place)
    return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))


def _category(query: Query, catalog: Catalog) -> str | None:
    return catalog.get(query.tools[0]).category if query.tools else None


def _label(value: object) -> str:
    if value is None:
        return NO_VALUE
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
