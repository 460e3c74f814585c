"""Runbook tools: the right procedure for a symptom in either language, whole or by section."""

from __future__ import annotations

import pytest
from toolpath.catalog import ToolError

from examples.incident.handlers.runbooks import RunbookTools
from examples.incident.handlers.text_search import bm25, tokens
from examples.incident.world import World


@pytest.fixture
def tools(world: World) -> RunbookTools:
    return RunbookTools(world)


@pytest.mark.parametrize(
    ("query", "runbook"),
    [
        ("database connections exhausted", "db-connection-saturation"),
        ("could not get a connection from pool 'orders' within 2000 ms", "db-connection-saturation"),
        ("数据库连接打满", "db-connection-saturation"),
        ("mails are not sent, the queue grows", "queue-backlog"),
        ("邮件积压", "queue-backlog"),
        ("certificate is about to run out", "certificate-expiry"),
        ("roll back checkout", "checkout-rollback"),
        ("pods restart in a loop", "pod-crash-loop"),
        ("refused cards at the payment provider", "payment-provider-outage"),
        ("replica lag", "replication-lag"),
    ],
)
def test_a_symptom_leads_to_its_procedure(tools: RunbookTools, query: str, runbook: str) -> None:
    results = tools.search_runbooks(query)["results"]
    assert results[0]["runbook_id"] == runbook
    assert results[0]["snippet"]


@pytest.mark.parametrize("query", ["zebra giraffe", "the of and", "!?", "   "])
def test_words_that_are_nowhere_find_nothing(tools: RunbookTools, query: str) -> None:
    assert tools.search_runbooks(query)["results"] == []


def test_the_limit_holds_and_scores_fall(tools: RunbookTools) -> None:
    results = tools.search_runbooks("database connections of checkout", limit=4)["results"]
    assert len(results) == 4
    assert [row["score"] for row in results] == sorted((row["score"] for row in results), reverse=True)


def test_a_runbook_is_read_whole_or_by_section(tools: RunbookTools, world: World) -> None:
    whole = tools.read_runbook("db-connection-saturation")
    assert whole["markdown"] == (world.runbooks / "db-connection-saturation.md").read_text()
    assert whole["sections"] == ["Symptoms", "Checks", "Steps", "Escalation"]
    assert (whole["owner"], whole["services"]) == ("data-platform", ["orders-db", "checkout", "inventory"])
    steps = tools.read_runbook("db-connection-saturation", "steps")
    assert steps["markdown"].startswith("1. If a release")
    assert steps["section"] == "Steps"


@pytest.mark.parametrize("runbook_id", ["../records", "/etc/passwd", "db-connection", ""])
def test_an_unknown_runbook_is_not_found(tools: RunbookTools, runbook_id: str) -> None:
    with pytest.raises(ToolError, match="there is no runbook") as caught:
        tools.read_runbook(runbook_id)
    assert caught.value.error_type == "not_found"


def test_an_unknown_section_names_those_there_are(tools: RunbookTools) -> None:
    with pytest.raises(ToolError) as caught:
        tools.read_runbook("disk-full", "Causes")
    assert "Escalation" in caught.value.info.suggestion


def test_every_runbook_is_complete(tools: RunbookTools) -> None:
    listed = tools.list_runbooks()["runbooks"]
    assert len(listed) >= 12
    for row in listed:
        assert row["owner"] and row["services"] and row["title"] != row["runbook_id"]
        assert tools.read_runbook(row["runbook_id"])["sections"] == ["Symptoms", "Checks", "Steps", "Escalation"]


def test_the_list_is_filtered_by_owner_and_service(tools: RunbookTools) -> None:
    rows = tools.list_runbooks("data-platform", "checkout")["runbooks"]
    assert [row["runbook_id"] for row in rows] == ["db-connection-saturation"]


def test_an_empty_folder_is_told(own_world: World) -> None:
    for path in own_world.runbooks.iterdir():
        path.unlink()
    with pytest.raises(ToolError, match="empty"):
        RunbookTools(own_world).list_runbooks()


def test_tokens_are_words_and_pairs_of_characters() -> None:
    assert tokens("The Pools of orders-db: 连接数 满") == ["pool", "order", "db", "连接", "接数", "满"]


def test_ranking_nothing_gives_nothing() -> None:
    assert bm25(["a"], []) == []
    assert bm25([], [["a"], []]) == [0.0, 0.0]
    assert bm25(["a"], [["a", "b"], ["b"], []])[0] > 0
