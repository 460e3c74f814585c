"""How fast the router is, as ratios measured in one run: ``python -m benchmarks.routing_speed --data DIR``.

Run it with nothing else running. The exit code is 1, and the failed figures are named, when one of the floors of
issue 3 is not met. Large catalogs are the real tools of all folders and variants of them (`pooled`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from .measuring import Line, machine, table
from .routing_sections import cold, exported, requests_of, routing, searching

RESULTS = Path(__file__).parent / "results"
SECTIONS = ("routing", "onnx", "cold", "searching")


def main(arguments: list[str] | None = None) -> int:
    """Measures, prints, and says whether all floors hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of data folders with tools.jsonl")
    parser.add_argument("--tools", type=int, nargs="+", default=[3_000, 40_000, 100_000], metavar="N")
    parser.add_argument("--requests", type=int, default=200, help="requests that are routed (default 200)")
    parser.add_argument("--only", choices=SECTIONS, nargs="+", default=SECTIONS, help="sections to run")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--write", action="store_true", help=f"also write the table to {RESULTS.name}/routing_speed.md")
    options = parser.parse_args(arguments)
    about = machine()
    lines = []
    for line in _measured(options):
        lines.append(line)
        verdict = "" if line.holds else "  FAILS"
        print(f"{line.name}: {line.value:.4g} {line.unit} {line.floor}{verdict}", file=sys.stderr, flush=True)
    text = table("Speed of the router", lines, about)
    print(json.dumps({"machine": about, "lines": [line.to_dict() for line in lines]}) if options.json else text)
    if options.write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "routing_speed.md").write_text(text, encoding="utf-8")
    failed = [line.name for line in lines if not line.holds]
    if failed:
        print("floors that do not hold: " + "; ".join(failed), file=sys.stderr)
    return 1 if failed else 0


def _measured(options: argparse.Namespace) -> Iterator[Line]:
    requests = requests_of(options.data, options.requests)
    if "onnx" in options.only:
        yield from exported(options.data, requests)
    if "cold" in options.only:
        yield from cold(options.data, requests[0])
    for size in options.tools:
        if "searching" in options.only:
            yield from searching(size)
        if "routing" in options.only:
            yield from routing(options.data, size, requests)


if __name__ == "__main__":
    sys.exit(main())
