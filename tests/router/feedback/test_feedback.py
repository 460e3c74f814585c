"""Recorded outcomes: what they move, what they cannot move, what is kept, and where."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import Catalog, Tool, ToolCall
from toolpath.router import Candidate, HashEmbedder, Intent, RankSelector, Retriever, Router, RoutingDecision, Selection
from toolpath.router.feedback import FeedbackError, FeedbackStore, Prior, Record
from toolpath.router.feedback.prior import BOUND, reordered

from ..support import WordSearch, small_tools

A, B, C = (Tool(name=name, description=f"Does {name}.") for name in "abc")


def found(*scores: tuple[Tool, float], exact: Sequence[str] = ()) -> list[Candidate]:
    return [Candidate(tool, score, {"exact": 1.0} if tool.name in exact else {}) for tool, score in scores]


def names(candidates: Sequence[Candidate]) -> str:
    return "".join(candidate.name for candidate in candidates)


def decision(*calls: str, offered: Sequence[Tool] = (A, B, C)) -> RoutingDecision:
    made = tuple(ToolCall(tool=name) for name in calls)
    candidates = tuple(Candidate(tool, 1.0) for tool in offered)
    return RoutingDecision("go", made, candidates, Intent(), Selection(made), abstained=not made)


def store_after(good: Sequence[Tool] = (), bad: Sequence[Tool] = (), times: int = 20) -> FeedbackStore:
    store = FeedbackStore()
    for _ in range(times):
        if good:
            store.record_tools(good, "succeeded")
        if bad:
            store.record_tools(bad, "failed")
    return store


def test_of_two_near_equals_the_one_that_served_comes_first() -> None:
    store = store_after(good=[B], bad=[A])
    moved = store.rerank(found((A, 1.0), (B, 0.95)))
    assert names(moved) == "ba"
    assert moved[0].reasons == ("outcomes: 20 of 20 good",) and 0 < moved[0].parts["feedback"] <= BOUND
    assert moved[0].score == pytest.approx(0.95 + moved[0].parts["feedback"])


def test_a_thousand_failures_do_not_put_a_tool_behind_a_clearly_worse_one() -> None:
    store = store_after(good=[B], bad=[A], times=1_000)
    assert names(store.rerank(found((A, 1.0), (B, 1.0 - 2.5 * BOUND)))) == "ab"


def test_a_tool_without_outcomes_is_neither_raised_nor_buried() -> None:
    store = store_after(good=[A], times=500)
    assert names(store.rerank(found((C, 1.0), (A, 0.999)))) == "ca", "success that all tools have is no merit"
    mixed = store_after(good=[A], bad=[B], times=500).rerank(found((A, 1.0), (C, 1.0), (B, 1.0)))
    assert names(mixed) == "acb" and mixed[1].score == 1.0 and "feedback" not in mixed[1].parts


def test_nothing_comes_in_and_nothing_goes() -> None:
    store = store_after(good=[C], bad=[A, B])
    assert sorted(names(store.rerank(found((A, 1.0), (B, 1.0))))) == ["a", "b"]
    assert store.rerank([]) == []


def test_a_tool_that_the_request_names_stays_in_front() -> None:
    store = store_after(good=[B], bad=[A])
    assert names(store.rerank(found((A, 1.0), (B, 1.0), exact=["a"]))) == "ab"


def test_without_outcomes_the_candidates_are_left_alone() -> None:
    candidates = found((B, 0.1), (A, 0.9))
    assert FeedbackStore().rerank(candidates) == candidates


counts = st.integers(0, 10_000)


@given(st.lists(st.tuples(counts, counts), min_size=1, max_size=5))
def test_no_outcomes_move_a_score_by_more_than_the_bound(pairs: list[tuple[int, int]]) -> None:
    prior = Prior({str(place): Record(succeeded=good, failed=bad) for place, (good, bad) in enumerate(pairs)})
    assert all(abs(prior.term(digest)) <= BOUND for digest in [*prior.records, "new"])
    assert prior.term("new") == 0.0


def test_more_evidence_moves_more() -> None:
    def term(times: int) -> float:
        return Prior({"x": Record(failed=times), "y": Record(succeeded=1_000)}).term("x")

    assert 0 > term(1) > term(10) > term(100)


def test_a_pick_alone_proves_nothing() -> None:
    prior = Prior({"a": Record(picked=1_000), "b": Record(succeeded=1)})
    assert prior.term("a") == 0.0
    assert names(reordered(found((B, 1.0), (A, 1.0)), ["c", "a"], prior)) == "ba"


def test_a_correction_counts_against_one_tool_and_for_the_other() -> None:
    store = FeedbackStore()
    for _ in range(20):
        store.record(decision("a"), "corrected", instead="b")
    assert {one.tool: (one.record.corrected, one.record.preferred) for one in store.records()} == {
        "a": (20, 0),
        "b": (0, 20),
    }
    assert names(store.rerank(found((A, 1.0), (B, 0.95)))) == "ba"


def test_a_router_that_wrongly_abstained_can_be_corrected() -> None:
    store = FeedbackStore()
    store.record(decision(), "corrected", instead=C)
    assert [(one.tool, one.record.preferred) for one in store.records()] == [("c", 1)]


@pytest.mark.parametrize(
    ("outcome", "instead", "calls", "message"),
    [
        ("great", None, "a", "an outcome is one of picked, succeeded"),
        ("corrected", None, "a", "say which tool was right"),
        ("failed", "b", "a", "say which tool was right"),
        ("corrected", "z", "a", "'z' was not offered"),
        ("succeeded", None, "", "no calls"),
    ],
)
def test_what_cannot_be_recorded_is_refused(outcome: str, instead: str | None, calls: str, message: str) -> None:
    store = FeedbackStore()
    with pytest.raises(FeedbackError, match=message):
        store.record(decision(*calls), outcome, instead=instead)
    assert store.records() == []


def test_a_changed_tool_starts_anew_and_the_others_keep_their_records() -> None:
    store = store_after(good=[B], bad=[A])
    changed = A.model_copy(update={"description": "Does it better."})
    moved = store.rerank(found((changed, 1.0), (B, 0.85)))
    assert names(moved) == "ab" and "feedback" not in moved[0].parts and "feedback" in moved[1].parts
    assert [one.tool for one in store.records(Catalog([changed, B]))] == ["b"]
    assert [one.tool for one in store.records()] == ["a", "b"]


def test_outcomes_survive_in_a_file_and_belong_to_one_catalog(tmp_path: Path) -> None:
    file = tmp_path / "feedback.sqlite"
    first = FeedbackStore(file, catalog="support")
    first.record_tools([A], "succeeded")
    first.close()
    assert [one.record.succeeded for one in FeedbackStore(file, catalog="support").records()] == [1]
    assert FeedbackStore(file, catalog="billing").records() == []


def test_a_reset_forgets_one_tool_or_all_of_a_catalog(tmp_path: Path) -> None:
    file = tmp_path / "feedback.sqlite"
    store, other = FeedbackStore(file), FeedbackStore(file, catalog="other")
    store.record_tools([A, B], "failed")
    other.record_tools([A], "failed")
    assert store.reset("a") == 1 and [one.tool for one in store.records()] == ["b"]
    assert store.reset() == 1 and store.records() == []
    assert store.rerank(found((B, 1.0)))[0].parts == {}
    assert len(other.records()) == 1


def test_what_another_process_records_counts_at_once(tmp_path: Path) -> None:
    file = tmp_path / "feedback.sqlite"
    mine, theirs = FeedbackStore(file), FeedbackStore(file)
    candidates = found((A, 1.0), (B, 0.95))
    assert names(mine.rerank(candidates)) == "ab"
    for _ in range(20):
        theirs.record_tools([A], "failed")
        theirs.record_tools([B], "succeeded")
    assert names(mine.rerank(candidates)) == "ba"


def test_writers_in_several_threads_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "feedback.sqlite"
    shared, failures = FeedbackStore(file), []

    def write(store: FeedbackStore) -> None:
        try:
            for _ in range(25):
                store.record_tools([A], "succeeded")
        except FeedbackError as error:
            failures.append(error)

    threads = [
        threading.Thread(target=write, args=(shared if place % 2 else FeedbackStore(file),)) for place in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and [one.record.succeeded for one in shared.records()] == [100]


def test_a_damaged_or_foreign_file_is_refused_with_a_clear_error(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"this is no database at all, but long enough to look at" * 20)
    with pytest.raises(FeedbackError, match=r"damaged\.sqlite cannot be used: .*move the file away"):
        FeedbackStore(damaged)
    assert damaged.read_bytes().startswith(b"this is no database")
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as database:
        database.execute("CREATE TABLE outcomes (important TEXT)")
    database.close()
    with pytest.raises(FeedbackError, match="the database of another program"):
        FeedbackStore(foreign)
    newer = tmp_path / "newer.sqlite"
    FeedbackStore(newer).close()
    with sqlite3.connect(newer) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(FeedbackError, match="format 99 of a newer Toolpath"):
        FeedbackStore(newer)
    with pytest.raises(FeedbackError, match="cannot be used"):
        FeedbackStore(tmp_path / "no" / "such" / "folder.sqlite")


def test_no_text_of_a_request_or_an_argument_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "feedback.sqlite"
    store = FeedbackStore(file)
    made = (ToolCall(tool="a", arguments={"iban": "DE02120300000000202051"}),)
    secret = RoutingDecision(
        "my password is hunter2", made, (Candidate(A, 1.0),), Intent(), Selection(made), abstained=False
    )
    store.record(secret, "succeeded")
    store.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"hunter2" not in kept and b"DE0212" not in kept and b"password" not in kept


@pytest.mark.anyio
async def test_feedback_is_off_by_default_and_reorders_when_given() -> None:
    twins = [Tool(name=f"weather_{name}", description="Weather forecast for a city.") for name in ("old", "new")]
    catalog = Catalog([*small_tools(), *twins])
    search = WordSearch(catalog)
    store = FeedbackStore()
    for _ in range(20):
        store.record_tools([twins[0]], "failed")
        store.record_tools([twins[1]], "succeeded")
    plain = await Router(catalog, retriever=search, selector=RankSelector()).route("weather city", k=10)
    moved = await Router(catalog, retriever=search, selector=RankSelector(), feedback=store).route("weather city", k=10)
    assert plain.ranking.index("weather_old") < plain.ranking.index("weather_new")
    assert moved.ranking.index("weather_new") < moved.ranking.index("weather_old")
    assert sorted(plain.ranking) == sorted(moved.ranking)
    assert "outcomes: 20 of 20 good" in moved.explain() and "feedback" not in plain.explain()


def test_a_new_tool_is_found_from_its_first_second_whatever_was_recorded() -> None:
    catalog = Catalog(small_tools())
    store = FeedbackStore()
    for _ in range(200):
        store.record_tools([catalog.get("weather.forecast")], "succeeded")
        store.record_tools([catalog.get("mail.send")], "failed")
    router = Router(catalog, retriever=Retriever(catalog, HashEmbedder()), selector=RankSelector(), feedback=store)
    assert "tides.predict" not in router.route_sync("when is high tide in the harbour").ranking
    catalog.add(Tool(name="tides.predict", description="When high and low tide come in a harbour."))
    assert router.route_sync("when is high tide in the harbour").ranking[0] == "tides.predict"


def test_a_router_without_feedback_does_not_load_sqlite() -> None:
    code = "import sys, toolpath.router; print('toolpath.router.feedback' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
