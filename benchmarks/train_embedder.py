"""Makes the tool-tuned embedder that Toolpath ships: low-rank updates from several runs (`RUNS`), and their mean.

    python -m benchmarks.train_embedder --train TRAIN --registry DATA/mcp_registry_toolsdk ... --out update.safetensors
    python -m benchmarks.train_embedder --examine update.safetensors --data DATA/metatool_single ...

TRAIN holds folders with ``tools.jsonl`` and ``queries.jsonl``; a registry folder has tools without requests, for which
a sentence of the description stands as a request. What decides which state is kept are the labelled requests of
--judge and of the development part of the on-call requests in this repository, none of which is learned from.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from toolpath.catalog import Catalog, Tool, load_catalog
from toolpath.router import SentenceTransformerEmbedder
from toolpath.router.embedding.minilm import DEFAULT_SHA256
from toolpath.router.embedding.update import LowRankUpdate
from toolpath.router.evaluation import Query, load_queries
from toolpath.router.tuning.assessment import CUTOFFS, Examination, examination, judge_of
from toolpath.router.tuning.pairs import Lesson, labelled_lesson, self_lesson, with_compounds
from toolpath.router.tuning.training import Recipe, Step, train_update

ONCALL = Path(__file__).parent / "data" / "oncall"


@dataclass(frozen=True)
class Run:
    """One of the runs that are averaged. They differ on purpose: what averaging gains comes from variety.

    Attributes:
        seed: of everything random, which requests and tools are drawn included.
        hard: hard negatives for each request.
        requests: labelled requests drawn from each folder, at most.
        unlabelled: tools drawn from the largest registry; from the others in proportion.
        compounds: requests joined from two or three others, as a share of all.
        early: whether the state that the judges like best is kept, and not the last one.
    """

    seed: int
    hard: int
    requests: int
    unlabelled: int
    compounds: float
    early: bool


RUNS = (
    Run(seed=0, hard=1, requests=1_000, unlabelled=1_500, compounds=0.0, early=True),
    Run(seed=1, hard=0, requests=3_000, unlabelled=1_200, compounds=0.0, early=False),
    Run(seed=2, hard=1, requests=1_500, unlabelled=2_500, compounds=0.15, early=False),
)
LONGEST_REQUEST = 600
"""Characters: of a conversation the end says what is wanted now."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains, or examines what was trained."""
    options = _parser().parse_args(arguments)
    if options.examine is not None:
        return _examine(options.examine, options.data, options.json)
    if options.train is None or options.out is None:
        _parser().error("training needs --train and --out")
    model = SentenceTransformerEmbedder().loaded()
    judges = [_examination(options.train / name) for name in options.judge] + [_oncall_examination()]
    updates = []
    for run in RUNS:
        lessons = [*_labelled(options, run), *_unlabelled(options, run)]
        if run.compounds:
            lessons = [with_compounds(lesson, run.compounds, run.seed) for lesson in lessons]
        print(f"{run}: " + ", ".join(f"{lesson.name} {len(lesson.pairs)}" for lesson in lessons), file=sys.stderr)
        recipe = Recipe(seed=run.seed, hard=run.hard, tokens=options.tokens)
        judge = judge_of(judges) if run.early else None
        update = train_update(
            model, DEFAULT_SHA256, lessons, recipe, judge=judge, progress=_say, about={"run": str(run)}
        )
        update.save(options.out.with_suffix(f".seed{run.seed}.safetensors"))
        updates.append(update)
    about = {"runs": json.dumps([str(run) for run in RUNS]), "made": datetime.now(UTC).date().isoformat()}
    LowRankUpdate.mean(updates, about).save(options.out)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=Path, help="folder of labelled folders")
    parser.add_argument("--registry", type=Path, nargs="*", default=[], help="folders with tools only")
    parser.add_argument("--judge", nargs="*", default=["toolalpaca"], help="labelled folders that are not learned from")
    parser.add_argument("--tokens", type=int, default=96, help="word pieces read of a text while learning")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--examine", type=Path, help="an update to compare with the plain model on --data")
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="labelled folders to report on")
    parser.add_argument("--json", action="store_true")
    return parser


def _labelled(options: argparse.Namespace, run: Run) -> list[Lesson]:
    lessons = []
    for folder in sorted(path.parent for path in options.train.glob("*/queries.jsonl")):
        if folder.name in options.judge:
            continue
        queries = [query for query in load_queries(folder) if query.tools]
        random.Random(run.seed).shuffle(queries)
        requests = [(query.request[-LONGEST_REQUEST:], query.tools) for query in queries[: run.requests]]
        lessons.append(labelled_lesson(folder.name, _catalog(folder), requests))
    return lessons


def _unlabelled(options: argparse.Namespace, run: Run) -> list[Lesson]:
    lessons = []
    largest = max((len(_catalog(folder)) for folder in options.registry), default=1)
    for folder in options.registry:
        tools: list[Tool] = [tool for tool in _catalog(folder) if tool.description.isascii()]
        random.Random(run.seed).shuffle(tools)
        share = len(tools) / largest
        lessons.append(self_lesson(folder.name, tools[: round(share * run.unlabelled)], run.seed))
    return lessons


def _catalog(folder: Path) -> Catalog:
    return load_catalog(folder / "tools.jsonl", strict=False)


def _examination(folder: Path, queries: Sequence[Query] | None = None) -> Examination:
    queries = load_queries(folder) if queries is None else queries
    requests = [(query.request, [gold.accepted for gold in query.gold]) for query in queries if query.tools]
    return examination(folder.name, _catalog(folder), requests)


def _oncall_examination() -> Examination:
    return _examination(
        ONCALL,
        [
            query
            for query in load_queries(ONCALL)
            if query.fields.get("split") == "dev" and query.fields.get("lang") == "en"
        ],
    )


def _say(step: Step) -> None:
    if step.done % 10 == 0 or step.done == step.total:
        kept = "" if step.kept is None else f", kept {step.kept:.4f}"
        print(f"step {step.done} of {step.total}: loss {step.loss:.3f}{kept}, {step.seconds:.0f} s", file=sys.stderr)


def _examine(path: Path, folders: Sequence[Path], as_json: bool) -> int:
    """Recall of the dense arm alone, plain and tuned; 1 when the update is worse on any folder."""
    plain, tuned = SentenceTransformerEmbedder(), SentenceTransformerEmbedder(update=path)
    rows = []
    for folder in folders:
        started = time.perf_counter()
        exam = _examination(folder)
        row: dict[str, object] = {"set": exam.name, "tools": len(exam.tools), "requests": len(exam.requests)}
        for name, embedder in (("plain", plain), ("tuned", tuned)):
            recalls = exam.recalls(lambda texts, embedder=embedder: embedder.embed(list(texts), "tool"))
            row |= {f"{name}@{k}": round(sum(recalls[k]) / len(recalls[k]), 4) for k in CUTOFFS}
        row["seconds"] = round(time.perf_counter() - started, 1)
        rows.append(row)
        if not as_json:
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if as_json:
        print(json.dumps(rows, indent=2))
    worse = [row["set"] for row in rows if row["tuned@5"] < row["plain@5"]]  # type: ignore[operator]
    if worse:
        print(f"worse than the plain model on {', '.join(map(str, worse))}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
