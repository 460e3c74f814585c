"""Fits the numbers behind "none fits" (`router/calibration/constants.py`) on labelled training catalogs.

    python benchmarks/fit_abstention.py --train DIR [--embedder NAME] [--write]

DIR has one folder per catalog with tools.jsonl and queries.jsonl. Every request is asked several times: with its tool
in reach (the whole catalog; its own candidates; among random tools; among the tool's neighbours) and without (on a
catalog that lacks half of the wanted tools; among random tools, neighbours, or its own candidates without the wanted
one). Look-alikes of a wanted tool are never among the tools that do not fit. Small talk (`data/small_talk.txt`) fits
nothing.

Each catalog is judged by numbers fitted on the others; the three BFCL folders share tools, so these count as one. The
table goes to standard output; with --write the numbers fitted on all of them become the package's.
Run it again after a change of the default embedder, of the weights in `retrieval.fusion` or of the texts of tools.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from toolpath.catalog import Catalog, Tool, load_catalog
from toolpath.router import Candidate, Intent, Retriever
from toolpath.router.calibration import (
    CatalogYardsticks,
    FitEvidence,
    FitModel,
    expected_calibration_error,
    fit_evidence,
    fit_model,
    own_words,
    reach,
    reliability,
)
from toolpath.router.calibration.evidence import FEATURES
from toolpath.router.embedding import Embedder, embedder_named
from toolpath.router.evaluation import Query, load_queries, resolve_names, sample
from toolpath.router.evaluation.metrics import auroc
from toolpath.router.language import detect_language
from toolpath.router.retrieval import FusionWeights
from toolpath.router.selection import extract_call

HERE = Path(__file__).parent
CONSTANTS = HERE.parent / "router" / "calibration" / "constants.py"
K = 10
ASKED = 150
"""Requests per catalog."""
LOOK_ALIKE = 0.95
"""A tool that comes this near (as a share) to the wanted one's cosine with the wanted one's own words may fit, too."""
NEIGHBOURS = 12
SIZES = (1, 1, 2, 3, 4, 5, 6, 7)
"""Sizes of the sets of tools that do not fit; real callers' sets are small."""
REFUSED = 0.05
"""Share of answerable requests that the threshold may refuse, on average over `UNSEEN` and the on-call requests."""
UNSEEN = "toolalpaca"
"""The training catalog that the default embedder was not trained on (`train_embedder`)."""
ONCALL = HERE / "data" / "oncall"
ACROSS = ("standing", "lead")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One request with one set of tools."""

    kind: str
    request: str
    fits: bool
    within: frozenset[str] | None = None


@dataclass(frozen=True)
class Judged:
    """The evidence of a catalog's cases, shape ``(cases, values)``; labels and weights are parallel.

    Every kind of case counts the same within the answerable and the other ones, which count half each.
    """

    kinds: list[str]
    rows: Floats
    fits: npt.NDArray[np.bool_]
    counts: Floats


def main() -> None:
    """Reads the options, fits, prints and perhaps writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--train", type=Path, required=True, help="folder of catalogs to fit on")
    parser.add_argument("--embedder", default="default", help="name, as for toolpath route")
    parser.add_argument("--limit", type=int, default=ASKED, help="requests per catalog")
    parser.add_argument("--write", action="store_true", help="write the package's constants")
    options = parser.parse_args()
    fitted = run(options.train, embedder_named(options.embedder), options.limit)
    if options.write:
        CONSTANTS.write_text(fitted, encoding="utf-8")


def run(folder: Path, embedder: Embedder, limit: int) -> str:
    """Fits and prints the table; returns the text of the constants module."""
    judged = {path.name: judge_catalog(path, embedder, limit) for path in sorted(folder.iterdir()) if path.is_dir()}
    probabilities = {name: apart(name, judged) for name in judged}
    everything = np.concatenate([one.rows for one in judged.values()])
    fits = np.concatenate([one.fits for one in judged.values()])
    counts = np.concatenate([one.counts for one in judged.values()])
    columns = [FEATURES.index(name) for name in ACROSS]
    general, across = fit_model(everything, list(fits), counts), fit_model(everything[:, columns], list(fits), counts)
    threshold = choose_threshold(folder, embedder, general)
    print(f"threshold {threshold:.3f}; each catalog judged by numbers fitted on the others")
    print(f"{'catalog':20} {'AUROC':>6} {'refused: none fits':>19} {'some fits':>10} {'ECE':>6}  refused by kind")
    for name, one in judged.items():
        print(line(name, one, probabilities[name], threshold))
    for name, weight, spread in zip(FEATURES, general.weights, everything.std(axis=0), strict=True):
        print(f"  {name:10} weight {weight:8.3f}  per standard deviation {weight * spread:6.2f}")
    return constants(general, across, threshold, sorted(judged), repr(embedder))


def judge_catalog(path: Path, embedder: Embedder, limit: int) -> Judged:
    """The evidence for all cases of one catalog."""
    catalog = load_catalog(str(path), strict=False)
    queries = sample(resolve_names(load_queries(path), catalog), limit)
    retriever = Retriever(catalog, embedder, weights=FusionWeights(parameters=0))
    close = look_alikes(retriever, catalog, queries)
    draw = random.Random(0)
    judged = list(evidence_of(catalog, retriever, [*cases(catalog, queries, close, draw), *small_talk(catalog, draw)]))
    wanted = sorted({name for query in queries for name in query.tools})
    gone = {name for tool in draw.sample(wanted, len(wanted) // 2) for name in close[tool].same}
    lesser = Catalog(tool for tool in catalog if tool.name not in gone)
    retriever = Retriever(lesser, retriever.embedder, weights=FusionWeights(parameters=0))
    judged += evidence_of(lesser, retriever, held_out(queries, gone, close, draw))
    kinds = [case.kind for case, _ in judged]
    fits = np.array([case.fits for case, _ in judged])
    sides = {fit: {case.kind for case, _ in judged if case.fits == fit} for fit in (True, False)}
    counts = np.array([1 / kinds.count(case.kind) / len(sides[case.fits]) for case, _ in judged])
    print(f"{path.name}: {len(catalog)} tools, {len(queries)} requests, {len(judged)} cases", flush=True)
    return Judged(kinds, np.array([evidence.values() for _, evidence in judged]), fits, counts)


@dataclass(frozen=True)
class Close:
    """Names of tools that are as good as a wanted one (itself among them), and of its other neighbours."""

    same: frozenset[str]
    near: tuple[str, ...]


def look_alikes(retriever: Retriever, catalog: Catalog, queries: Sequence[Query]) -> dict[str, Close]:
    """For each wanted tool what is close to it, found with its own words."""
    wanted: list[Tool] = [catalog.get(name) for name in sorted({n for query in queries for n in query.tools})]
    texts = [own_words(tool) or tool.name for tool in wanted]
    result = {}
    for tool, found in zip(wanted, retriever.search_many(texts, 3 * NEIGHBOURS), strict=True):
        own = next((one.parts["dense"] for one in found if one.name == tool.name), reach(found) or 0.0)
        same = {one.name for one in found if one.parts["dense"] >= LOOK_ALIKE * own} | {tool.name}
        near = [one.name for one in found if one.name not in same][:NEIGHBOURS]
        result[tool.name] = Close(frozenset(same), tuple(near))
    return result


def cases(catalog: Catalog, queries: Sequence[Query], close: dict[str, Close], draw: random.Random) -> Iterator[Case]:
    """Cases on the catalog as it is."""
    names = [tool.name for tool in catalog]
    for query in queries:
        own = frozenset(query.candidates or ())
        if query.expect_none:
            if own:
                yield Case("given, none", query.request, False, own)
            continue
        right = frozenset().union(*(gold.accepted for gold in query.gold))
        wrong = right.union(*(close[name].same for name in query.tools))
        near = sorted({name for tool in query.tools for name in close[tool].near} - wrong)
        others = [name for name in draw.sample(names, min(len(names), 40)) if name not in wrong]
        yield Case("whole", query.request, True)
        yield Case("alone", query.request, True, right)
        yield Case("among random", query.request, True, right | some(others, draw))
        yield Case("random", query.request, False, some(others, draw))
        if near:
            yield Case("among near", query.request, True, right | some(near, draw))
            yield Case("near", query.request, False, some(near, draw))
        if len(own) > 1:
            yield Case("own", query.request, True, own)
        if own - wrong:
            yield Case("own without it", query.request, False, own - wrong)


def held_out(queries: Sequence[Query], gone: set[str], close: dict[str, Close], draw: random.Random) -> Iterator[Case]:
    """Cases on a catalog that lacks some wanted tools: requests for those alone."""
    for query in queries:
        if not query.tools or any(not gold.accepted <= gone for gold in query.gold):
            continue
        near = [name for tool in query.tools for name in close[tool].near if name not in gone]
        yield Case("held out", query.request, False)
        if near:
            yield Case("held out, near", query.request, False, some(near, draw))


def small_talk(catalog: Catalog, draw: random.Random) -> Iterator[Case]:
    """Requests for nothing, over the whole catalog and over a few tools."""
    names = [tool.name for tool in catalog]
    for request in (HERE / "data" / "small_talk.txt").read_text(encoding="utf-8").splitlines():
        yield Case("small talk", request, False)
        yield Case("small talk", request, False, some(names, draw))


def some(names: Sequence[str], draw: random.Random) -> frozenset[str]:
    """A few of `names`."""
    return frozenset(draw.sample(list(names), min(draw.choice(SIZES), len(names))))


def evidence_of(
    catalog: Catalog, retriever: Retriever, asked: Iterator[Case] | Sequence[Case]
) -> Iterator[tuple[Case, FitEvidence]]:
    """Each case with its evidence, as `RankSelector` would see it; English alone, where the yardstick is sure."""
    todo = [case for case in asked if detect_language(case.request) == "en" and case.within != frozenset()]
    yardstick = CatalogYardsticks(catalog, retriever).of("en")
    if yardstick is None:
        raise SystemExit("a catalog has too few English descriptions to fit on")
    intents = [Intent(language="en", within=case.within) for case in todo]
    found: list[list[Candidate]] = retriever.search_many([case.request for case in todo], K, intents)
    for case, candidates in zip(todo, found, strict=True):
        missing = len(extract_call(candidates[0].tool, case.request).missing)
        evidence = fit_evidence(case.request, candidates, yardstick, missing)
        if evidence is not None:
            yield case, evidence


def apart(name: str, judged: dict[str, Judged]) -> Floats:
    """Probabilities for a catalog's cases by numbers fitted on catalogs that share nothing with it."""
    others = [one for other, one in judged.items() if family(other) != family(name)]
    model = fit_model(
        np.concatenate([one.rows for one in others]),
        list(np.concatenate([one.fits for one in others])),
        np.concatenate([one.counts for one in others]),
    )
    return np.array([model.probability(row) for row in judged[name].rows])


def family(name: str) -> str:
    """Catalogs of one origin share tools: ``bfcl_simple`` and ``bfcl_multiple`` are of the family ``bfcl``."""
    return name.split("_")[0]


def choose_threshold(folder: Path, embedder: Embedder, model: FitModel) -> float:
    """The highest threshold that refuses at most `REFUSED` of the answerable requests, on average over two catalogs.

    Both are catalogs that the default embedder has not learned from: on those that it knows, requests come nearer to
    their tools than any user's will, and a threshold from there turned away 40% of an unseen set.
    """
    probabilities = []
    for path in (folder / UNSEEN, ONCALL):
        catalog = load_catalog(str(path), strict=False)
        queries = [query for query in load_queries(path) if query.tools and query.fields.get("split") in (None, "dev")]
        retriever = Retriever(catalog, embedder)
        whole = [Case("whole", query.request, True) for query in queries]
        seen = [evidence for _, evidence in evidence_of(catalog, retriever, whole)]
        probabilities.append(np.array([model.probability(evidence.values()) for evidence in seen]))

    def refused(threshold: float) -> float:
        return float(np.mean([np.mean(one < threshold) for one in probabilities]))

    return max((n / 200 for n in range(1, 150) if refused(n / 200) <= REFUSED), default=0.005)


def share(probabilities: Floats, threshold: float, one: Judged, fits: bool) -> float:
    """Weighted share of the answerable (or other) cases that are refused."""
    side = one.fits == fits
    return float(np.average(probabilities[side] < threshold, weights=one.counts[side]))


def line(name: str, one: Judged, probabilities: Floats, threshold: float) -> str:
    """One row of the table. The ECE is over cases as they are, half of which fit nothing."""
    area = auroc(probabilities[one.fits], probabilities[~one.fits])
    error = expected_calibration_error(reliability([float(p) for p in probabilities], [bool(f) for f in one.fits]))
    kinds = np.array(one.kinds)
    by_kind = ", ".join(
        f"{kind} {np.mean(probabilities[kinds == kind] < threshold):.0%}" for kind in dict.fromkeys(one.kinds)
    )
    none, some_fit = (share(probabilities, threshold, one, fits) for fits in (False, True))
    return f"{name:20} {area or 0:6.3f} {none:19.1%} {some_fit:10.1%} {error or 0:6.3f}  {by_kind}"


def constants(general: FitModel, across: FitModel, threshold: float, names: Sequence[str], embedder: str) -> str:
    """The text of the constants module."""
    weights = "\n".join(
        f"        {weight:.4f},  # {name}" for name, weight in zip(FEATURES, general.weights, strict=True)
    )
    crossing = ", ".join(f"{weight:.4f}" for weight in across.weights)
    return f'''"""The fitted numbers of abstention, written by ``python benchmarks/fit_abstention.py --write``.

Training catalogs: {", ".join(names)}.
Embedder: {embedder}.
"""

from __future__ import annotations

from .model import FitModel

GENERAL = FitModel(
    intercept={general.intercept:.4f},
    weights=(
{weights}
    ),
)
"""On all of `evidence.FEATURES`, in their order."""

ACROSS_LANGUAGES = FitModel(intercept={across.intercept:.4f}, weights=({crossing}))
"""On `standing` and `lead` alone: for a request in another language than the descriptions, where words say nothing."""

THRESHOLD = {threshold:g}
"""Probability below which none fits; it refuses {REFUSED:.0%} of the answerable requests of two catalogs that the
default embedder has not learned from."""
'''


if __name__ == "__main__":
    main()
