"""Report documents: written, read and listed as Markdown files inside one folder, and never outside it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from toolpath.catalog import ToolError

from ..world import World
from .arguments import Handler, Json, invalid, iso

MAX_BYTES = 1_000_000
MAX_PATH = 500


class DocumentTools:
    """Handlers over the reports folder."""

    def __init__(self, world: World) -> None:
        self._now = world.now
        self._folder = world.reports

    def handlers(self) -> dict[str, Handler]:
        """Tool name to handler."""
        return {
            "write_incident_report": self.write_incident_report,
            "read_report": self.read_report,
            "list_reports": self.list_reports,
        }

    def write_incident_report(
        self, title: str, sections: Sequence[dict[str, str]], path: str = "incident-report.md", overwrite: bool = True
    ) -> Json:
        """Where the report is and how long it became. A reader never sees half a file."""
        target = self._inside(path)
        if target.exists() and not overwrite:
            raise invalid("path", "exists already; choose another one or set overwrite")
        heading = " ".join(title.split())
        parts = [f"# {heading}", f"Written {iso(self._now)}"]
        parts += [f"## {' '.join(part['heading'].split())}\n\n{part['body'].strip()}" for part in sections]
        content = ("\n\n".join(parts) + "\n").encode("utf-8", "replace")
        if len(content) > MAX_BYTES:
            raise invalid("sections", f"make a report of {len(content)} bytes; at most {MAX_BYTES} are written")
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_at_once(target, content)
        return {"path": self._name(target), "bytes": len(content), "sections": len(sections), "title": heading}

    def read_report(self, path: str, max_chars: int = 20_000) -> Json:
        """The report's text, cut after `max_chars`."""
        target = self._inside(path)
        if not target.is_file():
            raise ToolError(
                f"there is no report {path!r}",
                "not_found",
                fields={"path": "no such report"},
                alternatives=("list_reports",),
            )
        text = target.read_text(encoding="utf-8", errors="replace")
        return {"path": self._name(target), "markdown": text[:max_chars], "truncated": len(text) > max_chars}

    def list_reports(self, query: str = "") -> Json:
        """Path, title and size of every report whose title holds `query`."""
        reports = []
        for file in sorted(self._folder.rglob("*.md")):
            if not file.is_file() or not file.resolve().is_relative_to(self._folder.resolve()):
                continue  # a folder, or a link that leads out
            with file.open(encoding="utf-8", errors="replace") as lines:
                title = lines.readline().removeprefix("# ").strip()
            if query.casefold() in title.casefold():
                reports.append({"path": self._name(file), "title": title, "bytes": file.stat().st_size})
        return {"reports": reports, "count": len(reports)}

    def _inside(self, path: str) -> Path:
        """The file that `path` names, with links followed.

        Raises:
            ToolError: "validation_error", when it is not a relative path to an .md file inside the folder.
        """
        parts = PurePosixPath(path.replace("\\", "/"))
        if len(path) > MAX_PATH or any(ord(char) < 32 for char in path):
            raise invalid("path", f"must have at most {MAX_PATH} characters, none of them a control character")
        if parts.is_absolute() or ":" in path or ".." in parts.parts:
            raise invalid("path", "must be a relative path without '..' inside the reports folder")
        if parts.suffix != ".md" or any(len(part.encode("utf-8", "replace")) > 200 for part in parts.parts):
            raise invalid("path", "must be a file name that ends in .md, with parts of at most 200 bytes")
        folder = self._folder.resolve()
        target = folder.joinpath(*parts.parts).resolve()
        if not target.is_relative_to(folder):
            raise invalid("path", "must stay inside the reports folder")
        if target.is_dir():
            raise invalid("path", "is a folder")
        inner = target.relative_to(folder).parents
        if any((folder / parent).is_file() for parent in inner):
            raise invalid("path", "leads through a file")
        return target

    def _name(self, file: Path) -> str:
        return file.resolve().relative_to(self._folder.resolve()).as_posix()


def _write_at_once(target: Path, content: bytes) -> None:
    """Writes beside the target and moves it into place."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".report-")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
