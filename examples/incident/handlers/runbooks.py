"""Runbook tools: ranked search, reading whole procedures or single sections, and a table of contents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolpath.catalog import ToolError

from ..world import World
from .arguments import Handler, Json, not_found
from .text_search import bm25, tokens

TITLE_WEIGHT = 3
SNIPPET = 240


@dataclass(frozen=True, slots=True)
class Runbook:
    """One procedure.

    Attributes:
        id: file name without ending.
        header: the lines "Owner: …", "Services: …", "Alerts: …" by lower-case key.
        sections: heading to Markdown, in order.
    """

    id: str
    title: str
    text: str
    header: dict[str, str]
    sections: dict[str, str]

    @property
    def services(self) -> list[str]:
        """Services that the procedure names."""
        return [name.strip() for name in self.header.get("services", "").split(",") if name.strip()]


class RunbookTools:
    """Handlers over a folder of Markdown files. They are read anew at each call: people edit them."""

    def __init__(self, world: World) -> None:
        self._folder = world.runbooks

    def handlers(self) -> dict[str, Handler]:
        """Tool name to handler."""
        return {
            "search_runbooks": self.search_runbooks,
            "read_runbook": self.read_runbook,
            "list_runbooks": self.list_runbooks,
        }

    def search_runbooks(self, query: str, limit: int = 3) -> Json:
        """The best matches by BM25; an empty list when no word is found anywhere."""
        books = self._all()
        scores = bm25(tokens(query), [_weighted(book) for book in books])
        ranked = sorted(
            (pair for pair in zip(scores, books, strict=True) if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].id)
        )
        return {
            "results": [
                {
                    "runbook_id": book.id,
                    "title": book.title,
                    "owner": book.header.get("owner", ""),
                    "score": round(score, 3),
                    "snippet": _snippet(book, query),
                }
                for score, book in ranked[:limit]
            ],
            "searched": len(books),
        }

    def read_runbook(self, runbook_id: str, section: str | None = None) -> Json:
        """The Markdown, and the headings there are."""
        books = {book.id: book for book in self._all()}
        if runbook_id not in books:
            raise not_found("runbook_id", runbook_id, "runbook", books)
        book = books[runbook_id]
        answer: Json = {
            "runbook_id": book.id,
            "title": book.title,
            "owner": book.header.get("owner", ""),
            "services": book.services,
        }
        if section is None:
            return answer | {"sections": list(book.sections), "markdown": book.text}
        for heading, markdown in book.sections.items():
            if heading.casefold() == section.casefold():
                return answer | {"section": heading, "markdown": markdown}
        raise not_found("section", section, f"section of {book.id} called", book.sections)

    def list_runbooks(self, owner: str | None = None, service: str | None = None) -> Json:
        """Titles and owners of those that match."""
        shown = [
            {
                "runbook_id": book.id,
                "title": book.title,
                "owner": book.header.get("owner", ""),
                "services": book.services,
            }
            for book in self._all()
            if owner in (None, book.header.get("owner")) and (service is None or service in book.services)
        ]
        return {"runbooks": shown, "count": len(shown)}

    def _all(self) -> list[Runbook]:
        books = [_parse(path) for path in sorted(self._folder.glob("*.md"))]
        if not books:
            raise ToolError("the folder of runbooks is empty", "unavailable")
        return books


def _parse(path: Path) -> Runbook:
    text = path.read_text(encoding="utf-8")
    title, header, sections = path.stem, {}, {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("# ") and not heading:
            title = line[2:].strip()
        elif line.startswith("## "):
            heading = line[3:].strip()
            sections[heading] = ""
        elif heading:
            sections[heading] += line + "\n"
        elif ": " in line:
            key, value = line.split(": ", 1)
            header[key.lower()] = value.strip()
    return Runbook(path.stem, title, text, header, {name: body.strip() for name, body in sections.items()})


def _weighted(book: Runbook) -> list[str]:
    return tokens(f"{book.title} {book.header.get('services', '')}") * TITLE_WEIGHT + tokens(book.text)


def _snippet(book: Runbook, query: str) -> str:
    """The line that shares most words with the query."""
    wanted = set(tokens(query))
    lines = [line.strip("- ") for body in book.sections.values() for line in body.splitlines() if line.strip()]
    best = max(lines, key=lambda line: len(wanted & set(tokens(line))), default=book.title)
    return best if len(best) <= SNIPPET else best[: SNIPPET - 1] + "…"
