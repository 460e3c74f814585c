"""The labelled sets that everybody is measured on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from toolpath.catalog import Catalog, load_catalog
from toolpath.router.evaluation import Query, load_queries, resolve_names, sample

from .records import digest_of_files


@dataclass(frozen=True)
class Dataset:
    """A catalog and requests that some of its tools serve.

    Attributes:
        name: of its folder.
        catalog: the tools.
        queries: the requests; those that no tool serves are left out, for they have no recall.
        digest: of its files.
    """

    name: str
    catalog: Catalog
    queries: Sequence[Query]
    digest: str

    @property
    def requests(self) -> list[str]:
        """What is asked, in order."""
        return [query.request for query in self.queries]


def open_dataset(folder: Path, limit: int | None) -> Dataset:
    """Reads a folder with a ``tools.jsonl`` and a ``queries.jsonl``.

    Args:
        folder: its name is the set's.
        limit: at most so many requests, a seeded sample; None: all.

    Raises:
        CatalogError, QueryError: a file cannot be used.
    """
    catalog = load_catalog(folder, strict=False)
    queries = [query for query in resolve_names(load_queries(folder), catalog) if query.gold]
    if not queries:
        raise SystemExit(f"{folder} has no request that a tool serves")
    digest = digest_of_files([folder / "tools.jsonl", folder / "queries.jsonl"])
    return Dataset(folder.name, catalog, queries if limit is None else sample(queries, limit), digest)


def folders_of(places: Sequence[Path]) -> list[Path]:
    """The folders that hold labelled requests: each place itself, or else those in it, by name.

    A set within a place of which no tool serves any request has no recall: it is left out, and stderr says so.

    Raises:
        SystemExit: a place has none, or two sets have the same name.
    """
    found: list[Path] = []
    for place in places:
        inside = [place] if _holds_requests(place) else [*filter(_is_served, sorted(place.glob("*")))]
        if not inside:
            raise SystemExit(f"{place} holds no folder with a tools.jsonl and labelled requests in a queries.jsonl")
        found += [folder for folder in inside if folder not in found]
    names = [folder.name for folder in found]
    if double := sorted({name for name in names if names.count(name) > 1}):
        raise SystemExit(f"two sets have the same name: {', '.join(double)}")
    return found


def _holds_requests(folder: Path) -> bool:
    queries = folder / "queries.jsonl"
    return (folder / "tools.jsonl").is_file() and queries.is_file() and queries.stat().st_size > 0


def _is_served(folder: Path) -> bool:
    """Whether it holds labelled requests, and a tool serves one of them."""
    if not _holds_requests(folder):
        return False
    served = any(query.gold for query in load_queries(folder))
    if not served:
        print(f"{folder} is left out: no tool serves any of its requests", file=sys.stderr)
    return served
