"""The example of a run that survives does what it says."""

from pathlib import Path

import anyio
import pytest
from toolpath.orchestrator import SQLiteStore

from examples.booking import Agency, crash_and_resume, main, refused


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_crash_while_paying_books_nothing_twice(tmp_path: Path, backend: str) -> None:
    agency, store = Agency(), SQLiteStore(tmp_path / "runs.sqlite")
    report = anyio.run(crash_and_resume, agency, store, backend=backend)
    store.close()
    assert report.ok
    assert report.value("pay") == "paid 11.70"
    assert sorted(agency.bookings) == ["flight to Rome", "hotel in Rome"]
    assert [step.name for step in report if step.restored] == ["exchange_rate", "book_flight", "book_hotel"]
    assert agency.keys == ["rome:pay", "rome:pay"]


def test_a_refused_card_takes_everything_back() -> None:
    agency = Agency()
    report = anyio.run(refused, agency)
    assert agency.bookings == []
    assert (report["book_flight"].undone, report["book_hotel"].undone) == ("", "")
    assert report["pay"].outcome == "failed"


def test_it_shows_itself(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    shown = capsys.readouterr().out
    assert "from before" in shown
    assert "undone" in shown
