"""`toolpath feedback`: what is recorded is shown, and is gone when it was reset."""

import json
from pathlib import Path

import pytest
from toolpath.catalog import Tool
from toolpath.console.app import app
from toolpath.router.feedback import FeedbackStore
from typer.testing import CliRunner

TOOL = Tool(name="send_mail", description="Sends an e-mail.")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "feedback.sqlite"
    kept = FeedbackStore(path)
    kept.record_tools([TOOL, TOOL.model_copy(update={"name": "call"})], "succeeded")
    kept.record_tools([TOOL], "failed")
    kept.close()
    return path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["feedback", *map(str, arguments)])
    return result.exit_code, result.stdout


def test_outcomes_are_shown_as_a_table_and_as_json(store: Path) -> None:
    code, table = run("show", store)
    assert code == 0 and "send_mail" in table and "succeeded" in table
    records = json.loads(run("show", store, "--json")[1])["records"]
    assert [(row["tool"], row["succeeded"], row["failed"]) for row in records] == [("call", 1, 0), ("send_mail", 1, 1)]


def test_one_tool_or_all_can_be_forgotten(store: Path) -> None:
    assert json.loads(run("reset", store, "--tool", "call", "--json")[1])["forgotten"] == 1
    assert run("reset", store) == (0, "forgot 1 record\n")
    assert json.loads(run("show", store, "--json")[1])["records"] == []


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert run("show", tmp_path / "none.sqlite")[0] != 0
    assert not (tmp_path / "none.sqlite").exists()


def test_another_catalogs_records_are_another_matter(store: Path) -> None:
    assert json.loads(run("reset", store, "--catalog", "other", "--json")[1])["forgotten"] == 0
    assert len(json.loads(run("show", store, "--json")[1])["records"]) == 2
