"""The `toolpath` command: each subcommand lives in a file of its own."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Annotated

import typer

from .bench import bench
from .enrich import enrich_command
from .feedback import app as feedback
from .fit import fit
from .index import index
from .output import ERR, EXIT_INTERRUPTED, clear_errors, tolerate_any_character
from .route import route
from .run import run
from .runs import resume, runs
from .show import show
from .tune import tune

app = typer.Typer(
    help="Routes requests over large tool catalogs and runs tool pipelines.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (show, route, index, bench, fit, tune, run, resume, runs):
    app.command()(command)
app.command("enrich")(enrich_command)
app.add_typer(feedback, name="feedback")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"toolpath {version('toolpath')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Routes requests over large tool catalogs and runs tool pipelines."""


def main() -> None:
    """Entry point of the `toolpath` command."""
    # the tokenizers library warns on standard error when a process with its threads forks
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    tolerate_any_character()
    try:
        with clear_errors():
            app()
    except SystemExit as stop:
        if stop.code == EXIT_INTERRUPTED:  # this is what typer makes of Ctrl-C, without a word
            ERR.print("interrupted")
        raise


if __name__ == "__main__":
    main()
