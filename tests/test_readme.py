"""The README's Python runs as it stands, and names only files that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
HEADINGS = [
    "Two commands",
    "A pipeline",
    "Runs that survive",
    "Routing",
    "A benchmark of your own catalog",
    "Plugging in a model",
    "How fast the router is",
    "What a step costs",
    "The CPU build of torch",
    "Where things are",
]


def blocks(language: str) -> Iterator[str]:
    yield from re.findall(rf"^```{language}\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)


def test_the_sections_come_in_the_promised_order() -> None:
    assert re.findall(r"^## (.+)$", TEXT, flags=re.MULTILINE) == HEADINGS


def _without_chance(report: str) -> str:
    """The report without times, and without which of two steps that run side by side ends last."""
    return re.sub(r"(?<=search_flights -> )\w+", "…", re.sub(r"\d\.\d\d s", "… s", report))


def test_the_pipeline_prints_what_the_readme_says(capsys: pytest.CaptureFixture[str]) -> None:
    code = next(block for block in blocks("python") if "PipelineBuilder" in block)
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    shown = next(block for block in blocks("text") if block.startswith("pipeline: failed (partial)"))
    assert _without_chance(printed) == _without_chance(shown)


def test_the_second_pipeline_serves_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    code = next(block for block in blocks("python") if 'PipelineBuilder("offer")' in block)
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out == "12.5 at Oslo; no reviews\n"


def test_the_routing_example_finds_the_right_tool(capsys: pytest.CaptureFixture[str]) -> None:
    code = next(block for block in blocks("python") if "Router(catalog)  " in block)
    space: dict[str, object] = {"__name__": "readme"}
    exec(compile(code, "README.md", "exec"), space)
    assert 'get_weather(city="Rome")' in capsys.readouterr().out


def test_every_link_leads_to_a_file_of_the_repository() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in link]
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


def test_nothing_is_left_to_fill_in() -> None:
    assert "@@" not in TEXT
