"""What each arm, stage and weight of retrieval is worth: recall with it, without it, and over a sweep.

    python benchmarks/ablation.py --data ../shared/train ../shared/data/metatool_single

The arms are asked once per set; every row of the table is arithmetic over their raw scores, so all rows see the same
requests and differences are paired. Constants are chosen on training sets, never on those that report the score.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from measuring import command_line
from toolpath.catalog import load_catalog
from toolpath.router import RuleIntentClassifier
from toolpath.router.embedding import Embedder
from toolpath.router.embedding.named import embedder_named
from toolpath.router.evaluation import Query, load_queries, resolve_names, sample
from toolpath.router.evaluation.metrics import ratio_intervals, recall_at
from toolpath.router.retrieval import FusionWeights, Retriever
from toolpath.router.retrieval.fusion import leading
from toolpath.router.retrieval.weighing import LEXICAL_GRID, PARAMETERS_GRID, Evidence

RESULTS = Path(__file__).parent / "results"
CUTOFFS = (1, 5, 10)
WATCHED = 5
"""The recall whose difference from the default gets an interval."""

POOL = 20
RRF_CONSTANT = 60
"""Cormack, Clarke and Buettcher 2009, "Reciprocal Rank Fusion outperforms Condorcet"."""

Ranks = list[int | None]
Rule = Callable[[Evidence], Ranks]
Table = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One line of the table: recall at `CUTOFFS`, and the paired difference from the default at `WATCHED`."""

    part: str
    name: str
    recalls: tuple[float, ...]
    difference: float
    interval: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "part": self.part,
            "name": self.name,
            **{f"recall@{k}": round(value, 4) for k, value in zip(CUTOFFS, self.recalls, strict=True)},
            f"difference@{WATCHED}": round(self.difference, 4),
            "interval": [round(value, 4) for value in self.interval],
        }


@dataclass(frozen=True)
class SetResult:
    """A set and its rows, the default first."""

    name: str
    tools: int
    requests: int
    rows: tuple[Row, ...]


def weighed(weights: FusionWeights) -> Rule:
    """The product's own ranking under `weights`."""
    return lambda evidence: evidence.ranks(weights, POOL)


def by_score(score: Callable[[Evidence], npt.NDArray[np.floating]]) -> Rule:
    """Ranks by any other score of the tools; no tier for tools named outright."""

    def ranks(evidence: Evidence) -> Ranks:
        scores = score(evidence)
        rank = {int(evidence.places[at]): n for n, at in enumerate(leading(scores, len(scores)), 1)}
        return [min((rank[place] for place in gold if place in rank), default=None) for gold in evidence.gold]

    return ranks


def reciprocal_ranks(evidence: Evidence) -> npt.NDArray[np.floating]:
    """Reciprocal rank fusion of meaning and words; a tool that shares no word has no rank among the words."""
    total = np.zeros(len(evidence.places))
    for scores, ranked in ((evidence.dense, None), (evidence.lexical, evidence.lexical > 0)):
        for rank, at in enumerate(leading(scores, len(scores), ranked), 1):
            total[at] += 1 / (RRF_CONSTANT + rank)
    return total


def transformed(transform: Callable[[npt.NDArray[np.floating]], npt.NDArray[np.floating]], weight: float) -> Rule:
    """The default with another form of BM25 at a weight of its own."""
    weights = FusionWeights(lexical=weight)
    return lambda evidence: replace(evidence, lexical=transform(evidence.lexical)).ranks(weights, POOL)


def rules() -> Iterator[tuple[str, str, Rule]]:
    """Part of the table, name and rule of every row but those of stage 1; the default first."""
    default = FusionWeights()
    silent = {"dense": 0.0, "dense_unknown": 0.0}
    yield "default", "dense + lexical + parameters", weighed(default)
    yield "arms", "dense alone", weighed(replace(default, lexical=0.0, parameters=0.0))
    yield "arms", "lexical alone", weighed(replace(default, **silent, parameters=0.0))
    yield (
        "arms",
        "parameters alone, of the arms' leaders",
        by_score(lambda one: np.nan_to_num(one.parameters, nan=-2.0)),
    )
    yield "arms", "dense + lexical", weighed(replace(default, parameters=0.0))
    yield "arms", "dense + parameters", weighed(replace(default, lexical=0.0))
    yield "arms", "lexical + parameters", weighed(replace(default, **silent))
    yield "fusion", "reciprocal ranks of dense and lexical", by_score(reciprocal_ranks)
    for weight in (1.0, 2.0):
        yield "fusion", f"square root of BM25, {weight:g}", transformed(np.sqrt, weight)
    for weight, half in ((8.0, 20.0), (16.0, 40.0)):
        yield "fusion", f"saturated BM25, {weight:g} b/(b + {half:g})", transformed(_saturated(half), weight)
    for weight in LEXICAL_GRID:
        yield "weight of words", f"lexical {weight:g}", weighed(replace(default, lexical=weight))
    for weight in (*PARAMETERS_GRID, 0.8):
        yield "weight of parameters", f"parameters {weight:g}", weighed(replace(default, parameters=weight))
    for weight in (0.0, 0.05, 0.2, 0.8):
        yield "weight of a foreign tongue", f"dense_unknown {weight:g}", weighed(replace(default, dense_unknown=weight))


def _saturated(half: float) -> Callable[[npt.NDArray[np.floating]], npt.NDArray[np.floating]]:
    return lambda scores: scores / (scores + half)


def ablate(folder: Path, embedder: Embedder, limit: int | None = None, seed: int = 0) -> SetResult:
    """All rows for the set in `folder`."""
    catalog = load_catalog(str(folder / "tools.jsonl"))
    queries = [query for query in resolve_names(load_queries(folder), catalog) if query.gold]
    if limit is not None:
        queries = sample(queries, limit)
    retriever = Retriever(catalog, embedder)
    classifier = RuleIntentClassifier(catalog)
    wanted = [[gold.accepted for gold in query.gold] for query in queries]
    requests = [query.request for query in queries]
    narrowed = retriever.evidence(requests, wanted, [classifier.classify(request) for request in requests])
    rows = list(_tables(rules(), narrowed))
    everything = retriever.evidence(requests, wanted)
    rows.insert(1, ("stage 1", "without stage 1", _table(weighed(FusionWeights()), everything)))
    return SetResult(folder.name, len(catalog), len(queries), tuple(_compared(rows, seed)))


def _tables(named: Iterator[tuple[str, str, Rule]], evidence: Sequence[Evidence]) -> Iterator[tuple[str, str, Table]]:
    return ((part, name, _table(rule, evidence)) for part, name, rule in named)


def _table(rule: Rule, evidence: Sequence[Evidence]) -> Table:
    """Recall per request and cutoff, shape ``(requests, cutoffs)``."""
    ranks = [rule(one) for one in evidence]
    return np.array([[recall_at(row, k) for k in CUTOFFS] for row in ranks])


def _compared(rows: Sequence[tuple[str, str, Table]], seed: int) -> Iterator[Row]:
    at = CUTOFFS.index(WATCHED)
    default = rows[0][2][:, at]
    differences = np.stack([table[:, at] - default for _, _, table in rows], axis=1)
    intervals = ratio_intervals(differences, np.ones_like(differences), seed)
    for (part, name, table), difference, interval in zip(rows, differences.T, intervals, strict=True):
        yield Row(part, name, tuple(table.mean(axis=0).tolist()), float(difference.mean()), interval or (0.0, 0.0))


def mean_of(results: Sequence[SetResult]) -> list[dict[str, Any]]:
    """Each row's mean over the sets, every set counting alike; no interval, for the sets are no sample."""
    rows = []
    for same in zip(*(result.rows for result in results), strict=True):
        recalls = np.mean([row.recalls for row in same], axis=0)
        rows.append(
            {
                "part": same[0].part,
                "name": same[0].name,
                **{f"recall@{k}": round(float(value), 4) for k, value in zip(CUTOFFS, recalls, strict=True)},
                f"difference@{WATCHED}": round(float(np.mean([row.difference for row in same])), 4),
                "worst_difference": round(min(row.difference for row in same), 4),
            }
        )
    return rows


def page_of(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    about = ", ".join(f"{name} {value}" for name, value in report["versions"].items())
    lines = [
        "# What each arm, stage and weight is worth",
        "",
        f"{report['date']}, {report['embedder']}, {report['machine']}; {about}. `{report['command']}`",
        "",
        f"Differences are of recall@{WATCHED} from the default (the first row), paired, with 95% bootstrap intervals.",
        "",
    ]
    heads = " | ".join(f"recall@{k}" for k in CUTOFFS)
    if len(report["sets"]) > 1:
        lines += ["## Mean over the sets", "", f"| | {heads} | difference | on the worst set |", "| --- " * 6 + "|"]
        for row in report["mean"]:
            cells = [f"{row[f'recall@{k}']:.3f}" for k in CUTOFFS]
            cells += [f"{row[f'difference@{WATCHED}']:+.3f}", f"{row['worst_difference']:+.3f}"]
            lines.append(f"| {row['part']}: {row['name']} | {' | '.join(cells)} |")
        lines.append("")
    for one in report["sets"]:
        lines += [f"## {one['set']}: {one['requests']:,} requests, {one['tools']:,} tools", ""]
        lines += [f"| | {heads} | difference | 95% |", "| --- " * 6 + "|"]
        for row in one["rows"]:
            low, high = row["interval"]
            cells = [f"{row[f'recall@{k}']:.3f}" for k in CUTOFFS]
            cells += [f"{row[f'difference@{WATCHED}']:+.3f}", f"{low:+.3f} to {high:+.3f}"]
            lines.append(f"| {row['part']}: {row['name']} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def report_of(results: Sequence[SetResult], embedder: Embedder, command: str) -> dict[str, Any]:
    """Everything that was measured, and under which conditions."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "command": command,
        "embedder": repr(embedder),
        "fingerprint": embedder.fingerprint,
        "default": FusionWeights().to_dict(),
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "versions": {"Python": platform.python_version(), **{name: version(name) for name in ("toolpath", "numpy")}},
        "mean": mean_of(results),
        "sets": [
            {
                "set": result.name,
                "tools": result.tools,
                "requests": result.requests,
                "rows": [row.to_dict() for row in result.rows],
            }
            for result in results
        ],
    }


def folders_of(data: Sequence[Path]) -> list[Path]:
    """The sets that have labelled requests: each path is one, or a folder of some.

    Raises:
        SystemExit: a path holds none.
    """
    found: list[Path] = []
    for path in data:
        candidates = (
            [path] if (path / "tools.jsonl").is_file() else sorted(at.parent for at in path.glob("*/tools.jsonl"))
        )
        usable = [one for one in candidates if _has_requests(one)]
        if not usable:
            raise SystemExit(f"{path} holds no set with a tools.jsonl and labelled requests that want a tool")
        found += usable
    return list(dict.fromkeys(found))


def _has_requests(folder: Path) -> bool:
    file = folder / "queries.jsonl"
    return file.is_file() and file.stat().st_size > 0 and any(_wants_a_tool(query) for query in load_queries(folder))


def _wants_a_tool(query: Query) -> bool:
    return bool(query.tools)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the ablation and prints it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", type=Path, required=True, help="sets, or folders of sets")
    parser.add_argument("--embedder", default="minilm", help="as for toolpath bench (default: minilm)")
    parser.add_argument("--limit", type=int, help="a sample of this many requests of each set, always the same")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument(
        "--out", type=Path, nargs="?", const=RESULTS, help=f"also write both there (default: {RESULTS})"
    )
    chosen = parser.parse_args(arguments)
    embedder = embedder_named(chosen.embedder)
    results = []
    for folder in folders_of(chosen.data):
        print(f"{folder.name} …", file=sys.stderr, flush=True)
        results.append(ablate(folder, embedder, chosen.limit))
    report = report_of(results, embedder, command_line("benchmarks/ablation.py", arguments or sys.argv[1:]))
    data, page = json.dumps(report, ensure_ascii=False, indent=2), page_of(report)
    print(data if chosen.json else page)
    if chosen.out is not None:
        chosen.out.mkdir(parents=True, exist_ok=True)
        name = f"ablation-{Path(chosen.embedder).name}"
        (chosen.out / f"{name}.json").write_text(data + "\n", encoding="utf-8")
        (chosen.out / f"{name}.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
