"""Toolpath's router against its peers: same catalogs, same requests, same MiniLM vectors, one table.

    python benchmarks/peers_routing.py --data ../shared/data

Each peer runs in an environment of its own, made of the exact pins in ``benchmarks/peers/NAME.txt``. A result is kept
with a digest of all that decides it (pins, adapter, settings and set; for Toolpath the sources and the embedder), so a
run that was broken off goes on where it stopped, and after a change of Toolpath only its own rows are run again. The
table has every row, also those that could not be run, with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from peers import own
from peers.datasets import Dataset, folders_of, open_dataset
from peers.environments import python_of, version_of
from peers.process import AdapterRun, PeerError, Progress, run_adapter
from peers.records import Found, Prices, Records, digest_of_files, key_of
from peers.roster import DEFAULT_ROW, DENSE_ROW, ROWS, Row, selected
from peers.table import Tables, as_data, as_page, lines_of
from peers.vectors import EmbeddingServer, StoredEmbedder, plain_minilm, prices_of
from platformdirs import user_cache_path
from toolpath.catalog import Catalog
from toolpath.router.retrieval import Retriever
from toolpath.router.retrieval.text import tool_text

K = 10
TIMEOUT = 3600.0
CACHE = user_cache_path("toolpath") / "benchmarks"
RESULTS = Path(__file__).parent / "results"
PROTOCOL = Path(__file__).parent / "peers" / "adapters" / "peer_protocol.py"
OWN = Path(own.__file__)


@dataclass(frozen=True)
class Bench:
    """What every row of a run has in common.

    Attributes:
        k: length of the lists.
        timeout: seconds for one peer on one set.
        venvs: where the peers' environments are.
        plain: MiniLM with the weights that every peer gets.
        default: what Toolpath embeds with when it is given nothing.
        records: results of this run and of earlier ones.
        server: address of the embedding server.
        sources: digest of Toolpath's sources when the run began, which is what it has imported.
        prices: what embedding costs, by the embedder's fingerprint; measured when first needed.
    """

    k: int
    timeout: float
    venvs: Path
    plain: StoredEmbedder
    default: StoredEmbedder
    records: Records
    server: str
    sources: str
    prices: dict[str, Prices] = field(default_factory=dict)

    def embedder_of(self, row: Row) -> StoredEmbedder:
        """What the row's vectors are made by."""
        return self.default if row.name == DEFAULT_ROW else self.plain

    def key(self, row: Row, dataset: Dataset) -> str:
        """A digest of all that decides a row's result on a set."""
        inputs: dict[str, Any] = {
            "row": row.name,
            "k": self.k,
            "set": dataset.digest,
            "requests": [query.id for query in dataset.queries],
            "embedder": self.embedder_of(row).fingerprint if row.reads_vectors else None,
        }
        if row.adapter is not None:
            inputs |= {
                "options": dict(row.options),
                "sources": digest_of_files([row.constraints, row.script, PROTOCOL]),
            }
        else:
            inputs["sources"] = [digest_of_files([OWN]), self.sources if row.peer == "toolpath" else None]
        return key_of(inputs)

    def price(self, row: Row, dataset: Dataset) -> Prices | None:
        """What the row's embedder costs here; None when it uses none."""
        if not row.reads_vectors:
            return None
        embedder = self.embedder_of(row)
        if embedder.fingerprint not in self.prices:
            texts = [tool_text(tool) for tool in dataset.catalog]
            self.prices[embedder.fingerprint] = prices_of(embedder.inner, dataset.requests, texts)
        return self.prices[embedder.fingerprint]


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    rows = selected(options.peers)
    folders = folders_of(options.data)
    plain = StoredEmbedder(plain_minilm(), options.state / "vectors", symmetric=True)
    default = StoredEmbedder(Retriever(Catalog([])).embedder, options.state / "vectors")
    with EmbeddingServer(plain) as server:
        bench = Bench(
            k=options.k,
            timeout=options.timeout,
            venvs=options.venvs,
            plain=plain,
            default=default,
            records=Records(options.state / "results"),
            server=server.url,
            sources=own.source_digest(),
        )
        tables: Tables = {}
        for folder in folders:
            dataset = open_dataset(folder, options.limit)
            print(f"{dataset.name}: {len(dataset.catalog)} tools, {len(dataset.queries)} requests", flush=True)
            run_rows(bench, dataset, rows, again=options.again)
            found = {row.name: result for row, result in _kept(bench, dataset)}
            tables[dataset.name] = (dataset, lines_of(dataset, ROWS, found, bench.k))
            _write(tables, options)  # a run that is broken off leaves the table of the sets that are done


def _write(tables: Tables, options: argparse.Namespace) -> None:
    about = {"Machine": machine(), "Written": _now(), "Length of the lists": str(options.k)}
    if options.limit is not None:
        about["Requests of each set"] = f"a sample of at most {options.limit}"
    options.out.mkdir(parents=True, exist_ok=True)
    page = options.out / "peers_routing.md"
    page.write_text(as_page(tables, about), encoding="utf-8")
    data = json.dumps(as_data(tables, about), indent=1, ensure_ascii=False) + "\n"
    page.with_suffix(".json").write_text(data, encoding="utf-8")
    print(f"  written: {page} and {page.with_suffix('.json').name}", flush=True)


def run_rows(bench: Bench, dataset: Dataset, rows: Sequence[Row], *, again: bool = False) -> None:
    """Runs those of the rows that have no result with the present versions and settings; failures are tried again."""
    for row in rows:
        key = bench.key(row, dataset)
        kept = None if again else bench.records.load(row.name, dataset.name, key)
        if kept is not None and kept.failure is None:
            print(f"  {row.name}: kept from {kept.date[:16]}", flush=True)
            continue
        prices = bench.price(row, dataset)
        started = time.perf_counter()
        found = replace(_found(bench, dataset, row), key=key, prices=prices, machine=machine(), date=_now())
        bench.records.save(row.name, dataset.name, found)
        said = found.failure or f"{time.perf_counter() - started:.0f} s"
        print(f"\r  {row.name}: {said}{' ' * 20}", flush=True)


def _found(bench: Bench, dataset: Dataset, row: Row) -> Found:
    """A row's result on a set, or why there is none; without key, prices, machine and date."""
    try:
        version = own.source_version() if row.peer == "toolpath" else f"numpy {np.__version__}"
        if row.adapter is not None:
            version = version_of(row)
        run = _run(bench, dataset, row, _progress(row, len(dataset.queries)))
    except PeerError as error:
        return Found("", failure=str(error))
    return Found("", run.answers, run.index_seconds, run.index_texts, run.index_calls, version=version)


def _run(bench: Bench, dataset: Dataset, row: Row, progress: Progress) -> AdapterRun:
    if row.adapter is None:
        run_own = own.run_dense if row.name == DENSE_ROW else own.run_toolpath
        return run_own(dataset.catalog, dataset.requests, bench.embedder_of(row), bench.k, progress)
    order = {
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "server": tool.server or "",
                "category": tool.category or "",
            }
            for tool in dataset.catalog
        ],
        "options": {**row.options, "top_k": bench.k},
        "embeddings": bench.server,
        "k": bench.k,
    }
    if row.reads_vectors:
        bench.plain.embed(dataset.requests, "tool")  # in batches, or the peer would have them embedded one by one
    command = [str(python_of(row, bench.venvs)), str(row.script)]
    return run_adapter(command, order, dataset.requests, bench.timeout, progress)


def _kept(bench: Bench, dataset: Dataset) -> Iterator[tuple[Row, Found]]:
    for row in ROWS:
        found = bench.records.load(row.name, dataset.name, bench.key(row, dataset))
        if found is not None:
            yield row, found


def _progress(row: Row, total: int) -> Progress:
    shows = sys.stdout.isatty()

    def show(done: int) -> None:
        if shows and done % 50 == 0:
            print(f"\r  {row.name}: {done} of {total}", end="", flush=True)

    return show


def machine() -> str:
    """The machine that the times were measured on."""
    model = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.is_file():
        names = [
            line.partition(":")[2].strip() for line in cpus.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="folders with a tools.jsonl and a queries.jsonl, or folders of such folders",
    )
    parser.add_argument("--peers", metavar="A,B", help="run only these; the table keeps the others' earlier results")
    parser.add_argument("--k", type=int, default=K, help=f"length of the lists (default {K})")
    parser.add_argument("--limit", type=int, metavar="N", help="at most N requests of each set, a seeded sample")
    parser.add_argument("--again", action="store_true", help="run rows that have a result, too (for the times)")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help=f"seconds a row and set (default {TIMEOUT:.0f})")
    parser.add_argument("--venvs", type=Path, default=CACHE / "venvs", metavar="DIR", help="the peers' environments")
    parser.add_argument(
        "--state", type=Path, default=CACHE / "peers_routing", metavar="DIR", help="vectors and results"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="where the table is written")
    options = parser.parse_args(arguments)
    if options.k < 1:
        parser.error("--k must be at least 1")
    return options


if __name__ == "__main__":
    main()
