"""Log tools: search, count, tail, context, and grouping a flood of errors into patterns."""

from __future__ import annotations

import heapq
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolpath.catalog import ToolError

from ..world import World
from .arguments import Handler, Json, iso, not_found, window
from .log_lines import LogLine, at_least, read_log
from .safe_regex import compile_safely

MAX_TEXT = 2000
"""Characters of a line that are shown."""

MAX_REGEX_TEXT = 500
"""Characters of a line that a regular expression sees: its time may grow with their cube."""

_VARIABLE = (
    (re.compile(r"'[^']*'|\"[^\"]*\""), "<text>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8}(?:-?[0-9a-f]{4,})*\b"), "<id>"),
    (re.compile(r"\d+(?:\.\d+)*"), "<n>"),
)


@dataclass(slots=True)
class _Pattern:
    """Lines that say the same thing but for the variable parts."""

    first: LogLine
    last: LogLine
    count: int = 0


class LogTools:
    """Handlers over a folder with one file per service."""

    def __init__(self, world: World) -> None:
        self._folder = world.logs

    def handlers(self) -> dict[str, Handler]:
        """Tool name to handler."""
        return {
            "search_logs": self.search_logs,
            "tail_logs": self.tail_logs,
            "count_log_lines": self.count_log_lines,
            "cluster_error_patterns": self.cluster_error_patterns,
            "get_log_context": self.get_log_context,
        }

    def search_logs(
        self,
        query: str,
        services: Sequence[str] = (),
        start: str | None = None,
        end: str | None = None,
        level: str | None = None,
        regex: bool = False,
        limit: int = 50,
    ) -> Json:
        """The oldest `limit` lines that match, and how many there are in all."""
        matches = _matcher(query, regex)
        found = [line for line in self._lines(services, start, end, level) if matches(line)]
        oldest = heapq.nsmallest(limit, found, key=lambda line: (line.at, line.service, line.number))
        return {
            "lines": [_shown(line) for line in oldest],
            "matched": len(found),
            "returned": len(oldest),
            "truncated": len(found) > limit,
        }

    def tail_logs(self, service: str, lines: int = 50, level: str | None = None) -> Json:
        """The end of one log."""
        levels = at_least(level)
        end = deque((line for line in read_log(self._file(service)) if line.level in levels), maxlen=lines)
        return {"service": service, "lines": [_shown(line) for line in end]}

    def count_log_lines(
        self,
        query: str,
        services: Sequence[str] = (),
        start: str | None = None,
        end: str | None = None,
        level: str | None = None,
        group_by: str = "service",
    ) -> Json:
        """Numbers only; groups by minute are in order of time, others by size."""
        matches = _matcher(query, regex=False)
        keys: dict[str, Callable[[LogLine], str]] = {
            "service": lambda line: line.service,
            "level": lambda line: line.level,
            "minute": lambda line: iso(line.at.replace(second=0, microsecond=0)),
        }
        counts = Counter(keys[group_by](line) for line in self._lines(services, start, end, level) if matches(line))
        ordered = sorted(counts.items()) if group_by == "minute" else counts.most_common()
        return {
            "total": counts.total(),
            "group_by": group_by,
            "groups": [{group_by: key, "lines": count} for key, count in ordered],
        }

    def cluster_error_patterns(
        self,
        service: str | None = None,
        start: str | None = None,
        end: str | None = None,
        level: str = "error",
        limit: int = 10,
    ) -> Json:
        """Patterns by frequency; numbers, ids and quoted texts count as variable."""
        patterns: dict[tuple[str, str], _Pattern] = {}
        total = 0
        for line in self._lines([service] if service is not None else [], start, end, level):
            if line.raw[:1].isspace():
                continue  # a stack trace belongs to its error and is no error of its own
            total += 1
            pattern = patterns.setdefault((line.service, _pattern(line.message)), _Pattern(line, line))
            pattern.count += 1
            pattern.last = line
        ranked = sorted(patterns.items(), key=lambda item: (-item[1].count, item[0]))
        return {
            "patterns": [
                {
                    "service": owner,
                    "pattern": text,
                    "count": pattern.count,
                    "first": iso(pattern.first.at),
                    "last": iso(pattern.last.at),
                    "example": _shown(pattern.first),
                }
                for (owner, text), pattern in ranked[:limit]
            ],
            "lines": total,
            "distinct_patterns": len(patterns),
        }

    def get_log_context(self, service: str, line_number: int, before: int = 10, after: int = 10) -> Json:
        """The neighbours of one line."""
        lines: list[LogLine] = []
        total = 0
        for line in read_log(self._file(service)):
            total = line.number
            if line_number - before <= line.number <= line_number + after:
                lines.append(line)
        if line_number > total:
            raise ToolError(
                f"the log of {service} has {total} lines, there is no line {line_number}",
                "not_found",
                fields={"line_number": f"at most {total}"},
            )
        return {"service": service, "line_number": line_number, "lines": [_shown(line) for line in lines]}

    def _lines(
        self, services: Sequence[str], start: str | None, end: str | None, level: str | None
    ) -> Iterator[LogLine]:
        """All lines of these services (all services when empty) in the period, `level` or worse."""
        first, last = window(start, end)
        levels = at_least(level)
        files = [self._file(service) for service in dict.fromkeys(services)] or list(self._files().values())
        for file in files:
            for line in read_log(file):
                if first <= line.at < last and line.level in levels:
                    yield line

    def _files(self) -> dict[str, Path]:
        return {path.stem: path for path in sorted(self._folder.glob("*.log"))}

    def _file(self, service: str) -> Path:
        files = self._files()
        if service not in files:
            raise not_found("service", service, "log of a service called", files)
        return files[service]


def _matcher(query: str, regex: bool) -> Callable[[LogLine], bool]:
    """Whether a line holds the text, or matches the expression, whatever the case.

    Raises:
        ToolError: "validation_error" for an expression that is wrong, or of a shape that may take for ever.
    """
    if not regex:
        wanted = query.casefold()
        return lambda line: wanted in line.raw.casefold()
    pattern = compile_safely(query, "query")
    return lambda line: pattern.search(line.raw[:MAX_REGEX_TEXT]) is not None


def _pattern(message: str) -> str:
    for expression, placeholder in _VARIABLE:
        message = expression.sub(placeholder, message)
    return message


def _shown(line: LogLine) -> Json:
    text = line.raw if len(line.raw) <= MAX_TEXT else line.raw[:MAX_TEXT] + "…"
    return {
        "service": line.service,
        "line_number": line.number,
        "at": iso(line.at),
        "level": line.level,
        "text": text,
    }
