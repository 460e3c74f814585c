"""What a catalog's own words reach: measured late, once, per language, and again after large changes."""

import gc
import weakref

from toolpath.catalog import Catalog, Tool
from toolpath.router import Candidate
from toolpath.router.calibration import CatalogYardsticks, fit_yardsticks, own_words, reach
from toolpath.router.calibration.yardstick import MIN_SAMPLE

from tests.router.support import CountingSearch, WordSearch

TOPICS = ("rain", "invoice", "song", "flight", "garden", "doctor", "football", "recipe", "battery", "museum", "salmon")


def topic_catalog() -> Catalog:
    return Catalog(Tool(name=f"show_{topic}", description=f"Shows the current {topic} overview.") for topic in TOPICS)


def test_a_yardstick_is_fitted_when_first_asked_for_once_and_again_after_large_changes() -> None:
    catalog = topic_catalog()
    search = CountingSearch(catalog)
    yardsticks = CatalogYardsticks(catalog, search)
    assert search.asked == 0
    first = yardsticks.of("en")
    assert first is not None and yardsticks.of("en") is first and search.asked == 1
    catalog.add(Tool(name="a", description="new"))
    assert yardsticks.of("en") is first
    catalog.remove("a")
    assert yardsticks.of("en") is not first and search.asked == 2


def test_few_tools_or_tools_without_words_give_no_yardstick() -> None:
    few = Catalog(list(topic_catalog())[: MIN_SAMPLE - 1])
    assert fit_yardsticks(CountingSearch(few), list(few)) == {}
    silent = Catalog(Tool(name=f"t{n}") for n in range(20))
    assert fit_yardsticks(CountingSearch(silent), list(silent)) == {}
    catalog = topic_catalog()
    assert fit_yardsticks(WordSearch(catalog), list(catalog)) == {}, "words alone give no cosines"


def test_a_yardstick_holds_for_the_language_of_the_descriptions_alone() -> None:
    catalog = topic_catalog()
    found = fit_yardsticks(CountingSearch(catalog), list(catalog))
    assert set(found) == {"en"} and found["en"].samples == len(TOPICS)
    assert 0 < found["en"].typical <= 1.01 and found["en"].words > 0


def test_examples_of_requests_speak_before_descriptions() -> None:
    assert own_words(Tool(name="t", description="Long text.", examples=(" ", "do it"))) == "do it"
    assert own_words(Tool(name="t", description=" Long text. ")) == "Long text."


def test_the_nearest_tool_counts_even_when_it_ranks_second() -> None:
    first, second = Tool(name="a", description="x"), Tool(name="b", description="y")
    assert reach([Candidate(first, 2.0, {"dense": 0.1}), Candidate(second, 1.0, {"dense": 0.9})]) == 0.9
    assert reach([Candidate(first, 2.0, {"lexical": 0.1})]) is None


def test_a_catalog_does_not_keep_yardsticks_alive() -> None:
    catalog = topic_catalog()
    yardsticks = CatalogYardsticks(catalog, WordSearch(catalog))
    gone = weakref.ref(yardsticks)
    del yardsticks
    gc.collect()
    assert gone() is None and not catalog._subscribers
