"""The selector without a model: confidence, and "none fits"."""

import pytest
from toolpath.catalog import ArgumentOrigin, Catalog, Tool
from toolpath.catalog.errors import RoutingError
from toolpath.router import Candidate, HashEmbedder, Intent, RankSelector, Retriever, Router
from toolpath.router.calibration import Adjustment

from tests.router.support import CountingSearch, candidates

EN, ZH = Intent(language="en"), Intent(language="zh")
TOPICS = ("rain", "invoice", "song", "flight", "garden", "doctor", "football", "recipe", "battery", "museum", "salmon")


def topic_catalog() -> Catalog:
    return Catalog(
        Tool(name=f"show_{topic}", description=f"Shows the current {topic} overview of a chosen {topic} region.")
        for topic in TOPICS
    )


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
    assert wrong.abstained and wrong.calls == () and wrong.confidence > 0.8
    assert "fit 0." in wrong.reason and "is below" in wrong.reason and right.confidence > 0.8


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


@pytest.mark.parametrize("threshold", [-0.1, 1.1])
def test_a_threshold_outside_zero_to_one_is_refused(threshold: float) -> None:
    with pytest.raises(RoutingError, match="between 0 and 1"):
        RankSelector(threshold=threshold)


def test_a_catalog_without_its_retriever_is_refused() -> None:
    with pytest.raises(RoutingError, match="both the catalog and its retriever"):
        RankSelector(topic_catalog())


class KnowsAll(HashEmbedder):
    """A stand-in for a multilingual model."""

    def knows(self, language: str) -> bool:
        return True


def test_a_foreign_request_is_judged_by_meaning_alone_where_the_embedder_knows_its_language() -> None:
    catalog = topic_catalog()
    retriever = Retriever(catalog, KnowsAll())
    selector = RankSelector(catalog, retriever)
    near = [Candidate(catalog.get("show_rain"), 2.0, {"dense": 0.4, "standing": 6.0, "lead": 0.0})]
    far = [Candidate(catalog.get("show_rain"), 2.0, {"dense": 0.1, "standing": 0.5, "lead": -4.0})]
    right, wrong = (selector.choose("下雨吗", found, ZH) for found in (near, far))
    assert right.calls and right.confidence > 0.5 and "across languages" in right.reason
    assert wrong.abstained and wrong.confidence > 0.5


def test_tools_out_of_reach_that_fit_far_better_speak_against_the_allowed_ones() -> None:
    catalog = topic_catalog()
    selector, search = selector_over(catalog, threshold=0)
    request = "shows the current rain overview"
    allowed = Intent(language="en", within=frozenset({"show_song"}))
    free = selector.choose(request, search.search(request, 3, EN), EN)
    restricted = selector.choose(request, search.search(request, 3, allowed), allowed)
    assert restricted.confidence < free.confidence - 0.3 and "out of reach" in restricted.reason


def test_the_number_of_candidates_is_no_evidence() -> None:
    catalog = topic_catalog()
    selector, search = selector_over(catalog)
    request = "shows the current rain overview"
    found = search.search(request, 5, EN)
    assert selector.choose(request, found[:1], EN).confidence == selector.choose(request, found, EN).confidence


def test_none_or_nearly_sure_is_a_threshold() -> None:
    catalog = topic_catalog()
    strict, search = selector_over(catalog, threshold=0.9)
    for request in ("rain", "the rain overview", "something else entirely", "shows the current rain overview"):
        selection = strict.choose(request, search.search(request, 3, EN), EN)
        assert selection.abstained or selection.confidence >= 0.9


def test_an_adjustment_moves_the_probability_before_the_threshold_is_applied() -> None:
    catalog = topic_catalog()
    search = CountingSearch(catalog)
    found = search.search("the rain overview", 3, EN)
    doubtful = RankSelector(catalog, search, adjustment=Adjustment(shift=-6.0)).choose("the rain overview", found, EN)
    assert not RankSelector(catalog, search).choose("the rain overview", found, EN).abstained and doubtful.abstained


@pytest.mark.anyio
async def test_the_router_uses_the_yardstick_of_its_own_retriever() -> None:
    catalog = topic_catalog()
    router = Router(catalog, embedder=HashEmbedder())
    decision = await router.route("shows the current salmon overview of a region")
    assert decision.calls[0].tool == "show_salmon" and "own description" in decision.selection.reason
    assert (await router.route("quantum entanglement teleporters")).abstained
