"""The report: what it sums up beside the scores, and what its JSON leaves out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from toolpath.router import Usage
from toolpath.router.evaluation import BenchReport, Confusion, Outcome, Tokens, judge
from toolpath.router.evaluation.scores import score

from .builders import decision, letters, outcome, query


def with_usage(usage: Usage) -> Outcome:
    return judge(query("a"), decision("ab", "a", usage=usage), letters())


def a_report(**changes: object) -> BenchReport:
    outcomes = (outcome("a", "ab", "a"),)
    report = BenchReport(
        scores=score(outcomes, (1,)),
        by={},
        confused=(),
        tokens=Tokens.of(outcomes),
        latencies=(),
        served_by={"rank": 1},
        left_out={},
        conversations=0,
        outcomes=outcomes,
        k=1,
        cutoffs=(1,),
        tools=10,
        catalog_digest="d",
        embedder="e",
        within_candidates=False,
    )
    return replace(report, **changes)  # type: ignore[arg-type]


def test_tokens_are_means_of_what_is_shown_and_sums_of_what_a_model_read() -> None:
    tokens = Tokens.of(
        [
            with_usage(Usage(input_tokens=700, output_tokens=30, requests=1, shown_tokens=400, catalog_tokens=8_000)),
            with_usage(Usage(input_tokens=900, output_tokens=50, requests=2, shown_tokens=200, catalog_tokens=8_000)),
        ]
    )
    assert tokens == Tokens(shown=300, catalog=8_000, model_input=1_600, model_output=80, model_requests=3)
    assert tokens.to_dict()["share"] == pytest.approx(300 / 8_000)


def test_a_catalog_without_cost_gives_no_share() -> None:
    assert Tokens.of([with_usage(Usage())]).to_dict()["share"] is None


def test_percentiles_of_the_latency() -> None:
    report = a_report(latencies=(10.0, 20.0, 30.0))
    assert report.p50 == 20.0
    assert report.to_dict()["latency_ms"]["p95"] == pytest.approx(29.0)
    assert a_report().p50 is None


def test_json_has_the_most_frequent_confusions_only() -> None:
    pairs = tuple(Confusion(f"a{number}", "b", 30 - number, "1", "text") for number in range(30))
    listed = a_report(confused=pairs).to_dict()["confused"]
    assert [entry["gold"] for entry in listed] == [f"a{number}" for number in range(20)]


def test_measures_are_read_by_name() -> None:
    assert a_report()["recall@1"] == 1.0
    assert a_report()["abstention.auroc"] is None
    with pytest.raises(KeyError):
        a_report()["recall@7"]
