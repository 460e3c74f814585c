"""What stage 3's model adds to a ranking, and what the ranking saves the model: three arms over the same requests.

    python benchmarks/llm_stage.py --data ../shared/data/metatool_single --model NAME --base-url URL

Arm `retrieval` picks with stages 1 and 2 alone, `three` shows their best k tools to the model, `all` shows it every
tool of the catalog. Each answer is kept in the state file at once: a run that was stopped goes on where it was, and
asks the model only what is missing. The arms take turns after every 20 requests, so that a stopped run has all of them
on the same ones; within such a block the prompt of `all` begins with the same tools and stays in the server's cache.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
from llm_stage_state import ALL, ARMS, RETRIEVAL, THREE, Answer, State, prompt_digest, shown_digest
from llm_stage_table import Answers, differences_of, lines_of, page_of, readings_of
from measuring import command_line, machine
from platformdirs import user_cache_path
from toolpath.catalog import Catalog, load_catalog
from toolpath.catalog.errors import ToolpathError
from toolpath.router import LLMSelector, RankSelector, Retriever, Router, RoutingDecision
from toolpath.router.embedding.named import embedder_named
from toolpath.router.evaluation import Query, load_queries, resolve_names, sample
from toolpath.router.records import Intent
from toolpath.router.selection.offer import with_pinned

RESULTS = Path(__file__).parent / "results"
STATE = user_cache_path("toolpath") / "benchmarks" / "llm_stage.jsonl"
REQUESTS = 100
K = 10
DEADLINE = 600.0
BLOCK = 20
"""Requests after which the arms take turns."""
PROBE_SECONDS = 5.0
ANSWER_TOKENS = 1_000
"""Written by the model at most: a small model that repeats itself would go on until the deadline."""


class NoServerError(Exception):
    """Nothing answers at the base URL."""


@dataclass(frozen=True)
class Bench:
    """What the arms of a run have in common.

    Attributes:
        catalog: the tools.
        queries: the requests, in the order in which they are asked.
        decisions: what stages 1 and 2 made of each, and the ranking's selection, by the request's id.
        ranking: the product's selector without a model.
        selector: the model, without the ranking's vote; None when no arm needs it.
        base_url: the model's server; None for a provider's.
        state: the answers.
        retry: whether what failed in an earlier run is asked again.
    """

    catalog: Catalog
    queries: Sequence[Query]
    decisions: Mapping[str, RoutingDecision]
    ranking: RankSelector
    selector: LLMSelector | None
    base_url: str | None
    state: State
    retry: bool = False

    def shown(self, arm: str, query: Query) -> str:
        """Digest of the request and of the tools that the arm can pick."""
        names = [tool.name for tool in self.catalog] if arm == ALL else _offered(self.decisions[query.id])
        return shown_digest(query.request, names)

    def kept(self, arm: str) -> Answers:
        """The arm's answers by now."""
        found = ((query.id, self.state.get(arm, query.id, self.shown(arm, query))) for query in self.queries)
        return {key: answer for key, answer in found if answer is not None}

    async def answer(self, arm: str, query: Query) -> Answer:
        """Asks an arm.

        Raises:
            NoServerError: the model failed and its server is gone, which is no answer to this request.
        """
        if arm == RETRIEVAL:
            return self._ranked(query)
        assert self.selector is not None
        decision = self.decisions[query.id]
        offered, intent = decision.offered, decision.intent
        if arm == ALL:  # as pinned ones: in the catalog's order, without a score, at the stable beginning of the prompt
            offered, intent = tuple(with_pinned([], self.catalog)), Intent(parts=(query.request,))
        started = time.perf_counter()
        selection = await self.selector.select(query.request, offered, intent)
        seconds = time.perf_counter() - started
        failed = selection.model_failed
        if failed and self.base_url is not None:
            await anyio.to_thread.run_sync(check_server, self.base_url)
        found = decision.timings["intent"] + decision.timings["retrieval"] if arm == THREE else 0.0
        return Answer(
            arm,
            query.id,
            calls=() if failed else tuple(call.tool for call in selection.calls),
            none=selection.abstained and not failed,
            first=decision.candidates[0].name if arm == THREE and decision.candidates else "",
            failure=selection.reason.partition("; ")[0] if failed else "",
            reason=selection.reason,
            input_tokens=selection.usage.input_tokens,
            output_tokens=selection.usage.output_tokens,
            asked=selection.usage.requests,
            seconds=round(seconds + found / 1e3, 4),
            shown=self.shown(arm, query),
        )

    def _ranked(self, query: Query) -> Answer:
        decision = self.decisions[query.id]
        return Answer(
            RETRIEVAL,
            query.id,
            calls=tuple(call.tool for call in decision.calls),
            none=decision.abstained,
            first=decision.candidates[0].name if decision.candidates else "",
            reason=decision.selection.reason,
            seconds=round(decision.timings["total"] / 1e3, 4),
            shown=self.shown(RETRIEVAL, query),
        )

    async def run_block(self, block: Sequence[Query], arms: Sequence[str]) -> int:
        """Asks every arm what is missing of these requests, one arm after the other; how much that was."""
        asked = 0
        for arm in arms:
            for query in block:
                kept = self.state.get(arm, query.id, self.shown(arm, query))
                if kept is not None and not (self.retry and kept.failure):
                    continue
                answer = await self.answer(arm, query)
                self.state.add(answer)
                asked += 1
                if arm != RETRIEVAL:
                    said = answer.failure or ", ".join(answer.calls) or "none"
                    _note(f"{arm} {query.id}: {said} ({answer.seconds:.1f} s, {answer.input_tokens} tokens)")
        return asked


def _offered(decision: RoutingDecision) -> list[str]:
    return [candidate.name for candidate in decision.offered]


async def run(bench: Bench, options: argparse.Namespace, about: dict[str, Any]) -> dict[str, Any]:
    """Asks all that is missing, and writes the results after every block in which something was; the last report."""
    for start in range(0, len(bench.queries), BLOCK):
        if await bench.run_block(bench.queries[start : start + BLOCK], options.arms):
            write(await report_of(bench, options.arms, about), options.out)
    report = await report_of(bench, options.arms, about)
    write(report, options.out)
    return report


async def report_of(bench: Bench, arms: Sequence[str], about: dict[str, Any]) -> dict[str, Any]:
    """Everything that was measured, and under which conditions."""
    kept = {arm: bench.kept(arm) for arm in arms}
    lines = lines_of(await readings_of(kept, bench.queries, bench.decisions, bench.ranking), bench.queries)
    failures = Counter(f"{arm}: {one.failure}" for arm in arms for one in kept[arm].values() if one.failure)
    offered = {query.id: set(_offered(bench.decisions[query.id])) for query in bench.queries}
    shortlisted = [any(gold.accepted & offered[query.id] for gold in query.gold) for query in bench.queries]
    return {
        **about,
        "requests": len(bench.queries),
        "common": len(lines[0].right),
        "shortlisted": round(sum(shortlisted) / len(shortlisted), 4),
        "arms": [line.to_dict() for line in lines],
        "differences": differences_of(lines),
        "failures": dict(failures.most_common()),
        "machine": {**machine(), "pydantic-ai": _version_of_pydantic_ai()},
    }


def write(report: dict[str, Any], folder: Path) -> None:
    """The table as Markdown and as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    data = json.dumps(report, ensure_ascii=False, indent=2)
    (folder / "llm_stage.json").write_text(data + "\n", encoding="utf-8")
    (folder / "llm_stage.md").write_text(page_of(report), encoding="utf-8")


def check_server(base_url: str) -> None:
    """Makes sure that something listens at the base URL.

    Raises:
        NoServerError: nothing does, or the URL has no host.
    """
    parts = urlsplit(base_url)
    why = "it has no host"
    if parts.hostname:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            socket.create_connection((parts.hostname, port), PROBE_SECONDS).close()
            return
        except OSError as error:
            why = str(error)
    raise NoServerError(
        f"no server answers at {base_url} ({why}). Start an OpenAI-compatible one first, with room for the whole "
        f"catalog in its context, for instance 'llama-server -m MODEL.gguf --port 8080 -c 32768' for "
        f"--base-url http://127.0.0.1:8080/v1; what is finished is kept, the same command goes on from there"
    )


def requests_of(folder: Path, catalog: Catalog, size: int) -> list[Query]:
    """A seeded sample of the set's requests that want a tool, in a seeded order: a stopped run is a sample, too.

    Raises:
        SystemExit: no request wants a tool.
    """
    queries = [query for query in resolve_names(load_queries(folder), catalog) if query.gold]
    if not queries:
        raise SystemExit(f"{folder} holds no labelled request that wants a tool")
    chosen = sample(queries, size)
    random.Random(0).shuffle(chosen)
    return chosen


async def routed(router: Router, queries: Sequence[Query], k: int) -> dict[str, RoutingDecision]:
    """What stages 1 and 2 make of each request, one at a time for the seconds; the first one warms up."""
    await router.route(queries[0].request, k)
    return {query.id: await router.route(query.request, k) for query in queries}


def opened(options: argparse.Namespace, command: str) -> tuple[Bench, dict[str, Any]]:
    """The run that the options ask for, and what the report says about it.

    Raises:
        NoServerError: the model's server does not listen.
        ToolpathError: catalog, requests, embedder or model cannot be used.
    """
    asks_model = bool({THREE, ALL} & set(options.arms))
    if asks_model and options.base_url is not None:
        check_server(options.base_url)
    catalog = load_catalog(str(options.data))
    queries = requests_of(options.data, catalog, options.requests)
    retriever = Retriever(catalog, embedder_named(options.embedder))
    retriever.refresh()  # an embedder that fails stops here: a router would go on with words alone
    ranking = RankSelector(catalog, retriever)
    router = Router(catalog, retriever=retriever, selector=ranking)
    selector = None
    if asks_model:
        selector = LLMSelector(
            options.model,
            base_url=options.base_url,
            timeout=options.deadline,
            settings={"temperature": 0.0, "max_tokens": ANSWER_TOKENS},  # the same answer again, and an end to it
            vote=False,
        )
    settings = {
        "set": options.data.resolve().name,
        "catalog": catalog.digest,
        "embedder": retriever.embedder.fingerprint,
        "k": options.k,
        "model": options.model,
        "prompt": prompt_digest(catalog),
    }
    state = State(options.state, settings)
    for reason, rows in state.ignored.items():
        _note(f"{options.state}: {rows:,} rows ignored: {reason}")
    decisions = anyio.run(routed, router, queries, options.k)
    bench = Bench(catalog, queries, decisions, ranking, selector, options.base_url, state, options.retry_failed)
    about = {**settings, "tools": len(catalog), "embedder": repr(retriever.embedder), "command": command}
    return bench, {**about, "fingerprint": settings["embedder"], "deadline": options.deadline}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the arms and prints the table."""
    options = _options(arguments)
    command = command_line("benchmarks/llm_stage.py", sys.argv[1:] if arguments is None else arguments)
    try:
        bench, about = opened(options, command)
        report = anyio.run(run, bench, options, about)
    except (NoServerError, ToolpathError) as error:
        raise SystemExit(f"error: {error}") from error
    print(json.dumps(report, ensure_ascii=False, indent=2) if options.json else page_of(report))


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _version_of_pydantic_ai() -> str:
    for package in ("pydantic-ai-slim", "pydantic-ai"):
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    return "absent"


def _arms(text: str) -> list[str]:
    named = {name.strip() for name in text.split(",")}
    if unknown := sorted(named - set(ARMS)):
        raise argparse.ArgumentTypeError(f"{', '.join(map(repr, unknown))}: the arms are {', '.join(ARMS)}")
    return [arm for arm in ARMS if arm in named]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="a tools.jsonl and a queries.jsonl")
    parser.add_argument("--model", metavar="NAME", help="a pydantic-ai name, or a model behind --base-url")
    parser.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server, with its /v1")
    parser.add_argument("--requests", type=int, default=REQUESTS, metavar="N", help=f"a sample (default {REQUESTS})")
    parser.add_argument("--k", type=int, default=K, help=f"tools that stage 2 finds for the model (default {K})")
    parser.add_argument("--arms", type=_arms, default=list(ARMS), metavar="A,B", help=f"default {','.join(ARMS)}")
    parser.add_argument("--embedder", default="default", metavar="NAME", help="as for toolpath bench")
    parser.add_argument(
        "--deadline", type=float, default=DEADLINE, metavar="SECONDS", help=f"for one request (default {DEADLINE:.0f})"
    )
    parser.add_argument("--state", type=Path, default=STATE, metavar="FILE", help=f"the answers (default {STATE})")
    parser.add_argument("--retry-failed", action="store_true", help="ask again what failed in an earlier run")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="where the table is written")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    options = parser.parse_args(arguments)
    if options.k < 1:
        parser.error("--k must be at least 1")
    if options.model is None and set(options.arms) != {RETRIEVAL}:
        parser.error("arms three and all need a model: name one with --model, and its server with --base-url")
    return options


if __name__ == "__main__":
    main()
