"""`toolpath bench`: how well the tools of a catalog are found for labelled requests, as tables or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ..router import Router, RuleIntentClassifier, load_rules
from ..router.calibration import expected_calibration_error
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
    RerankerOption,
    open_catalog,
    open_embedder,
    open_index,
    open_reranker,
    open_selector,
)
from .output import EXIT_NOT_OK, OUT, fail, note, print_json, progress, warn

MAIN_CUTOFF = 5
"""The recall whose interval is shown in a breakdown."""

MAX_PAIRS = 10
MAX_GROUPS = 20
MAX_NAME_SHOWN = 40
MAX_EXAMPLE_SHOWN = 60

_STAGES = {
    "stages.chosen": "chosen",
    "stages.lost_by_intent": "lost by stage 1 (intent dropped it)",
    "stages.lost_by_retrieval": "lost by stage 2 (not among the candidates)",
    "stages.lost_by_selection": "lost by stage 3 (another tool was chosen)",
    "stages.lost_by_refusal": 'lost by stage 3 ("none fits")',
}
_CLOSURE = {
    "closure.recall": "what it needs, offered to stage 3 (recall)",
    "closure.complete": "all that it needs, offered",
    "closure.offered": "tools offered to stage 3 (mean)",
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
    reranker: RerankerOption = None,
    index: IndexOption = None,
    lenient: LenientOption = False,
    errors: Annotated[Path | None, typer.Option(help="Write what became of every request, as JSON lines.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how well the right tools are found for labelled requests.

    QUERIES has one JSON object a line: {"id", "query", "tools": ["name"]}, or "expect_none": true if no tool fits.
    Optional: "tools_alt", "args", "args_accept", "candidates", "main_tool" (the one of the tools that does what is
    asked, the others being what it needs), "lang" and any field to filter or break down by.
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
        selector=open_selector(model, base_url, tools, retriever),
        reranker=open_reranker(reranker),
    )
    with progress("routing requests") as advance:
        report = evaluate_sync(router, requests, k=k, candidates=candidates, by=by, progress=advance)
    if as_json:
        print_json(report.to_dict())
    else:
        _show(report)
    if errors is not None:  # after the report, which a full disk must not cost
        _write_errors(errors, report.outcomes)
    if model is not None or base_url is not None:
        _check_model(report)


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


def _check_model(report: BenchReport) -> None:
    """Says on standard error when the ranking answered in the model's place.

    Raises:
        SystemExit: the model answered nothing at all, so the figures are not its own.
    """
    failures = [outcome.decision.selection for outcome in report.outcomes if outcome.decision.selection.model_failed]
    if failures:
        asked, reason = len(report.outcomes), printable(failures[0].reason, 200)
        warn(f"the model failed for {len(failures)} of {asked} requests, where the ranking answered: {reason}")
    if failures and len(failures) == len(report.outcomes):
        raise SystemExit(EXIT_NOT_OK)


def _write_errors(path: Path, outcomes: tuple[Outcome, ...]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for outcome in outcomes:
            file.write(json.dumps(outcome.to_dict(), ensure_ascii=False) + "\n")
    wrong = sum(not outcome.ok for outcome in outcomes)
    note(f"wrote {len(outcomes)} requests to {path}; {wrong} of them are not entirely right")


def _show(report: BenchReport) -> None:
    scores = report.scores
    pool = "each request's own candidates" if report.within_candidates else f"a catalog of {report.tools:,} tools"
    _say(f"{scores.queries:,} requests over {pool}, {report.k} candidates each; {printable(report.embedder)}")
    for reason, count in report.left_out.items():
        _say(f"left out: {count:,} requests {reason}")
    if report.conversations:
        _say(f"{report.conversations:,} conversations: all turns of the user are routed as one text")
    table = _table("value", "95% interval")
    for title, names in _measures(report):
        table.add_row()
        table.add_row(Text(title, style="bold"))
        for name, label in names.items():
            table.add_row(Text(f"  {label}"), _number(scores[name]), _interval(scores, name))
    OUT.print(table)
    for field, groups in report.by.items():
        OUT.print()
        _show_groups(field, groups, report.cutoffs)
    _show_reliability(report)
    _show_confusions(report)
    OUT.print()
    _show_cost(report)


def _measures(report: BenchReport) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Title and measures of each part of the table that has anything to say."""
    counts = report.scores.counts
    if report.scores.answerable:
        names = [f"{kind}@{n}" for kind in ("recall", "complete") for n in report.cutoffs]
        yield "Ranking, end to end", {**{name: name for name in names}, "mrr": "MRR"}
        yield "What became of the gold tools", _STAGES
    if counts["main.queries"]:
        main = {f"main.recall@{n}": f"main tool recall@{n}" for n in report.cutoffs}
        yield "The main tool, and what it needs", {**main, **_CLOSURE}
    if counts["abstention.none_queries"] or counts["abstention.abstained"]:
        yield 'Saying "none fits"', _ABSTENTION
    if counts["arguments.calls"]:
        yield f"Arguments of {counts['arguments.calls']:,} right calls", _ARGUMENTS


def _show_groups(field: str, groups: Mapping[str, Scores], cutoffs: tuple[int, ...]) -> None:
    watched = MAIN_CUTOFF if MAIN_CUTOFF in cutoffs else cutoffs[-1]
    recalls = [f"recall@{n}" for n in sorted({cutoffs[0], watched})]
    refusals = any(scores.counts["abstention.none_queries"] for scores in groups.values())
    names = [*recalls, "mrr", *(["abstention.recall", "abstention.false_refusal_rate"] if refusals else [])]
    headings = [*recalls, "MRR", *(["none found", "refused"] if refusals else [])]
    headings.insert(len(recalls), "95%")
    table = _table("count", *headings, first=f"by {field}")
    for group, scores in list(groups.items())[:MAX_GROUPS]:
        cells = [_number(scores[name]) for name in names]
        cells.insert(len(recalls), _interval(scores, recalls[-1]))
        table.add_row(_name(group), f"{scores.queries:,}", *cells)
    OUT.print(table)
    if len(groups) > MAX_GROUPS:
        _say(f"and {len(groups) - MAX_GROUPS} smaller groups (--json has them all)")


def _show_reliability(report: BenchReport) -> None:
    table = report.reliability
    if not table:
        return
    OUT.print()
    shown = _table("requests", "some tool fits", first="said to fit")
    for row in table:
        shown.add_row(Text(f"{row.stated:.2f}"), f"{row.count:,}", _number(row.observed))
    OUT.print(shown)
    _say(f"expected calibration error {expected_calibration_error(table):.3f}")


def _show_confusions(report: BenchReport) -> None:
    if not report.confused:
        return
    OUT.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("most often wanted", "but chosen", "times", "for instance"):
        table.add_column(heading, justify="right" if heading == "times" else "left", overflow="fold")
    for pair in report.confused[:MAX_PAIRS]:
        example = Text(printable(pair.example, MAX_EXAMPLE_SHOWN))
        table.add_row(_name(pair.gold), _name(pair.predicted), str(pair.count), example)
    OUT.print(table)


def _show_cost(report: BenchReport) -> None:
    tokens = report.tokens
    part = f" ({tokens.shown / tokens.catalog:.1%} of it)" if tokens.catalog else ""
    _say(f"tokens     about {tokens.shown:,.0f} are shown per request; the whole catalog has {tokens.catalog:,}{part}")
    if tokens.model_requests:
        calls, read, written = tokens.model_requests, tokens.model_input, tokens.model_output
        _say(f"model      {calls:,} calls, {read:,} tokens read, {written:,} written")
    if report.p50 is not None and report.p95 is not None:
        alone = len(report.latencies)
        _say(f"latency    p50 {report.p50:,.1f} ms, p95 {report.p95:,.1f} ms ({alone} requests, one at a time)")
    if len(report.served_by) > 1:
        served = ", ".join(f"{printable(name)} {count:,}" for name, count in report.served_by.items())
        _say(f"stage 3    answered by {served}")


def _say(text: str) -> None:
    OUT.print(Text(text), soft_wrap=True)


def _table(*numbers: str, first: str = "") -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _name(name: str) -> Text:
    return Text(printable(name, MAX_NAME_SHOWN))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _interval(scores: Scores, name: str) -> str:
    low_high = scores.intervals.get(name)
    return "-" if low_high is None else f"{low_high[0]:.3f}-{low_high[1]:.3f}"
