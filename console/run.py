"""`toolpath run`: runs a pipeline from a file and reports what came of every step."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from ..catalog import ToolpathError
from ..orchestrator import Pipeline, RunInterrupted, RunReport, load_pipeline, pipeline_schema
from ..orchestrator.pipeline.documents import read_document
from ..orchestrator.pipeline.inputs import input_from_text
from .options import open_catalog
from .output import ERR, EXIT_INTERRUPTED, EXIT_NOT_OK, OUT, chatter_to_stderr, fail, harmless, leave, print_json


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
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Draw the run as a Mermaid flow chart.")] = False,
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
    try:
        with chatter_to_stderr() if as_json else nullcontext():
            report = built.run_sync(given, timeout=timeout, limit=limit)
    except RunInterrupted as stop:
        ERR.print("interrupted; this is what the run had come to:")
        _show(stop.report, as_json, mermaid)
        leave(EXIT_INTERRUPTED)
    _show(report, as_json, mermaid)
    # a thread that timed out may still be running; the report is written, so do not wait for it
    leave(0 if report.ok else EXIT_NOT_OK)


def _show(report: RunReport, as_json: bool, as_mermaid: bool) -> None:
    if as_json:
        print_json(report.to_dict() | ({"mermaid": report.to_mermaid()} if as_mermaid else {}))
        return
    OUT.print(harmless(str(report)), markup=False, soft_wrap=True)
    for name, value in report.outputs.items():
        text = value if isinstance(value, str) else json.dumps(report[name].to_dict()["value"], ensure_ascii=False)
        OUT.print(f"\n{name}:\n  {harmless(text)}", markup=False, soft_wrap=True)
    if as_mermaid:
        OUT.print("\n" + report.to_mermaid(), markup=False, soft_wrap=True)


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
