"""`toolpath fit` as a person and as a program see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from click.testing import Result
from toolpath.catalog import load_catalog
from toolpath.console import fit as fit_module
from toolpath.console.fit import fit
from toolpath.router import HashEmbedder, open_retriever
from toolpath.router.evaluation import QueryError
from toolpath.router.retrieval import FusionWeights
from toolpath.router.retrieval.weighing import WEIGHTS
from typer.testing import CliRunner

app = typer.Typer()
app.command()(fit)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A catalog of twenty tools that come in pairs, and five requests for each."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    topics = ("invoice", "parcel", "hotel", "flight", "weather", "salary", "ticket", "recipe", "museum", "battery")
    tools = [
        {"name": f"{topic}_{verb}", "description": f"{verb} the {topic} of a customer."}
        for topic in topics
        for verb in ("list", "cancel")
    ]
    rows: list[dict[str, Any]] = [
        {"id": f"{tool['name']}{at}", "query": f"{opening} {tool['description']}", "tools": [tool["name"]]}
        for tool in tools
        for at, opening in enumerate(("please", "I want to", "could you", "now", "kindly"))
    ]
    for name, lines in (("tools", tools), ("queries", rows)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path / "tools.jsonl", tmp_path / "queries.jsonl"


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def choose(weights: FusionWeights, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the search choose `weights`, whatever the requests say."""
    from toolpath.router.evaluation import fitting

    monkeypatch.setattr(fitting, "choose_weights", lambda *_, **__: weights)


def start_with(weights: FusionWeights, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the command open a retriever that starts from `weights`."""
    opened = fit_module.open_index

    def open_index(*arguments: Any, **options: Any) -> Any:
        retriever, embedded = opened(*arguments, **options)
        retriever.weights = weights
        return retriever, embedded

    monkeypatch.setattr(fit_module, "open_index", open_index)


def test_better_weights_are_kept_in_the_index_where_others_find_them(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_with(FusionWeights(dense=0.0, dense_unknown=0.0, lexical=0.0, parameters=0.0), monkeypatch)
    done = call(*files, "--embedder", "hash", "--index", tmp_path / "index", "--json")
    report = json.loads(done.stdout)
    assert done.exit_code == 0 and report["adopted"] and report["saved"]
    assert report["fitted_on"] + report["held_out"] == 100
    chosen = FusionWeights.from_dict(report["weights"]["chosen"])
    assert open_retriever(load_catalog(str(files[0])), tmp_path / "index", HashEmbedder()).weights == chosen


def test_a_dry_run_keeps_nothing(files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_with(FusionWeights(dense=0.0, dense_unknown=0.0, lexical=0.0, parameters=0.0), monkeypatch)
    done = call(*files, "--embedder", "hash", "--index", tmp_path / "index", "--dry-run")
    assert done.exit_code == 0 and "new weights" in done.stdout
    assert not (tmp_path / "index" / WEIGHTS).exists()


def test_weights_that_lose_are_not_kept_and_the_table_says_so(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(FusionWeights(dense=0.0, lexical=0.0, parameters=0.0), monkeypatch)
    done = call(*files, "--embedder", "hash", "--index", tmp_path / "index")
    assert done.exit_code == 0 and "the weights stay" in done.stdout and "recall@5" in done.stdout
    assert not (tmp_path / "index" / WEIGHTS).exists()


def test_without_a_folder_the_weights_go_to_the_cache(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_with(FusionWeights(dense=0.0, dense_unknown=0.0, lexical=0.0, parameters=0.0), monkeypatch)
    done = call(*files, "--embedder", "hash")
    assert done.exit_code == 0 and len(list((tmp_path / "cache").rglob(WEIGHTS))) == 1


def test_too_few_requests_are_an_error(files: tuple[Path, Path]) -> None:
    files[1].write_text("".join(files[1].read_text().splitlines(keepends=True)[:10]))
    assert isinstance(call(*files, "--embedder", "hash").exception, QueryError)


@pytest.mark.parametrize("share", ["0", "1", "1.5"])
def test_a_share_that_leaves_nobody_on_one_side_is_refused(files: tuple[Path, Path], share: str) -> None:
    assert call(*files, "--embedder", "hash", "--held-out", share).exit_code == 2
