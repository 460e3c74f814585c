"""The example of a plan that arrives piece by piece does what it says."""

import anyio
import pytest

from examples.plan import main, research


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_pages_are_read_as_long_as_there_are_some(backend: str) -> None:
    told: list[str] = []
    report = anyio.run(research, "how do the moon and the tides go together?", told, backend=backend)
    assert report.ok
    assert report.value("answer") == "springs and neaps, bores, phases"
    assert [step.name for step in report] == [
        "find_topics",
        "tides-0",
        "tides-1",
        "tides-2",
        "moon-0",
        "moon-1",
        "answer",
    ]
    assert len([line for line in told if line.startswith("asked: ")]) == 1
    assert told[-1] == "answer: succeeded"


def test_nothing_to_read_gives_nothing() -> None:
    assert anyio.run(research, "what is for dinner?", []).value("answer") == ""


def test_it_shows_itself(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    assert capsys.readouterr().out.endswith("springs and neaps, bores, phases\n")
