"""The selector without a model: confidence, "none fits", and the yardstick behind them."""

import gc
import weakref
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import ArgumentOrigin, Catalog, Tool
from toolpath.catalog.errors import RoutingError
from toolpath.router import Candidate, HashEmbedder, Intent, RankSelector, Retriever, Router
from toolpath.router.selection.scale import MIN_SAMPLE, CatalogScales, Scale, fit_scales, own_words, reach

from tests.router.support import WordSearch, candidates

EN, ZH = Intent(language="en"), Intent(language="zh")
TOPICS = ("rain", "invoice", "song", "flight", "garden", "doctor", "football", "recipe", "battery", "museum", "salmon")


def topic_catalog() -> Catalog:
    return Catalog(
        Tool(name=f"show_{topic}", description=f"Shows the current {topic} overview of a chosen {topic} region.")
        for topic in TOPICS
    )


class CountingSearch:
    """Searches by cosine without a model, and counts how often it is asked for many requests."""

    def __init__(self, catalog: Catalog) -> None:
        self._retriever = Retriever(catalog, HashEmbedder())
        self.asked = 0

    def search(self, request: str, k: int, intent: Intent | None = None) -> list[Candidate]:
        return self._retriever.search(request, k, intent)

    def search_many(
        self, requests: Sequence[str], k: int, intents: Sequence[Intent] | None = None
    ) -> list[list[Candidate]]:
        self.asked += 1
        return self._retriever.search_many(requests, k, intents)


def selector_over(catalog: Catalog, **options: float) -> tuple[RankSelector, CountingSearch]:
    search = CountingSearch(catalog)
    return RankSelector(catalog, search, **options), search


def test_the_best_candidate_is_called_with_what_can_be_read() -> None:
    selection = RankSelector().choose("mail ann@example.com", candidates("mail.send", "disk.usage"), EN)
    assert selection.calls[0].arguments == {"to": "ann@example.com"}
    assert selection.calls[0].origin is ArgumentOrigin.EXTRACTED and selection.served_by == "rank"


def test_no_candidates_are_an_abstention() -> None:
    selection = RankSelector().choose("anything", [], EN)
    assert selection.abstained and selection.reason == "no candidate"


def test_far_below_the_catalogs_own_words_none_fits() -> None:
    catalog = topic_catalog()
    selector, search = selector_over(catalog)
    own = "shows the current rain overview of a chosen rain region"
    right = selector.choose(own, search.search(own, 5), EN)
    wrong = selector.choose("qqq zzz", search.search("qqq zzz", 5), EN)
    assert not right.abstained and right.calls[0].tool == "show_rain" and "own description" in right.reason
    assert wrong.abstained and wrong.calls == () and wrong.confidence > 0.665
    assert "fit 0." in wrong.reason and "is below 0.335" in wrong.reason and right.confidence > 0.6


def test_a_threshold_of_zero_turns_nothing_away_and_a_high_one_nearly_everything() -> None:
    catalog = topic_catalog()
    found = CountingSearch(catalog).search("bake bread", 5)
    assert not selector_over(catalog, threshold=0)[0].choose("bake bread", found, EN).abstained
    half = CountingSearch(catalog).search("the rain overview", 5)
    assert selector_over(catalog, threshold=0.99)[0].choose("the rain overview", half, EN).abstained


def test_a_named_tool_is_never_turned_away() -> None:
    catalog = topic_catalog()
    selector, search = selector_over(catalog)
    found = [Candidate(catalog.get("show_rain"), 0.0, {"exact": 1.0}), *search.search("x", 3)]
    selection = selector.choose("x", found, Intent(exact=("show_rain",), language="en"))
    assert selection.calls[0].tool == "show_rain" and selection.confidence > 0.9


def test_a_language_without_descriptions_is_never_turned_away() -> None:
    catalog = topic_catalog()
    selector, search = selector_over(catalog)
    selection = selector.choose("下雨吗", search.search("下雨吗", 3), ZH)
    assert not selection.abstained and selection.confidence == 0.5 and "'zh'" in selection.reason


def test_a_request_that_was_compared_by_words_alone_is_never_turned_away() -> None:
    catalog = topic_catalog()
    lexical = Candidate(catalog.get("show_rain"), 0.1, {"lexical": 0.1})
    selection = selector_over(catalog)[0].choose("x", [lexical], EN)
    assert not selection.abstained and "by meaning" in selection.reason


def test_the_nearest_tool_counts_even_when_it_ranks_second() -> None:
    catalog = topic_catalog()
    found = [
        Candidate(catalog.get("show_rain"), 2.0, {"lexical": 9.0, "dense": 0.0}),
        Candidate(catalog.get("show_song"), 1.0, {"lexical": 1.0, "dense": 0.9}),
    ]
    assert reach(found) == 0.9
    assert not selector_over(catalog)[0].choose("x", found, EN).abstained


def test_the_scale_is_fitted_late_once_and_again_after_large_changes() -> None:
    catalog = topic_catalog()
    selector, search = selector_over(catalog)
    assert search.asked == 0
    found = search.search("rain", 3)
    selector.choose("rain", found, EN)
    selector.choose("rain", found, EN)
    assert search.asked == 1
    catalog.add(Tool(name="a", description="new"))
    selector.choose("rain", found, EN)
    assert search.asked == 1
    catalog.remove("a")
    selector.choose("rain", found, EN)
    assert search.asked == 2


def test_few_tools_or_tools_without_words_give_no_scale() -> None:
    few = Catalog(list(topic_catalog())[: MIN_SAMPLE - 1])
    assert fit_scales(CountingSearch(few), list(few)) == {}
    silent = Catalog(Tool(name=f"t{n}") for n in range(20))
    assert fit_scales(CountingSearch(silent), list(silent)) == {}
    catalog = topic_catalog()
    assert fit_scales(CountingSearch(catalog), list(catalog))["en"].samples == len(TOPICS)
    assert fit_scales(WordSearch(catalog), list(catalog)) == {}, "words alone give no cosines"


def test_examples_of_requests_speak_before_descriptions() -> None:
    assert own_words(Tool(name="t", description="Long text.", examples=(" ", "do it"))) == "do it"
    assert own_words(Tool(name="t", description=" Long text. ")) == "Long text."


@given(st.floats(0.01, 1), st.floats(-1, 1))
def test_confidence_is_between_zero_and_one_and_grows_with_the_cosine(typical: float, reached: float) -> None:
    scale = Scale(typical, 20)
    assert 0 <= scale.confidence(reached) <= scale.confidence(reached + 0.01) <= 1


@pytest.mark.parametrize("threshold", [-0.1, 1.1])
def test_a_threshold_outside_zero_to_one_is_refused(threshold: float) -> None:
    with pytest.raises(RoutingError, match="between 0 and 1"):
        RankSelector(threshold=threshold)


def test_a_catalog_without_its_retriever_is_refused() -> None:
    with pytest.raises(RoutingError, match="both the catalog and its retriever"):
        RankSelector(topic_catalog())


def test_a_catalog_does_not_keep_scales_alive() -> None:
    catalog = topic_catalog()
    scales = CatalogScales(catalog, WordSearch(catalog))
    gone = weakref.ref(scales)
    del scales
    gc.collect()
    assert gone() is None and not catalog._subscribers


@pytest.mark.anyio
async def test_the_router_uses_the_scale_of_its_own_retriever() -> None:
    catalog = topic_catalog()
    router = Router(catalog, embedder=HashEmbedder())
    decision = await router.route("shows the current salmon overview of a region")
    assert decision.calls[0].tool == "show_salmon" and "own description" in decision.selection.reason
    assert (await router.route("quantum entanglement teleporters")).confidence < decision.confidence
