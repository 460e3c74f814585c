"""The ablation: rows over the same requests, the product's own ranking in the first, and tables that say so."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from toolpath.catalog import load_catalog
from toolpath.router import HashEmbedder, Retriever, RuleIntentClassifier
from toolpath.router.evaluation import load_queries, sample
from toolpath.router.retrieval.weighing import Evidence

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def ablation() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ablation", ROOT / "benchmarks" / "ablation.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ablation"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one set of a few tools, and one without requests."""
    tools = [
        {"name": f"tool_{word}", "description": f"Does {word} things.", "category": word}
        for word in ("weather", "refund", "mail", "hotel")
    ]
    rows = [
        {"id": "1", "query": "weather things", "tools": ["tool_weather"]},
        {"id": "2", "query": "a refund and a hotel", "tools": ["tool_refund", "tool_hotel"]},
        {"id": "3", "query": "sing", "expect_none": True},
    ]
    for name, queries in (("small", rows), ("unlabelled", [])):
        (tmp_path / name).mkdir()
        for file, lines in (("tools", tools), ("queries", queries)):
            (tmp_path / name / f"{file}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_the_first_row_is_the_ranking_that_users_get(ablation: ModuleType) -> None:
    folder = ROOT / "benchmarks" / "data" / "oncall"
    result = ablation.ablate(folder, HashEmbedder(64), limit=40)
    catalog = load_catalog(str(folder / "tools.jsonl"))
    queries = sample([query for query in load_queries(folder) if query.gold], 40)
    requests = [query.request for query in queries]
    classifier = RuleIntentClassifier(catalog)
    found = Retriever(catalog, HashEmbedder(64)).search_many(requests, 10, list(map(classifier.classify, requests)))
    for at, k in enumerate(ablation.CUTOFFS):
        recalls = [
            np.mean([not gold.accepted.isdisjoint(candidate.name for candidate in ranking[:k]) for gold in query.gold])
            for query, ranking in zip(queries, found, strict=True)
        ]
        assert result.rows[0].recalls[at] == pytest.approx(np.mean(recalls))
    assert result.requests == 40 and result.tools == len(catalog)


def test_a_run_prints_every_part_and_writes_when_asked(
    ablation: ModuleType, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ablation.main(["--data", str(data), "--embedder", "hash", "--json", "--out", str(data / "results")])
    report = json.loads(capsys.readouterr().out)
    (only,) = report["sets"]
    assert (only["set"], only["requests"]) == ("small", 2)
    parts = {row["part"] for row in only["rows"]}
    assert {"default", "stage 1", "arms", "fusion", "weight of words", "weight of parameters"} <= parts
    assert only["rows"][0]["difference@5"] == 0
    assert json.loads((data / "results" / "ablation-hash.json").read_text()) == report
    assert "## small: 2 requests, 4 tools" in (data / "results" / "ablation-hash.md").read_text()


def test_data_without_labelled_requests_is_refused(ablation: ModuleType, data: Path) -> None:
    with pytest.raises(SystemExit, match="labelled requests"):
        ablation.main(["--data", str(data / "unlabelled"), "--embedder", "hash"])


def test_reciprocal_ranks_give_no_credit_for_words_that_do_not_match(ablation: ModuleType) -> None:
    one = Evidence(
        np.arange(3),
        np.array([3.0, 2.0, 1.0]),
        np.array([0.0, 0.0, 5.0]),
        np.full(3, np.nan),
        1.0,
        (),
        (frozenset([0]), frozenset([2])),
    )
    fused = ablation.reciprocal_ranks(one)
    assert fused == pytest.approx([1 / 61, 1 / 62, 1 / 63 + 1 / 61])
    assert ablation.by_score(ablation.reciprocal_ranks)(one) == [2, 1]
