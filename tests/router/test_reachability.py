"""Whether every tool can be found by its own words, and what a report says of those that cannot."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from toolpath.catalog import Catalog, Tool, load_catalog
from toolpath.catalog.errors import EmbedderError
from toolpath.router import Candidate, HashEmbedder, Intent, Retriever, RuleIntentClassifier, open_retriever
from toolpath.router.embedding import TextKind, Vectors
from toolpath.router.reachability import BATCH, Miss, check_reachability, twins

from tests.router.support import WordSearch, small_tools

LOOK_ALIKES = [Tool(name=f"search_{letter}", description="Searches things.") for letter in "abcd"]


class Recording(HashEmbedder):
    """Remembers what it embedded; fails for requests when told to."""

    def __init__(self) -> None:
        super().__init__(64)
        self.tools = self.queries = 0
        self.failing = False

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        if kind == "tool":
            self.tools += len(texts)
        elif self.failing:
            raise EmbedderError("out of memory")
        else:
            self.queries += len(texts)
        return super().embed(texts, kind)


def test_a_catalog_of_distinct_tools_is_complete() -> None:
    catalog = Catalog(small_tools())
    report = check_reachability(catalog, Retriever(catalog, HashEmbedder()), k=1)
    assert report.complete and report.unreachable == () and report.twins == () and report.wordless == ()
    assert (report.tools, report.k, report.searches, report.by_words_alone) == (4, 1, 8, 0)


def test_a_tool_drowned_by_look_alikes_is_reported_with_what_comes_instead() -> None:
    catalog = Catalog([*LOOK_ALIKES, Tool(name="send_mail", description="Sends an e-mail.")])
    report = check_reachability(catalog, Retriever(catalog, HashEmbedder()), k=3)
    assert report.misses == (Miss("search_d", "description", ("search_a", "search_b", "search_c")),)
    assert report.unreachable == ("search_d",) and not report.complete
    assert check_reachability(catalog, Retriever(catalog, HashEmbedder()), k=4).complete


def test_a_search_that_never_returns_a_tool_is_found_out_by_its_name() -> None:
    class Forgetful(WordSearch):
        """Knows all tools but one."""

        def search(self, request: str, k: int, intent: Intent | None = None) -> list[Candidate]:
            return [found for found in super().search(request, k, intent) if found.name != "mail.send"]

    catalog = Catalog(small_tools())
    report = check_reachability(catalog, Forgetful(catalog))
    assert [(miss.tool, miss.by) for miss in report.misses] == [("mail.send", "name"), ("mail.send", "description")]
    assert report.unreachable == ("mail.send",)


def test_a_tool_that_stage_1_drops_for_its_own_words_is_reported() -> None:
    catalog = Catalog(small_tools())
    search = Retriever(catalog, HashEmbedder())

    def classify(request: str) -> Intent:
        return Intent(categories=("weather",)) if request.startswith("Send") else Intent()

    assert check_reachability(catalog, search, classify=classify).misses == (
        Miss("mail.send", "description", ("weather.forecast",)),
    )
    assert check_reachability(catalog, search, classify=RuleIntentClassifier(catalog).classify).complete


def test_a_tool_without_a_description_is_searched_by_its_example_and_without_both_by_its_name() -> None:
    catalog = Catalog([Tool(name="alpha", examples=(" ", "how warm is it")), Tool(name="beta")])
    asked: list[str] = []

    class Listening(WordSearch):
        def search(self, request: str, k: int, intent: Intent | None = None) -> list[Candidate]:
            asked.append(request)
            return super().search(request, k, intent)

    report = check_reachability(catalog, Listening(catalog))
    assert asked == ["alpha", "how warm is it", "beta"]
    assert report.wordless == ("beta",)


def test_tools_that_say_the_same_are_twins_whatever_their_names_case_and_spacing() -> None:
    order = {"properties": {"order": {"type": "string", "description": "Number of the order"}}}
    refund = Tool(name="shop.refund", description="Pays money  back.", parameters=order)
    again = Tool(name="old.refund", description="pays money back.", parameters=order)
    other = Tool(name="bank.refund", description="Pays money back.")
    assert twins([refund, other, again]) == (("shop.refund", "old.refund"),)


def test_silent_tools_are_twins_only_under_the_same_name() -> None:
    assert twins([Tool(name="a.ping"), Tool(name="b.ping"), Tool(name="b.list")]) == (("a.ping", "b.ping"),)


def test_twins_that_are_both_found_leave_the_catalog_complete() -> None:
    catalog = Catalog(LOOK_ALIKES)
    report = check_reachability(catalog, Retriever(catalog, HashEmbedder()))
    assert report.complete and report.twins == (("search_a", "search_b", "search_c", "search_d"),)


def test_what_a_lenient_load_left_out_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "tools.jsonl"
    file.write_text('{"name": "alpha", "description": "First letter."}\n{"name": 7}\n', encoding="utf-8")
    catalog = load_catalog(file, strict=False)
    (left_out,) = check_reachability(catalog, Retriever(catalog, HashEmbedder())).left_out
    assert "tools.jsonl" in left_out and "line 2" in left_out


def test_searches_that_an_embedder_failed_are_counted() -> None:
    catalog, embedder = Catalog(small_tools()), Recording()
    retriever = Retriever(catalog, embedder)
    retriever.refresh()
    embedder.failing = True
    report = check_reachability(catalog, retriever)
    assert report.by_words_alone == report.searches == 8


def test_saved_vectors_are_used_and_requests_go_in_batches(tmp_path: Path) -> None:
    catalog = Catalog(Tool(name=f"tool_{n}", description=f"Handles case {n} of {n * n}.") for n in range(BATCH))
    open_retriever(catalog, tmp_path, HashEmbedder(64))
    embedder = Recording()
    reported: list[tuple[int, int]] = []
    check_reachability(
        catalog,
        open_retriever(catalog, tmp_path, embedder),
        progress=lambda done, total: reported.append((done, total)),
    )
    assert (embedder.tools, embedder.queries) == (0, 2 * BATCH)
    assert reported == [(0, 2 * BATCH), (BATCH, 2 * BATCH), (2 * BATCH, 2 * BATCH)]


def test_an_empty_catalog_is_complete() -> None:
    report = check_reachability(Catalog(), Retriever(Catalog(), HashEmbedder()))
    assert report.complete and report.searches == 0


def test_k_must_be_positive() -> None:
    with pytest.raises(ValueError, match="k must be at least 1, not 0"):
        check_reachability(Catalog(), WordSearch(Catalog()), 0)


def test_the_report_is_json() -> None:
    catalog = Catalog(LOOK_ALIKES)
    report = json.loads(json.dumps(check_reachability(catalog, Retriever(catalog, HashEmbedder()), k=3).to_dict()))
    assert report["unreachable"] == [
        {"tool": "search_d", "by": "description", "instead": ["search_a", "search_b", "search_c"]}
    ]
    assert report["complete"] is False and report["twins"] == [["search_a", "search_b", "search_c", "search_d"]]
