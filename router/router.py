"""The router: from a request to checked tool calls, through three stages that each explain themselves."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from ..catalog import Catalog, Tool
from ..catalog.errors import RoutingError
from .decision import RoutingDecision
from .dependencies import ClosureBudget, DependencyGraph, offered_beside
from .intent import IntentClassifier, RuleIntentClassifier
from .intent.parts import split
from .merging import search_wishes, split_as
from .records import Candidate, Intent, Selection, Usage
from .searching import SearchesTools
from .selection.offer import with_pinned
from .selection.protocol import Selector
from .selection.rank import RankSelector
from .tokens import CatalogCost

if TYPE_CHECKING:
    from .embedding import Embedder
    from .evaluation import Query
    from .evaluation.fitting import FitReport
    from .feedback import FeedbackStore
    from .reranking import RerankedSearch, Reranker
    from .splitting import Split, Splitter

T = TypeVar("T")

MAX_CONCURRENT_SELECTIONS = 4
"""Requests of one `route_many` that stage 3 works on at the same time: a model server is slow, not idle."""


class Router:
    """Finds the tools that serve a request and fills in their arguments.

    Args:
        catalog: the tools; changes are followed.
        classifier: stage 1; default: `RuleIntentClassifier` without rules of the user's own.
        retriever: stage 2; default: `Retriever` over the catalog.
        selector: stage 3; default: an `LLMSelector` when `model` is given, else `RankSelector`.
        model: a model for the default selector, as `LLMSelector` takes it ("openai:gpt-5-mini", a pydantic-ai
            model). Environment variables alone never switch a model on.
        embedder: for the default retriever; default: the MiniLM model that comes with Toolpath.
        index: folder for the default retriever's index: loaded when it is there, else made at once (which embeds
            every tool), and saved when tools changed; default: the index lives in memory.
        reranker: a slower model that reorders the best that stage 2 found, such as `reranking.CrossEncoderReranker`;
            default: none.
        feedback: outcomes of earlier calls, which reorder near-equal candidates; default: none. Record them with
            `FeedbackStore.record`.
        closure: how much of what the leading candidates need (`DependencyGraph`) is offered to stage 3 beside them;
            default: `ClosureBudget()`; ``ClosureBudget(picks=0)`` offers nothing.
        splitter: finds the wishes of a request in place of the rules, such as a `splitting.LLMSplitter`, which asks a
            model once more about each request that may hold several; default: none, not even when `model` is given.
        pinned: tools that stage 3 is always offered, whatever is found: names of the catalog's, or tools of your own
            that it does not have. A model sees them in this order at the stable beginning of its prompt; without a
            model they are never picked unless they rank first.

    Attributes:
        catalog: the tools.
        classifier: stage 1.
        retriever: stage 2.
        selector: stage 3.
        dependencies: which tools need which others' output.

    Raises:
        RoutingError: an argument is given that another one makes useless, or a pinned tool of your own has the name
            of another one.
        UnknownToolError: a pinned name is not in the catalog.

    Example:
        >>> decision = Router(catalog).route_sync("what is the weather in Oslo", k=3)
        >>> decision.calls[0].tool
        'get_weather'
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        classifier: IntentClassifier | None = None,
        retriever: SearchesTools | None = None,
        selector: Selector | None = None,
        model: Any = None,
        embedder: Embedder | None = None,
        index: str | Path | None = None,
        closure: ClosureBudget | None = None,
        reranker: Reranker | None = None,
        feedback: FeedbackStore | None = None,
        splitter: Splitter | None = None,
        pinned: Sequence[str | Tool] = (),
    ) -> None:
        if retriever is not None and (embedder is not None or index is not None):
            raise RoutingError(
                "embedder and index belong to the default retriever: give them to your retriever instead"
            )
        if selector is not None and model is not None:
            raise RoutingError("give either a selector or a model, not both")
        self.catalog = catalog
        self.classifier = classifier if classifier is not None else RuleIntentClassifier(catalog)
        self.retriever = retriever if retriever is not None else _default_retriever(catalog, embedder, index)
        self.selector = selector if selector is not None else self._default_selector(model)
        self.dependencies = DependencyGraph(catalog)
        self._budget = closure if closure is not None else ClosureBudget()
        self._reranker = reranker
        self._feedback = feedback
        self._splitter = splitter
        self._cost = CatalogCost(catalog)
        self._pinned = _checked_pinned(pinned, catalog)

    async def route(self, request: str, k: int = 5, *, within: Collection[str] | None = None) -> RoutingDecision:
        """Routes one request.

        Args:
            request: what the user wants, in any language.
            k: candidates to find and to show to stage 3; more than the catalog has is fine.
            within: names of the only tools that may be found, such as those that a caller may use; None: all.

        Returns:
            The decision; when no tool fits, it is `abstained` and has no calls.

        Raises:
            RoutingError: the request is blank, `k` is below 1, or `within` names an unknown tool.
        """
        return (await self.route_many([request], k, within=[within]))[0]

    async def route_many(
        self, requests: Sequence[str], k: int = 5, *, within: Sequence[Collection[str] | None] | None = None
    ) -> list[RoutingDecision]:
        """Routes many requests; stages 1 and 2 handle them as one batch.

        Timings of stages 1 and 2 are each request's equal share of the batch.

        Args:
            requests: the users' texts.
            k: candidates per request.
            within: for each request, the names of the only tools that may be found, or None: all.

        Raises:
            RoutingError: a request is blank (the message has its position), `k` is below 1, or `within` has
                another length than `requests` or names an unknown tool.
        """
        _check(requests, k)
        if within is None:
            within = [None] * len(requests)
        own = {tool.name for tool in self._pinned if isinstance(tool, Tool)}
        allowed = [_allowed(names, self.catalog, own) for names in within]
        if len(allowed) != len(requests):
            raise RoutingError(f"within must say something for each of {len(requests)} requests, has {len(allowed)}")
        if not requests:
            return []
        if not len(self.catalog):
            return [_nothing_to_choose_from(request, k) for request in requests]
        started = time.perf_counter()
        splits = await self._split(requests)
        asked = time.perf_counter() - started
        prepared = await anyio.to_thread.run_sync(self._prepare, list(requests), k, allowed, splits, asked)
        decisions: list[RoutingDecision | None] = [None] * len(prepared)
        limiter = anyio.CapacityLimiter(MAX_CONCURRENT_SELECTIONS)

        async def decide(place: int, draft: RoutingDecision) -> None:
            async with limiter:
                decisions[place] = await self._decide(draft)

        if len(prepared) == 1:  # without a task group: an exception of a selector comes out as itself
            return [await self._decide(prepared[0])]
        async with anyio.create_task_group() as tasks:
            for place, draft in enumerate(prepared):
                tasks.start_soon(decide, place, draft)
        return [decision for decision in decisions if decision is not None]

    def route_sync(self, request: str, k: int = 5) -> RoutingDecision:
        """`route` for code without an event loop.

        Raises:
            RoutingError: as `route`, and when an event loop is running in this thread.
        """
        return self._run(lambda: self.route(request, k))

    def route_many_sync(self, requests: Sequence[str], k: int = 5) -> list[RoutingDecision]:
        """`route_many` for code without an event loop; raises like `route_sync`."""
        return self._run(lambda: self.route_many(requests, k))

    async def fit(self, queries: Sequence[Query], *, k: int = 5, held_out: float = 0.4) -> FitReport:
        """Chooses the weights of meaning, words and parameters on labelled requests of this catalog's users.

        A part of the requests chooses, the others judge; the weights change only if they win there, and live as long
        as the retriever (`toolpath fit` keeps them beside the index).

        Args:
            queries: labelled requests, as `evaluation.load_queries` reads them; a hundred or more.
            k: recall at this rank decides.
            held_out: share of the requests that judge, between 0 and 1.

        Raises:
            RoutingError: the retriever has no such weights, or the requests are too few or name unknown tools.
            EmbedderError: the embedder fails.
            ValueError: `k` or `held_out` is out of range.
        """
        from .evaluation.fitting import fit_weights
        from .retrieval import Retriever

        if not isinstance(self.retriever, Retriever):
            raise RoutingError(f"a {type(self.retriever).__name__} has no weights that could be fitted")
        work = partial(fit_weights, self.retriever, queries, self.catalog, self.classifier, k=k, held_out=held_out)
        return await anyio.to_thread.run_sync(work)

    def fit_sync(self, queries: Sequence[Query], *, k: int = 5, held_out: float = 0.4) -> FitReport:
        """`fit` for code without an event loop; raises the same, and RoutingError where a loop is running."""
        return self._run(lambda: self.fit(queries, k=k, held_out=held_out))

    def _run(self, work: Callable[[], Awaitable[T]]) -> T:
        if _loop_is_running():
            raise RoutingError("an event loop is running in this thread: use 'await router.route(...)' instead")
        made: list[T] = []

        async def main() -> None:
            made.append(await work())  # not returned: asyncio makes a repr of the main task's result as it ends

        anyio.run(main)
        return made[0]

    async def _split(self, requests: Sequence[str]) -> list[Split | None]:
        """What the splitter makes of each request; None for each without one."""
        splits: list[Split | None] = [None] * len(requests)
        splitter = self._splitter
        if splitter is None:
            return splits
        limiter = anyio.CapacityLimiter(MAX_CONCURRENT_SELECTIONS)

        async def one(place: int) -> None:
            async with limiter:
                splits[place] = await splitter.split(requests[place], split(requests[place]))

        if len(requests) == 1:  # without a task group: an exception of a splitter comes out as itself
            await one(0)
            return splits
        async with anyio.create_task_group() as tasks:
            for place in range(len(requests)):
                tasks.start_soon(one, place)
        return splits

    def _prepare(
        self,
        requests: list[str],
        k: int,
        allowed: list[frozenset[str] | None],
        splits: list[Split | None],
        asked: float,
    ) -> list[RoutingDecision]:
        """Stages 1 and 2 for a batch, in a worker thread; `asked` are the seconds that the splitter took."""
        started = time.perf_counter()
        intents = [
            split_as(replace(self.classifier.classify(request), within=names), made)
            for request, names, made in zip(requests, allowed, splits, strict=True)
        ]
        classified = time.perf_counter()
        reranking = None if self._reranker is None else _reranked_search(self.retriever, self._reranker)
        search = self.retriever if reranking is None else reranking
        found, intents = search_wishes(search, requests, k, intents, self.classifier.classify)
        if self._feedback is not None:
            found = [self._feedback.rerank(candidates) for candidates in found]
        searched = time.perf_counter()
        took = {"intent": asked + classified - started, "retrieval": searched - classified}
        if reranking is not None:
            took = {**took, "retrieval": took["retrieval"] - reranking.seconds, "rerank": reranking.seconds}
        timings = {stage: seconds * 1e3 / len(requests) for stage, seconds in took.items()}
        return [
            _charged(self._draft(request, tuple(candidates), intent, timings, k), made)
            for request, candidates, intent, made in zip(requests, found, intents, splits, strict=True)
        ]

    def _offered(self, intent: Intent) -> list[Tool]:
        """The pinned tools as they are now: one that left the catalog is gone, one that the caller forbids too."""
        tools = (self.catalog.find(pinned) if isinstance(pinned, str) else pinned for pinned in self._pinned)
        return [tool for tool in tools if tool is not None and (intent.within is None or tool.name in intent.within)]

    def _draft(
        self, request: str, candidates: tuple[Candidate, ...], intent: Intent, timings: dict[str, float], k: int
    ) -> RoutingDecision:
        size = len(self.catalog)
        closure = offered_beside(candidates, intent, self.catalog, self.dependencies, self._budget, self._cost.of)
        return RoutingDecision(
            request=request,
            calls=(),
            candidates=candidates,
            intent=intent,
            selection=Selection(),
            abstained=True,
            usage=Usage(
                shown_tokens=sum(self._cost.of(candidate.tool) for candidate in (*candidates, *closure)),
                catalog_tokens=self._cost.total(),
            ),
            timings=timings,
            k=k,
            catalog_size=size,
            eligible=sum(map(intent.keeps, self.catalog)) if intent.narrowed else size,
            closure=closure,
        )

    async def _decide(self, draft: RoutingDecision) -> RoutingDecision:
        """Stage 3 for one request."""
        started = time.perf_counter()
        pinned = () if isinstance(self.selector, RankSelector) else self._offered(draft.intent)
        offered = with_pinned(draft.offered, pinned)
        selection = await self.selector.select(draft.request, offered, draft.intent)
        took = (time.perf_counter() - started) * 1e3
        return replace(
            draft,
            calls=selection.calls,
            selection=selection,
            abstained=selection.abstained,
            usage=draft.usage.plus(selection.usage),
            timings={**draft.timings, "selection": took, "total": sum(draft.timings.values()) + took},
        )

    def _default_selector(self, model: Any) -> Selector:
        ranking = RankSelector(self.catalog, self.retriever)
        if model is None:
            return ranking
        from .selection.llm import LLMSelector

        return LLMSelector(model, fallback=ranking)


def _charged(draft: RoutingDecision, made: Split | None) -> RoutingDecision:
    """The draft with what splitting cost."""
    return draft if made is None else replace(draft, usage=draft.usage.plus(made.usage))


def _loop_is_running() -> bool:
    try:
        anyio.current_time()
    except RuntimeError:
        return False
    return True


def _check(requests: Sequence[str], k: int) -> None:
    if isinstance(requests, str):
        raise RoutingError("route_many takes a list of requests; for one request use route")
    if k < 1:
        raise RoutingError(f"k must be at least 1, is {k}")
    for place, request in enumerate(requests):
        if not isinstance(request, str):
            raise RoutingError(f"a request must be text, is of type {type(request).__name__}")
        if not request.strip():
            where = f" (number {place} of the list)" if len(requests) > 1 else ""
            raise RoutingError(f"the request is blank{where}: there is nothing to route")


def _checked_pinned(pinned: Sequence[str | Tool], catalog: Catalog) -> tuple[str | Tool, ...]:
    if isinstance(pinned, str):
        raise RoutingError(f"pinned takes a list of tools, got the text {pinned!r}")
    names = [catalog.get(one).name if isinstance(one, str) else one.name for one in pinned]
    for one, name in zip(pinned, names, strict=True):
        if names.count(name) > 1:
            raise RoutingError(f"{name!r} is pinned twice")
        if isinstance(one, Tool) and name in catalog:
            raise RoutingError(f"the catalog has a tool called {name!r} already: pin it by its name, or rename yours")
    return tuple(name if isinstance(one, str) else one for one, name in zip(pinned, names, strict=True))


def _allowed(names: Collection[str] | None, catalog: Catalog, own: Collection[str] = ()) -> frozenset[str] | None:
    if names is None:
        return None
    if isinstance(names, str):
        raise RoutingError(f"within takes a list of names, got the text {names!r}")
    unknown = sorted(name for name in names if name not in catalog and name not in own)
    if unknown:
        raise RoutingError(f"within names tools that the catalog does not have: {', '.join(map(repr, unknown[:5]))}")
    return frozenset(name if name in own else catalog.get(name).name for name in names)


def _nothing_to_choose_from(request: str, k: int) -> RoutingDecision:
    selection = Selection(abstained=True, reason="the catalog is empty")
    return RoutingDecision(
        request=request,
        calls=(),
        candidates=(),
        intent=Intent(parts=(request,)),
        selection=selection,
        abstained=True,
        timings={"intent": 0.0, "retrieval": 0.0, "selection": 0.0, "total": 0.0},
        k=k,
    )


def _reranked_search(retriever: SearchesTools, reranker: Reranker) -> RerankedSearch:
    from .reranking import RerankedSearch

    return RerankedSearch(retriever, reranker)


def _default_retriever(catalog: Catalog, embedder: Embedder | None, index: str | Path | None) -> SearchesTools:
    from .retrieval import Retriever, open_retriever

    return Retriever(catalog, embedder) if index is None else open_retriever(catalog, index, embedder)
