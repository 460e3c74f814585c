"""`toolpath feedback`: what a router has recorded about its tools, and how to forget it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ..router.explain import printable
from ..router.feedback import FeedbackStore
from .options import JsonOption
from .output import OUT, fail, note, print_json

StoreArgument = Annotated[Path, typer.Argument(metavar="STORE", help="The SQLite file of a FeedbackStore.")]
NameOption = Annotated[str, typer.Option("--catalog", help="Name of the catalog whose records are meant.")]

app = typer.Typer(help="Show or forget what became of earlier calls.", no_args_is_help=True)
COUNTS = ("picked", "succeeded", "failed", "corrected", "preferred")


@app.command()
def show(store: StoreArgument, catalog: NameOption = "default", as_json: JsonOption = False) -> None:
    """List the recorded outcomes of every tool."""
    records = _open(store, catalog).records()
    rows = [
        {"tool": each.tool, "digest": each.digest, **{name: getattr(each.record, name) for name in COUNTS}}
        for each in records
    ]
    if as_json:
        print_json({"catalog": catalog, "records": rows})
        return
    if not rows:
        note(f"{store} has no records for a catalog named {catalog!r}")
        return
    table = Table("tool", box=None, pad_edge=False, header_style="bold")
    for name in COUNTS:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(Text(printable(str(row["tool"]))), *(str(row[name]) for name in COUNTS))
    OUT.print(table)


@app.command()
def reset(
    store: StoreArgument,
    tool: Annotated[str | None, typer.Option("--tool", help="Forget this tool only.")] = None,
    catalog: NameOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Forget the recorded outcomes of a catalog, or of one of its tools."""
    forgotten = _open(store, catalog).reset(tool)
    if as_json:
        print_json({"catalog": catalog, "forgotten": forgotten})
    else:
        OUT.print(f"forgot {forgotten} record{'' if forgotten == 1 else 's'}", highlight=False)


def _open(path: Path, catalog: str) -> FeedbackStore:
    if not path.is_file():
        fail(f"there is no file {path}")
    return FeedbackStore(path, catalog=catalog)
