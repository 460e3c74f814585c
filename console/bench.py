"""`toolpath bench`: how well the tools of a catalog are found for labelled requests, as tables or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ..router import Router, RuleIntentClassifier, load_rules
from ..router.evaluation import (
    BenchReport,
    Outcome,
    Query,
    Scores,
    evaluate_sync,
    load_queries,
    sample,
    where_fields,
)
from ..router.explain import printable
from .options import (
    BaseUrlOption,
    CatalogArgument,
    EmbedderOption,
    IndexOption,
    JsonOption,
    LenientOption,
    ModelOption,
    open_catalog,
    open_embedder,
    open_index,
    open_selector,
)
from .output import ERR, OUT, fail, note, print_json

MAIN_CUTOFF = 5
"""The recall whose interval is shown in a breakdown."""

MAX_PAIRS = 10
MAX_GROUPS = 20
MAX_NAME_SHOWN = 44
MAX_EXAMPLE_SHOWN = 60

_STAGES = {
    "stages.chosen": "chosen",
    "stages.lost_by_intent": "lost by stage 1 (intent dropped it)",
    "stages.lost_by_retrieval": "lost by stage 2 (not among the candidates)",
    "stages.lost_by_selection": "lost by stage 3 (another tool was chosen)",
    "stages.lost_by_refusal": 'lost by stage 3 ("none fits")',
}
_ABSTENTION = {
    "abstention.precision": "refusals that were right (precision)",
    "abstention.recall": "unanswerable requests refused (recall)",
    "abstention.auroc": "fit score tells them apart (AUROC)",
    "abstention.false_refusal_rate": "answerable requests refused",
}
_ARGUMENTS = {
    "arguments.exact": "calls right in every argument",
    "arguments.per_argument": "arguments right",
}


def bench(
    catalog: CatalogArgument,
    queries: Annotated[
        Path, typer.Argument(metavar="QUERIES", help="A .jsonl file of labelled requests, or a folder with one.")
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="Candidates to find; stage 3 sees as many.")] = 10,
    candidates: Annotated[
        bool, typer.Option("--candidates", help="Let each request choose among its own candidates only.")
    ] = False,
    split: Annotated[
        str | None, typer.Option(help="Only requests of this split: short for --where split=NAME.")
    ] = None,
    where: Annotated[list[str] | None, typer.Option(help="Only requests with KEY=VALUE; may be repeated.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="A sample of this size; always the same one.")] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Field to break the scores down by; may be repeated. Default: lang.")
    ] = None,
    rules: Annotated[Path | None, typer.Option(help="A YAML file with intent rules of your own.")] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = None,
    index: IndexOption = None,
    lenient: LenientOption = False,
    errors: Annotated[Path | None, typer.Option(help="Write what became of every request, as JSON lines.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how well the right tools are found for labelled requests.

    QUERIES has one JSON object a line: {"id", "query", "tools": [names]}, or "expect_none": true when no tool fits.
    Optional: "tools_alt", "args", "args_accept", "candidates", "lang" and any field to filter or break down by.
    """
    tools = open_catalog(catalog, lenient=lenient)
    requests = _chosen(load_queries(queries), split, where or [], limit)
    if errors is not None and not errors.parent.is_dir():
        fail(f"cannot write {errors}: there is no folder {errors.parent}")
    retriever, _ = open_index(tools, index, open_embedder(embedder))
    router = Router(
        tools,
        classifier=RuleIntentClassifier(tools, load_rules(rules)) if rules is not None else None,
        retriever=retriever,
        selector=open_selector(model, base_url, tools),
    )
    with _progress() as advance:
        report = evaluate_sync(router, requests, k=k, candidates=candidates, by=by, progress=advance)
    if errors is not None:
        _write_errors(errors, report.outcomes)
    if as_json:
        print_json(report.to_dict())
    else:
        _show(report)


def _chosen(requests: list[Query], split: str | None, where: list[str], limit: int | None) -> list[Query]:
    conditions: dict[str, str] = {} if split is None else {"split": split}
    for condition in where:
        key, equals, value = condition.partition("=")
        if not equals or not key:
            fail(f"--where wants KEY=VALUE, got {condition!r}")
        if conditions.setdefault(key, value) != value:
            fail(f"--where {condition} contradicts {key}={conditions[key]}: no request can have both")
    kept = where_fields(requests, conditions)
    return kept if limit is None else sample(kept, limit)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    columns = (TextColumn("routing requests"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=ERR, transient=True) as bar:
        task = bar.add_task("", total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield advance


def _write_errors(path: Path, outcomes: tuple[Outcome, ...]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for outcome in outcomes:
            file.write(json.dumps(outcome.to_dict(), ensure_ascii=False) + "\n")
    wrong = sum(not outcome.ok for outcome in outcomes)
    note(f"wrote {len(outcomes)} requests to {path}; {wrong} of them are not entirely right")


def _show(report: BenchReport) -> None:
    scores = report.scores
    pool = "each request's own candidates" if report.within_candidates else f"a catalog of {report.tools:,} tools"
    OUT.print(Text(f"{scores.queries:,} requests over {pool}, {report.k} candidates each; {report.embedder}"))
    for reason, count in report.left_out.items():
        OUT.print(Text(f"left out: {count:,} requests {reason}"))
    if report.conversations:
        OUT.print(Text(f"{report.conversations:,} conversations: all turns of the user are routed as one text"))
    if scores.answerable:
        names = [f"{kind}@{n}" for kind in ("recall", "complete") for n in report.cutoffs]
        _show_measures("Ranking, end to end", scores, {**{name: name for name in names}, "mrr": "MRR"})
        _show_measures("What became of the gold tools", scores, _STAGES)
    if scores.counts["abstention.none_queries"] or scores.counts["abstention.abstained"]:
        _show_measures('Saying "none fits"', scores, _ABSTENTION)
    if scores.counts["arguments.calls"]:
        _show_measures(f"Arguments of {scores.counts['arguments.calls']:,} right calls", scores, _ARGUMENTS)
    for field, groups in report.by.items():
        _show_groups(field, groups, report.cutoffs)
    _show_confusions(report)
    _show_cost(report)


def _show_measures(title: str, scores: Scores, names: Mapping[str, str]) -> None:
    table = _table(title, "", "value", "95% interval")
    for name, label in names.items():
        table.add_row(Text(label), _number(scores[name]), _interval(scores, name))
    OUT.print(table)


def _show_groups(field: str, groups: Mapping[str, Scores], cutoffs: tuple[int, ...]) -> None:
    names = [f"recall@{n}" for n in cutoffs]
    watched = f"recall@{MAIN_CUTOFF}" if MAIN_CUTOFF in cutoffs else names[-1]
    none = any(scores.counts["abstention.none_queries"] for scores in groups.values())
    refusals = ["abstention.recall", "abstention.false_refusal_rate"] if none else []
    table = _table(
        f"By {field}",
        field,
        "requests",
        *names,
        f"95% of {watched}",
        "MRR",
        *["none found", "refused"][: len(refusals)],
    )
    for group, scores in list(groups.items())[:MAX_GROUPS]:
        table.add_row(
            _name(group),
            f"{scores.queries:,}",
            *(_number(scores[name]) for name in names),
            _interval(scores, watched),
            _number(scores["mrr"]),
            *(_number(scores[name]) for name in refusals),
        )
    OUT.print(table)
    if len(groups) > MAX_GROUPS:
        OUT.print(Text(f"and {len(groups) - MAX_GROUPS} smaller groups (--json has them all)"))


def _show_confusions(report: BenchReport) -> None:
    if not report.confused:
        return
    table = Table(title="Most confused tools", title_justify="left")
    for heading in ("wanted", "chosen", "times", "for instance"):
        table.add_column(heading, justify="right" if heading == "times" else "left", overflow="fold")
    for pair in report.confused[:MAX_PAIRS]:
        example = Text(printable(pair.example, MAX_EXAMPLE_SHOWN))
        table.add_row(_name(pair.gold), _name(pair.predicted), str(pair.count), example)
    OUT.print(table)


def _show_cost(report: BenchReport) -> None:
    tokens = report.tokens
    saved = f" ({tokens.shown / tokens.catalog:.1%} of it)" if tokens.catalog else ""
    OUT.print(
        Text(
            f"tokens     about {tokens.shown:,.0f} of schemas are shown per request, "
            f"the whole catalog has {tokens.catalog:,}{saved}"
        )
    )
    if tokens.model_requests:
        OUT.print(
            Text(
                f"model      {tokens.model_requests:,} calls, {tokens.model_input:,} tokens read, "
                f"{tokens.model_output:,} written"
            )
        )
    if report.p50 is not None and report.p95 is not None:
        OUT.print(
            Text(
                f"latency    p50 {report.p50:,.1f} ms, p95 {report.p95:,.1f} ms, over {len(report.latencies)} requests "
                "routed one at a time; the others went in batches"
            )
        )
    if len(report.served_by) > 1:
        served = ", ".join(f"{printable(name)} {count:,}" for name, count in report.served_by.items())
        OUT.print(Text(f"stage 3    answered by {served}"))


def _table(title: str, first: str, *numbers: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def _name(name: str) -> Text:
    return Text(printable(name, MAX_NAME_SHOWN))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _interval(scores: Scores, name: str) -> str:
    low_high = scores.intervals.get(name)
    return "-" if low_high is None else f"{low_high[0]:.3f} to {low_high[1]:.3f}"
