"""`toolpath show`: what is in a catalog, or everything about one tool."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

from ..catalog import Catalog, Tool
from ..catalog.schemas import walk_parameters
from .options import CatalogArgument, JsonOption, LenientOption, open_catalog
from .output import OUT, harmless, print_json


def show(
    catalog: CatalogArgument,
    tool: Annotated[str | None, typer.Argument(metavar="[TOOL]", help="A tool's name or alias.")] = None,
    category: Annotated[str | None, typer.Option(help="Only tools of this category.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only tools with this tag.")] = None,
    lenient: LenientOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show a catalog, or one tool of it."""
    found = open_catalog(catalog, lenient=lenient)
    if tool is not None:
        _show_tool(found.get(tool), as_json)
        return
    chosen = found.filter(category=category, tag=tag)
    if as_json:
        print_json(
            {
                "tools": [one.model_dump(mode="json", exclude_defaults=True) for one in chosen],
                "count": len(chosen),
                "categories": list(chosen.categories),
                "digest": found.digest,
            }
        )
        return
    OUT.print(_table(chosen))
    OUT.print(f"{len(chosen)} tools in {len(chosen.categories)} categories, digest {found.digest[:12]}")


def _table(catalog: Catalog) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("tool", no_wrap=True)
    table.add_column("category", style="cyan", no_wrap=True)
    table.add_column("parameters", justify="right")
    table.add_column("description")
    for tool in sorted(catalog, key=lambda one: (one.category or "", one.name)):
        table.add_row(
            escape(tool.name),
            _safe(tool.category or "–"),
            str(len(tool.parameters.get("properties", {}))),
            _safe(_first_sentence(tool.description)),
        )
    return table


def _safe(text: str) -> str:
    """Somebody else's text, neither obeyed by the terminal nor taken for markup."""
    return escape(harmless(text))


def _first_sentence(text: str, limit: int = 90) -> str:
    """Enough of a description to recognise the tool; `toolpath show CATALOG TOOL` has the rest."""
    flat = " ".join(text.split())
    ends = [at + 1 for mark in (". ", "。", "! ", "? ") if (at := flat.find(mark)) >= 0]
    sentence = flat[: min(ends, default=len(flat))]
    return sentence if len(sentence) <= limit else sentence[: limit - 1] + "…"


def _show_tool(tool: Tool, as_json: bool) -> None:
    if as_json:
        print_json(tool.model_dump(mode="json", exclude_defaults=True) | {"can_run": tool.handler is not None})
        return
    facts = {
        "category": tool.category,
        "tags": ", ".join(tool.tags),
        "aliases": ", ".join(tool.aliases),
        "permission": tool.permission or "not stated",
        "side effect": tool.side_effect or "not stated",
        "idempotent": {True: "yes", False: "no", None: "not stated"}[tool.idempotent],
        "timeout": f"{tool.timeout:g} s" if tool.timeout else None,
        "fallbacks": ", ".join(tool.fallbacks),
        "owner": tool.owner,
        "version": tool.version,
        "source": tool.source,
        "can run here": "yes" if tool.handler is not None else "no: it is only described",
    }
    OUT.print(Panel(_safe(tool.description or "(no description)"), title=escape(tool.name), title_align="left"))
    for name, value in facts.items():
        if value:
            OUT.print(f"  [bold]{name:<13}[/bold]{_safe(str(value))}")
    parameters = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("parameter", "type", "required", "description"):
        parameters.add_column(column)
    for parameter in walk_parameters(tool.parameters):
        kind = parameter.schema.get("enum") or parameter.schema.get("type") or "any"
        shown = kind if isinstance(kind, str) else " | ".join(json.dumps(one, ensure_ascii=False) for one in kind)
        parameters.add_row(
            _safe(parameter.path), _safe(shown), "yes" if parameter.required else "", _safe(parameter.description)
        )
    if parameters.row_count:
        OUT.print()
        OUT.print(parameters)
    if tool.examples:
        OUT.print("\n[bold]requests it serves[/bold]")
        for example in tool.examples:
            OUT.print(f"  {_safe(example)}")
    if tool.returns:
        OUT.print("\n[bold]returns[/bold]")
        OUT.print(
            Syntax(harmless(json.dumps(tool.returns, ensure_ascii=False, indent=2)), "json", background_color="default")
        )
