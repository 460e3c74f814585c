"""Tuning to one catalog: who learns never judges, too little is refused, and a worse embedder is not better."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import Catalog, Tool
from toolpath.catalog.errors import CatalogError, RoutingError
from toolpath.router.embedding.update import LowRankUpdate
from toolpath.router.tuning import Recipe, Tuned, tune
from toolpath.router.tuning.tune import divided

NAMES = ("open_gate", "close_gate", "water_beds", "count_sheep")
CATALOG = Catalog([Tool(name=name, description=f"Farm helper: {name.replace('_', ' ')} now.") for name in NAMES])
JARGON = {"open_gate": "zax it", "close_gate": "unzax it", "water_beds": "glup them", "count_sheep": "baa check"}


def requests(number: int) -> list[tuple[str, list[list[str]]]]:
    return [(f"{JARGON[NAMES[at % 4]]} in field {at}", [[NAMES[at % 4]]]) for at in range(number)]


@given(st.lists(st.text(min_size=1), min_size=1, max_size=60))
def test_equal_texts_fall_into_one_part(texts: list[str]) -> None:
    parts = divided([(text, (("x",),)) for text in texts])
    assert sum(map(len, parts)) == len(texts)
    seen = [{text for text, _ in part} for part in parts]
    assert not (seen[0] & seen[1] or seen[0] & seen[2] or seen[1] & seen[2])


def test_the_jargon_of_a_catalogs_users_is_learned() -> None:
    tuned = tune(CATALOG, requests(80), recipe=Recipe(epochs=4, batch=16, tokens=16, rate=1e-3, hard=0, every=4))
    assert tuned.learned + tuned.judged < 80 and min(tuned.learned, tuned.judged) > 5
    assert tuned.after[1] > tuned.before[1] and tuned.better
    assert tuned.to_dict()["after"]["recall@1"] == pytest.approx(tuned.after[1], abs=1e-6)


def test_too_few_requests_are_refused_with_advice() -> None:
    with pytest.raises(RoutingError, match=r"at least 50 labelled requests, got 10; a model can write more"):
        tune(CATALOG, requests(10))


def test_requests_that_are_all_alike_cannot_be_divided() -> None:
    with pytest.raises(RoutingError, match="too few distinct texts"):
        tune(CATALOG, [("the same", [["open_gate"]])] * 60)


def test_a_tool_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(CatalogError, match="no_such_tool"):
        tune(CATALOG, [(f"request {at}", [["no_such_tool"]]) for at in range(80)])


@pytest.mark.parametrize(
    ("after", "better"), [({1: 0.5, 5: 0.8}, False), ({1: 0.6, 5: 0.8}, True), ({1: 0.6, 5: 0.6}, False)]
)
def test_only_a_gain_is_better(after: dict[int, float], better: bool) -> None:
    assert Tuned(LowRankUpdate("x", {}), {1: 0.5, 5: 0.8}, after, 1, 1).better is better
