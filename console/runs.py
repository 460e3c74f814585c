"""`toolpath runs` and `toolpath resume`: runs that were kept, and how they go on."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.table import Table

from ..orchestrator import Pipeline, RunRecord, SQLiteStore, load_pipeline
from ..orchestrator.pipeline.resuming import Changed, Checkpointing
from .live import watching
from .options import open_catalog
from .output import OUT, chatter_to_stderr, fail, harmless, note, print_json
from .reporting import run_and_show

StoreOption = Annotated[
    Path, typer.Option(envvar="TOOLPATH_STORE", help="The file in which runs are kept.", dir_okay=False)
]


def origin_of(pipeline: str, catalog: str | None) -> str:
    """Where a run's pipeline comes from, for `toolpath resume`: files by their full path."""
    spec = str(Path(pipeline).resolve()) if Path(pipeline).exists() else pipeline
    place = None if catalog is None else str(Path(catalog).resolve()) if Path(catalog).exists() else catalog
    return json.dumps({"pipeline": spec, "catalog": place}, ensure_ascii=False)


def existing_store(path: Path) -> SQLiteStore:
    """The store in a file that is there."""
    if not path.exists():
        fail(f"there is no store {path}; `toolpath run PIPELINE --store {path}` makes it")
    return SQLiteStore(path)


def runs(
    store: StoreOption,
    delete: Annotated[str | None, typer.Option(metavar="RUN", help="Forget this run instead.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Runs that are listed, the newest first.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
) -> None:
    """List the runs that were kept."""
    kept = existing_store(store)
    if delete is not None:
        if not kept.delete(delete):
            fail(f"there is no run {delete!r} in {store}")
        note(f"run {delete} is forgotten")
        return
    found = kept.runs(limit)
    if as_json:
        print_json({"runs": [_shown(one) for one in found]})
        return
    table = Table("run", "pipeline", "state", "steps done", "started", box=None, pad_edge=False)
    for one in found:
        state = one.outcome.replace("_", " ") if one.state == "ended" else "cut off, or under way"
        table.add_row(one.run_id, harmless(one.pipeline), state, f"{one.done} of {len(one.fingerprints)}", _time(one))
    OUT.print(table)


def resume(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run's id; see `toolpath runs`.")],
    store: StoreOption,
    pipeline: Annotated[
        str | None, typer.Option(help="The pipeline, if it is not where it was: a file, or module:attribute.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try steps that failed again.")] = False,
    changed: Annotated[
        str, typer.Option(metavar="refuse|map", help="If the pipeline has changed: refuse, or keep what is the same.")
    ] = "refuse",
    repeat: Annotated[
        list[str] | None,
        typer.Option(metavar="STEP", help="Call this step again although it may have happened; repeat for more."),
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds for the rest of the run.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Steps at the same time, at most.")] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Draw the run as a Mermaid flow chart.")] = False,
    events: Annotated[bool, typer.Option("--events", help="Events as JSON lines on standard error.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Go on with a run where it was cut off. Exit codes as of `toolpath run`."""
    if changed not in ("refuse", "map"):
        fail(f"--changed takes refuse or map, got {changed!r}")
    if timeout is not None and not timeout > 0:
        fail(f"--timeout must be positive, got {timeout:g}")
    kept = existing_store(store)
    found = kept.load(run_id)
    if found is None:
        fail(f"there is no run {run_id!r} in {store}; `toolpath runs --store {store}` lists them")
    built = _pipeline_of(found[0], pipeline)
    how: Changed = "map" if changed == "map" else "refuse"
    keeping = Checkpointing(kept, True, retry_failed, how, frozenset(repeat or ()))

    async def prepare() -> Any:
        return await built.prepare_to_resume(run_id, keeping, timeout=timeout, limit=limit)

    run = anyio.run(prepare)
    with (
        chatter_to_stderr() if as_json else nullcontext(),
        watching(len(built.steps), events=events, quiet=as_json) as on,
    ):
        if on is not None:
            run.listen(on)
        shown = run_and_show(run, as_json=as_json, mermaid=mermaid)
    shown()


def _pipeline_of(record: RunRecord, given: str | None) -> Pipeline:
    origin = json.loads(record.origin) if record.origin else {}
    spec = given or origin.get("pipeline")
    if not spec:
        fail(f"nobody said where the pipeline of run {record.run_id!r} comes from: give it with --pipeline")
    catalog = origin.get("catalog")
    with chatter_to_stderr():
        return load_pipeline(spec, catalog=None if catalog is None else open_catalog(catalog))


def _time(record: RunRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _shown(record: RunRecord) -> dict[str, Any]:
    return {
        "run_id": record.run_id,
        "pipeline": record.pipeline,
        "state": record.state,
        "outcome": record.outcome or None,
        "reason": record.reason or None,
        "done": record.done,
        "steps": len(record.fingerprints),
        "created": record.created,
        "updated": record.updated,
    }
