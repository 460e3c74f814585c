"""Report documents: written whole, read back, and never outside their folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolpath.catalog import ToolError

from examples.incident.handlers.documents import DocumentTools
from examples.incident.world import World

SECTIONS = [{"heading": "What happened", "body": "Checkout failed.\n"}, {"heading": "下一步", "body": "回滚。"}]


@pytest.fixture
def reports(tmp_path: Path) -> World:
    world = World(tmp_path / "world")
    world.reports.mkdir(parents=True)
    return world


@pytest.fixture
def tools(reports: World) -> DocumentTools:
    return DocumentTools(reports)


def failing(call: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        call()
    return caught.value


def test_a_report_is_markdown_with_title_time_and_sections(tools: DocumentTools, reports: World) -> None:
    written = tools.write_incident_report("INC-204:\nCheckout", SECTIONS, "2025/inc-204.md")
    text = (reports.reports / "2025" / "inc-204.md").read_text(encoding="utf-8")
    assert text == (
        "# INC-204: Checkout\n\nWritten 2025-11-18T15:10:00Z\n\n"
        "## What happened\n\nCheckout failed.\n\n## 下一步\n\n回滚。\n"
    )
    assert written == {
        "path": "2025/inc-204.md",
        "bytes": len(text.encode()),
        "sections": 2,
        "title": "INC-204: Checkout",
    }
    assert [path.name for path in (reports.reports / "2025").iterdir()] == ["inc-204.md"]


def test_a_report_is_read_back_and_cut_on_request(tools: DocumentTools) -> None:
    tools.write_incident_report("A", SECTIONS)
    assert tools.read_report("incident-report.md")["markdown"].startswith("# A\n")
    assert tools.read_report("incident-report.md", max_chars=3) == {
        "path": "incident-report.md",
        "markdown": "# A",
        "truncated": True,
    }


def test_an_existing_report_is_replaced_only_when_allowed(tools: DocumentTools) -> None:
    tools.write_incident_report("First", SECTIONS)
    assert "exists already" in str(failing(lambda: tools.write_incident_report("Second", SECTIONS, overwrite=False)))
    assert tools.list_reports()["reports"][0]["title"] == "First"
    tools.write_incident_report("Second", SECTIONS)
    assert [row["title"] for row in tools.list_reports()["reports"]] == ["Second"]


@pytest.mark.parametrize(
    "path",
    [
        "../outside.md",
        "a/../../outside.md",
        "/outside.md",
        "..\\outside.md",
        "C:\\outside.md",
        "c:outside.md",
        "report.txt",
        "report.md\x00.md",
        "line\nbreak.md",
        ".md",
        "",
        ".",
        "x" * 300 + ".md",
    ],
)
def test_a_path_that_is_no_report_inside_the_folder_is_refused(tools: DocumentTools, reports: World, path: str) -> None:
    for call in (lambda: tools.write_incident_report("A", SECTIONS, path), lambda: tools.read_report(path)):
        error = failing(call)
        assert error.error_type == "validation_error"
        assert "path" in error.info.fields
    assert [item.name for item in reports.folder.iterdir()] == ["reports"]
    assert list(reports.reports.iterdir()) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(parts=st.lists(st.sampled_from(["..", ".", "a", "é", " ", "\\", "/", "~", "%2e%2e", "b.md"]), max_size=6))
def test_no_path_leads_outside(tools: DocumentTools, reports: World, parts: list[str]) -> None:
    try:
        tools.write_incident_report("A", SECTIONS, "/".join(parts))
    except ToolError as error:
        assert error.error_type == "validation_error"
    assert [item.name for item in reports.folder.iterdir()] == ["reports"]


def test_a_link_out_of_the_folder_is_not_followed(tools: DocumentTools, reports: World, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# secret")
    (reports.reports / "link.md").symlink_to(secret)
    (reports.reports / "away").symlink_to(tmp_path)
    for path in ("link.md", "away/secret.md"):
        assert failing(lambda path=path: tools.read_report(path)).error_type == "validation_error"  # type: ignore[misc]
        assert failing(lambda path=path: tools.write_incident_report("A", SECTIONS, path))  # type: ignore[misc]
    assert tools.list_reports()["reports"] == []
    assert secret.read_text() == "# secret"


def test_a_folder_is_no_report(tools: DocumentTools, reports: World) -> None:
    (reports.reports / "dir.md").mkdir()
    assert "is a folder" in str(failing(lambda: tools.read_report("dir.md")))
    assert tools.list_reports()["reports"] == []


def test_a_path_through_a_file_is_refused(tools: DocumentTools) -> None:
    tools.write_incident_report("A", SECTIONS, "a.md")
    assert failing(lambda: tools.write_incident_report("B", SECTIONS, "a.md/b.md")).error_type == "validation_error"


def test_a_report_that_is_not_there_is_not_found(tools: DocumentTools) -> None:
    assert failing(lambda: tools.read_report("none.md")).error_type == "not_found"


def test_an_enormous_report_is_refused(tools: DocumentTools, reports: World) -> None:
    error = failing(lambda: tools.write_incident_report("A", [{"heading": "x", "body": "y" * 2_000_000}]))
    assert "at most 1000000" in str(error)
    assert list(reports.reports.iterdir()) == []


def test_half_a_surrogate_pair_does_not_break_a_report(tools: DocumentTools) -> None:
    tools.write_incident_report("A \ud800", SECTIONS)
    assert tools.read_report("incident-report.md")["markdown"].startswith("# A ?")


def test_the_list_is_filtered_by_title(tools: DocumentTools) -> None:
    tools.write_incident_report("Checkout is slow", SECTIONS, "a.md")
    tools.write_incident_report("支付异常", SECTIONS, "b.md")
    assert [row["path"] for row in tools.list_reports("CHECKOUT")["reports"]] == ["a.md"]
    assert tools.list_reports()["count"] == 2
