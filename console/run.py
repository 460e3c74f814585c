"""`toolpath run`: runs a pipeline from a file and reports what came of every step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from ..catalog import ToolpathError
from ..orchestrator import Pipeline, SQLiteStore, load_pipeline, pipeline_schema
from ..orchestrator.pipeline.documents import read_document
from ..orchestrator.pipeline.inputs import input_from_text
from ..orchestrator.pipeline.resuming import Checkpointing
from .live import watching
from .options import open_catalog
from .output import OUT, chatter_to_stderr, fail, harmless, note, print_json
from .reporting import run_and_show
from .runs import origin_of


def _print_schema(wanted: bool) -> None:
    if wanted:
        print_json(pipeline_schema())
        raise typer.Exit


def run(
    pipeline: Annotated[str, typer.Argument(metavar="PIPELINE", help="A YAML or JSON file, or module:attribute.")],
    inputs: Annotated[
        list[str] | None, typer.Option("--input", "-i", metavar="KEY=VALUE", help="A run input; repeat for more.")
    ] = None,
    inputs_file: Annotated[Path | None, typer.Option("--inputs", help="A JSON or YAML file with run inputs.")] = None,
    catalog: Annotated[
        str | None, typer.Option(help="Catalog of the tools, instead of the one that the pipeline names.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds for the whole run.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Steps at the same time, at most.")] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Keep the run in this file, so that `toolpath resume` can go on with it.", dir_okay=False),
    ] = None,
    run_id: Annotated[str | None, typer.Option(help="The run's id; a new one by default.")] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Draw the run as a Mermaid flow chart.")] = False,
    events: Annotated[bool, typer.Option("--events", help="Events as JSON lines on standard error.")] = False,
    progress: Annotated[
        bool, typer.Option("--progress/--no-progress", help="Show the run in the terminal while it goes.")
    ] = True,
    dry: Annotated[
        bool, typer.Option("--dry", help="Build and draw the pipeline, list its inputs, run nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
    _schema: Annotated[
        bool,
        typer.Option(
            "--schema", callback=_print_schema, is_eager=True, help="Print the JSON Schema of pipeline files and leave."
        ),
    ] = False,
) -> None:
    """Run a pipeline. Exit code 0: every step succeeded; 1: the run failed, wholly or in part."""
    with chatter_to_stderr():
        built = load_pipeline(pipeline, catalog=None if catalog is None else open_catalog(catalog))
    if dry:
        _show_plan(built, as_json)
        return
    if timeout is not None and (timeout <= 0 or math.isnan(timeout)):
        fail(f"--timeout must be positive, got {timeout:g}")
    given = _read_inputs(built, inputs or [], inputs_file)
    kept = None if store is None else SQLiteStore(store)
    keeping = None if kept is None else Checkpointing(kept, origin=origin_of(pipeline, catalog))
    run_ = built.prepare(given, timeout=timeout, limit=limit, run_id=run_id, checkpointing=keeping)
    if kept is not None:
        note(f"run {run_.run_id} is kept in {store}")
    quiet = as_json or not progress
    with (
        chatter_to_stderr() if as_json else nullcontext(),
        watching(len(built.steps), events=events, quiet=quiet) as on,
    ):
        if on is not None:
            run_.listen(on)
        shown = run_and_show(run_, as_json=as_json, mermaid=mermaid)
    shown()


def _show_plan(pipeline: Pipeline, as_json: bool) -> None:
    if as_json:
        inputs = {
            name: {"type": one.type, "required": one.required, "used_by": list(one.used_by)}
            for name, one in pipeline.inputs.items()
        }
        steps = {step.name: [pipeline.steps[dep].name for dep in step.deps] for step in pipeline.steps}
        print_json({"pipeline": pipeline.name, "inputs": inputs, "steps": steps, "mermaid": pipeline.to_mermaid()})
        return
    OUT.print(f"{pipeline.name}: {len(pipeline.steps)} steps; inputs:", markup=False)
    for one in pipeline.inputs.values():
        OUT.print(f"  {harmless(str(one))}", markup=False)
    OUT.print(pipeline.to_mermaid(), markup=False, soft_wrap=True)


def _read_inputs(pipeline: Pipeline, pairs: list[str], file: Path | None) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if file is not None:
        try:
            content = read_document(file).content
        except ToolpathError as error:
            fail(str(error))
        if not isinstance(content, Mapping):
            fail(f"{file} must hold an object with an entry for each input")
        given.update(content)
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            fail(f"--input wants KEY=VALUE, got {pair!r}")
        wanted = pipeline.inputs.get(name)
        given[name] = text if wanted is None else input_from_text(wanted, text)
    return given
