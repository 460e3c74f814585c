"""The comparison as data and as a page."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .datasets import Dataset
from .records import Found
from .roster import DEFAULT_ROW, Row
from .scoring import Difference, Verdict, difference, recalls

CUTOFFS = (1, 5, 10)
MAIN = 5
"""The cutoff of the overview."""

MARKS = {Verdict.BELOW: "", Verdict.TIE: " =", Verdict.ABOVE: " ▲"}
NOT_RUN = "not run with these versions and settings"


@dataclass(frozen=True)
class Line:
    """One row on one set.

    Attributes:
        row: who.
        found: what it found; None: it has not been run.
        recall: by cutoff.
        differences: of Toolpath's default less this row, by cutoff; empty for the default itself and without it.
    """

    row: Row
    found: Found | None
    recall: Mapping[int, float]
    differences: Mapping[int, Difference]

    @property
    def failure(self) -> str | None:
        """Why the row has no figures, or None."""
        return NOT_RUN if self.found is None else self.found.failure


Tables = dict[str, tuple[Dataset, list[Line]]]
"""Each set by name, with its rows."""


def lines_of(dataset: Dataset, rows: Sequence[Row], found: Mapping[str, Found], k: int) -> list[Line]:
    """The table of one set.

    Args:
        dataset: the set.
        rows: in the table's order.
        found: results by row; failures among them.
        k: length of the lists; cutoffs beyond it are left out.
    """
    cutoffs = [cutoff for cutoff in CUTOFFS if cutoff <= k]
    scores = {
        name: {cutoff: recalls(dataset.queries, [a.names for a in result.answers], cutoff) for cutoff in cutoffs}
        for name, result in found.items()
        if result.failure is None
    }
    default = scores.get(DEFAULT_ROW)
    return [
        Line(
            row,
            found.get(row.name),
            {cutoff: float(values.mean()) for cutoff, values in scores.get(row.name, {}).items()},
            {cutoff: difference(default[cutoff], values) for cutoff, values in scores.get(row.name, {}).items()}
            if default is not None and row.name != DEFAULT_ROW
            else {},
        )
        for row in rows
    ]


def as_data(tables: Tables, about: Mapping[str, str]) -> dict[str, Any]:
    """The comparison as one JSON-ready object; recalls are fractions of 1."""
    return {
        **about,
        "sets": {
            name: {
                "tools": len(dataset.catalog),
                "requests": len(dataset.queries),
                "rows": [_line_as_data(line) for line in lines],
            }
            for name, (dataset, lines) in tables.items()
        },
    }


def as_page(tables: Tables, about: Mapping[str, str]) -> str:
    """The comparison as Markdown."""
    parts = [
        "# Choosing tools: Toolpath and its peers",
        "Written by `python benchmarks/peers_routing.py`; do not edit. "
        + " ".join(f"{name}: {value}." for name, value in about.items()),
        "Every row gets the same catalog, the same requests and, where it embeds, the same vectors of "
        "all-MiniLM-L6-v2 (only Toolpath's default may have an embedder of its own). Peers have their default "
        "settings and run in their ranking mode, with lists of the same length and no threshold. Recall@k is the "
        "mean share of a request's right tools among the first k. Differences are Toolpath's default less the row, "
        "over the same requests, with the 95% interval of a paired bootstrap; `=` marks a tie (the interval holds "
        "0), `▲` a row above the default; bold is the best. Index and p50 are the row's own time plus that of the "
        "texts and calls it had embedded, at the price of embedding in that run, so nobody gains from a cache; "
        "`own` leaves embedding out.",
        *_overview(tables),
        *(part for name, (dataset, lines) in tables.items() for part in _section(name, dataset, lines)),
        "## Settings",
        "\n".join(_footnotes(tables)),
    ]
    return "\n\n".join(parts) + "\n"


def _overview(tables: Tables) -> Iterator[str]:
    yield f"## Recall@{MAIN}"
    head = ["", *tables]
    body: dict[str, list[str]] = {}
    for _, lines in tables.values():
        best = max((line.recall.get(MAIN, 0.0) for line in lines), default=0.0)
        for line in lines:
            body.setdefault(line.row.name, []).append(_cell(line, MAIN, best))
    yield _grid([head, *([name, *cells] for name, cells in body.items())])


def _section(name: str, dataset: Dataset, lines: Sequence[Line]) -> Iterator[str]:
    yield f"## {name}"
    yield f"{len(dataset.catalog)} tools, {len(dataset.queries)} requests."
    cutoffs = [cutoff for cutoff in CUTOFFS if any(cutoff in line.recall for line in lines)]
    best = {cutoff: max(line.recall.get(cutoff, 0.0) for line in lines) for cutoff in cutoffs}
    head = ["", *(f"recall@{cutoff}" for cutoff in cutoffs), f"difference @{MAIN}"]
    head += ["index, s", "own", "p50, ms", "own", "run"]
    rows = [head]
    for line in lines:
        if line.failure is not None or line.found is None:
            rows.append([line.row.name, f"no result: {line.failure}", *[""] * (len(head) - 2)])
            continue
        found = line.found
        own = statistics.median(answer.seconds for answer in found.answers) * 1e3
        p50 = _p50(found)
        rows.append(
            [
                line.row.name,
                *(_cell(line, cutoff, best[cutoff]) for cutoff in cutoffs),
                _interval(line.differences.get(MAIN)),
                f"{found.seconds_to_index:.2f}",
                f"{found.index_seconds:.2f}",
                "–" if p50 is None else f"{p50:.2f}",
                f"{own:.2f}",
                f"{found.version}, {found.date[:10]}" + (f"; {found.errors} requests raised" if found.errors else ""),
            ]
        )
    yield _grid(rows)


def _footnotes(tables: Tables) -> Iterator[str]:
    seen: dict[str, str] = {}
    for _, lines in tables.values():
        for line in lines:
            seen.setdefault(line.row.name, line.row.settings)
    yield from (f"- **{name}**: {settings}" for name, settings in seen.items())


def _cell(line: Line, cutoff: int, best: float) -> str:
    if cutoff not in line.recall:
        return "–"
    value = f"{line.recall[cutoff]:.3f}"
    shown = f"**{value}**" if line.recall[cutoff] >= best else value
    return shown + (MARKS[line.differences[cutoff].verdict] if cutoff in line.differences else "")


def _interval(found: Difference | None) -> str:
    return "" if found is None else f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def _grid(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def _p50(found: Found) -> float | None:
    """Median milliseconds of a request; None when every one of them raised."""
    latencies = found.latencies()
    return statistics.median(latencies) * 1e3 if latencies else None


def _line_as_data(line: Line) -> dict[str, Any]:
    start = {"row": line.row.name, "peer": line.row.peer, "settings": line.row.settings}
    if line.failure is not None or line.found is None:
        return {**start, "failure": line.failure}
    found = line.found
    return {
        **start,
        "recall": {str(cutoff): round(value, 6) for cutoff, value in line.recall.items()},
        "difference": {
            str(cutoff): {**{name: round(v, 6) for name, v in asdict(gap).items()}, "verdict": gap.verdict.value}
            for cutoff, gap in line.differences.items()
        },
        "index_seconds": round(found.seconds_to_index, 4),
        "index_seconds_own": round(found.index_seconds, 4),
        "index_texts": found.index_texts,
        "index_calls": found.index_calls,
        "p50_ms": _p50(found),
        "p50_ms_own": statistics.median(answer.seconds for answer in found.answers) * 1e3,
        "prices": asdict(found.prices) if found.prices else None,
        "requests_raised": found.errors,
        "version": found.version,
        "machine": found.machine,
        "date": found.date,
    }
