"""The numbers that speak for and against some tool serving a request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import Catalog, Tool
from toolpath.router import Candidate, HashEmbedder, Intent, Retriever
from toolpath.router.calibration import FitEvidence, Yardstick, fit_evidence
from toolpath.router.calibration.constants import ACROSS_LANGUAGES, GENERAL, THRESHOLD
from toolpath.router.calibration.evidence import FEATURES

YARDSTICK = Yardstick(typical=0.8, words=10.0, samples=50)
RAIN = Tool(name="get_rain", description="Rain of a place.")


def evidence(request: str = "rain in Oslo", missing: int = 0, **parts: float) -> FitEvidence:
    found = fit_evidence(request, [Candidate(RAIN, 1.0, {"dense": 0.4, **parts})], YARDSTICK, missing)
    assert found is not None
    return found


def test_scores_are_taken_against_the_yardstick() -> None:
    found = evidence(lexical=5.0)
    assert found.meaning == pytest.approx(0.5) and found.words == pytest.approx(0.5)


def test_the_words_of_the_name_that_the_request_uses_count() -> None:
    assert evidence("rain in Oslo").name == 0.5 and evidence("get the rain").name == 1.0
    assert evidence("snow").name == 0.0


def test_without_a_cosine_there_is_no_evidence() -> None:
    assert fit_evidence("rain", [Candidate(RAIN, 1.0, {"lexical": 3.0})], YARDSTICK, 0) is None


@given(st.lists(st.floats(-5, 50), min_size=4, max_size=4), st.integers(0, 30))
def test_every_probability_lies_between_zero_and_one(parts: list[float], missing: int) -> None:
    names = ("lexical", "standing", "lead", "covered")
    found = evidence("anything", missing, **dict(zip(names, parts, strict=True)))
    assert 0 <= GENERAL.probability(found.values()) <= 1


@pytest.mark.parametrize("name", ["meaning", "standing", "lead", "words", "covered", "name"])
def test_what_speaks_for_a_tool_never_lowers_the_probability(name: str) -> None:
    assert GENERAL.weights[FEATURES.index(name)] >= 0


def test_the_fitted_numbers_fit_together() -> None:
    assert len(GENERAL.weights) == len(FEATURES) and len(ACROSS_LANGUAGES.weights) == 2
    assert GENERAL.weights[FEATURES.index("missing")] <= 0 < THRESHOLD < 0.5


CATALOG = Catalog(
    [
        Tool(name="get_rain", description="Chance of rain in a city."),
        Tool(name="send_invoice", description="Sends an invoice to a customer."),
        Tool(name="play_song", description="Plays a song of an artist."),
    ]
)


def parts_of(request: str, within: set[str] | None = None) -> dict[str, float]:
    intent = Intent(language="en", within=None if within is None else frozenset(within))
    return dict(Retriever(CATALOG, HashEmbedder()).search(request, 1, intent)[0].parts)


def test_the_best_tool_leads_and_an_allowed_one_stays_behind_it() -> None:
    assert parts_of("chance of rain in a city")["lead"] == 0
    assert parts_of("chance of rain in a city", {"play_song"})["lead"] < -1


def test_rare_words_that_the_tool_holds_are_covered_and_words_of_no_tool_unknown() -> None:
    all_held = parts_of("chance of rain in a city")
    assert all_held["covered"] == pytest.approx(1) and all_held["unknown"] == 0
    assert parts_of("rain invoice", {"get_rain"})["covered"] == pytest.approx(0.5)
    assert parts_of("rain zyzzyva")["unknown"] > 0.5
    nothing = parts_of("zyzzyva")
    assert nothing["covered"] == 0 and nothing["unknown"] == 1
