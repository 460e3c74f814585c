"""`toolpath bench` as a person and as a program see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from click.testing import Result
from toolpath.console.bench import bench
from toolpath.router.evaluation import QueryError
from typer.testing import CliRunner

from .conftest import Toolpath

TOOLS = [
    {"name": "refund_order", "description": "Pays a customer's money back for an order.", "category": "billing"},
    {"name": "cancel_order", "description": "Cancels an order before it is shipped.", "category": "orders"},
    {"name": "get_weather", "description": "Forecast of the weather for a city.", "category": "world"},
    {"name": "find_[bold]hotel[/bold]", "description": "Finds a hotel for some nights.", "category": "[red]travel"},
]
QUERIES: list[dict[str, Any]] = [
    {"id": "1", "query": "weather forecast for Oslo", "tools": ["get_weather"], "lang": "en", "split": "dev"},
    {"id": "2", "query": "cancel my order", "tools": ["refund_order"], "lang": "en", "split": "dev"},
    {"id": "3", "query": "hotel \x1b[31mnights", "tools": ["get_weather"], "lang": "en", "split": "held_out"},
    {
        "id": "4",
        "query": "天气 weather city",
        "tools": ["get_weather"],
        "lang": "zh",
        "split": "held_out",
        "candidates": ["get_weather", "cancel_order"],
        "args": [{"city": "Oslo"}],
    },
    {"id": "5", "query": "write a poem", "expect_none": True, "lang": "en", "candidates": ["cancel_order"]},
]

app = typer.Typer()
app.command()(bench)


def run(folder: Path, *options: str, queries: list[dict[str, Any]] = QUERIES) -> Result:
    """Runs the command over a catalog of four tools, with the embedder that needs no model."""
    (folder / "tools.jsonl").write_text("\n".join(map(json.dumps, TOOLS)), encoding="utf-8")
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    fixed = [str(folder / "tools.jsonl"), str(folder / "queries.jsonl"), "--embedder", "hash"]
    return CliRunner().invoke(app, [*fixed, "--index", str(folder / "index"), *options])


def report(folder: Path, *options: str) -> dict[str, Any]:
    result = run(folder, "--json", *options)
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def test_json_is_one_object_and_nothing_else(tmp_path: Path) -> None:
    data = report(tmp_path)
    assert data["queries"] == 5
    assert data["answerable"] == 4
    assert data["tools"] == 4
    assert data["recall@1"] == 0.5
    assert data["intervals"]["recall@1"][0] <= 0.5 <= data["intervals"]["recall@1"][1]
    assert data["recall@10"] == 1.0
    assert set(data["by"]["lang"]) == {"en", "zh"}
    assert sum(data["stages"][fate] for fate in data["stages"] if fate != "narrowed_by_intent") == pytest.approx(1)
    assert {pair["gold"] for pair in data["confused"]} == {"refund_order", "get_weather"}


def test_tables_show_the_measures_and_where_the_rest_went(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert result.exit_code == 0, result.output
    for text in ("5 requests over a catalog of 4 tools", "recall@5", "MRR", "lost by stage 3", "none fits", "by lang"):
        assert text in result.output
    for text in ("but chosen", "refund_order", "tokens", "whole catalog"):
        assert text in result.output


def test_hostile_text_is_shown_as_text(tmp_path: Path) -> None:
    result = run(tmp_path, "--by", "category")
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    assert "find_[bold]hotel[/bold]" in result.output
    assert "\\x1b" in result.output


def test_a_split_and_other_fields_choose_the_requests(tmp_path: Path) -> None:
    assert report(tmp_path, "--split", "held_out")["queries"] == 2
    assert report(tmp_path, "--split", "held_out", "--where", "lang=zh")["queries"] == 1
    assert report(tmp_path, "--limit", "3")["queries"] == 3
    assert report(tmp_path, "--by", "split")["by"]["split"]["held_out"]["queries"] == 2


def test_candidates_restrict_each_request_and_the_others_are_counted(tmp_path: Path) -> None:
    data = report(tmp_path, "--candidates")
    assert data["queries"] == 2
    assert data["left_out"] == {"without candidates": 3}
    assert data["recall@1"] == 1.0
    result = run(tmp_path, "--candidates")
    assert "left out: 3 requests without candidates" in result.output
    assert "each request's own candidates" in result.output


def test_k_bounds_the_recalls_that_are_given(tmp_path: Path) -> None:
    data = report(tmp_path, "-k", "2")
    assert [name for name in data if name.startswith("recall@")] == ["recall@1", "recall@2"]


def test_what_became_of_every_request_is_written(tmp_path: Path) -> None:
    result = run(tmp_path, "--errors", str(tmp_path / "errors.jsonl"), "--json")
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (tmp_path / "errors.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["1", "2", "3", "4", "5"]
    assert rows[0]["gold"] == [{"tool": "get_weather", "rank": 1, "fate": "chosen"}]
    assert rows[1]["wrong"] == ["cancel_order"]
    assert "not entirely right" in result.stderr
    assert json.loads(result.stdout)["queries"] == 5


def test_a_folder_that_is_not_there_is_noticed_before_the_work(tmp_path: Path) -> None:
    result = run(tmp_path, "--errors", str(tmp_path / "nowhere" / "errors.jsonl"))
    assert result.exit_code == 2
    assert "there is no folder" in result.stderr
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--where", "lang"], "--where wants KEY=VALUE"),
        (["--where", "=x"], "--where wants KEY=VALUE"),
        (["--split", "dev", "--where", "split=held_out"], "contradicts split=dev"),
        (["-k", "0"], "-k"),
        (["--limit", "0"], "--limit"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path: Path, options: list[str], message: str) -> None:
    result = run(tmp_path, *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_labels_that_the_catalog_lacks_are_an_error(tmp_path: Path) -> None:
    result = run(tmp_path, queries=[{"id": "1", "query": "x", "tools": ["refund_ordr"]}])
    assert isinstance(result.exception, QueryError)
    assert "'refund_ordr'" in str(result.exception)
    assert "did you mean 'refund_order'?" in str(result.exception)


def test_a_model_that_never_answers_is_not_passed_off_as_measured(toolpath: Toolpath, tmp_path: Path) -> None:
    pytest.importorskip("pydantic_ai", reason="the extra llm is not installed")
    run(tmp_path)  # writes the catalog and the requests
    files = (str(tmp_path / "tools.jsonl"), str(tmp_path / "queries.jsonl"))
    done = toolpath("bench", *files, "--embedder", "hash", "--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    assert done.code == 1
    assert "warning: the model failed for 5 of 5 requests" in done.err
