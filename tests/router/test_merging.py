"""How the findings of several wishes become one list, and what each wish may find."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import Catalog, Tool
from toolpath.router import Candidate, Intent
from toolpath.router.merging import merge, search_wishes, split_as, weighed
from toolpath.router.records import Wish
from toolpath.router.splitting import Split

from tests.router.support import WordSearch, small_tools


def found(**scores: float) -> list[Candidate]:
    ranked = sorted(scores.items(), key=lambda entry: -entry[1])
    return [Candidate(Tool(name=name), score, {"dense": score}, ("near",)) for name, score in ranked]


WISHES = ["mail Ann", "restart the node"]


def test_each_wishs_best_tool_comes_before_anyones_third() -> None:
    whole = found(mail=9, post=8.5, fax=8, restart=6)
    merged = merge(whole, [found(mail=9, post=8.5, fax=8), found(restart=9, reboot=2)], 3, WISHES)
    assert [candidate.name for candidate in merged] == ["mail", "restart", "post"]
    assert [candidate.serves for candidate in merged] == [(0,), (1,), (0,)]
    assert merged[1].reasons == ("near", "wish 2: restart the node") and merged[1].parts == {"dense": 9}


def test_the_best_tool_of_a_weak_wish_still_has_a_place() -> None:
    strong = found(mail=20, post=19, fax=18, phone=17)
    merged = merge(strong, [strong, found(restart=0.5, reboot=0.4)], 3, WISHES)
    assert [candidate.name for candidate in merged] == ["mail", "post", "restart"]
    assert [candidate.name for candidate in merge(strong, [strong, found(restart=0.5)], 1, WISHES)] == ["mail"]


def test_the_whole_request_keeps_its_say_among_look_alikes() -> None:
    whole = found(library_hours=6, shop_hours=1)
    own = found(shop_hours=5.1, library_hours=5)
    assert [(tool.name, tool.score) for tool in weighed(own, whole)] == [("library_hours", 5.5), ("shop_hours", 3.05)]
    assert merge(whole, [own, found(restart=4)], 1, WISHES)[0].name == "library_hours"


def test_a_named_tool_stands_first_and_scores_never_rise() -> None:
    named = Candidate(Tool(name="reboot"), 1.0, {"exact": 1.0})
    own = [found(mail=9, post=8), [named, *found(restart=6)]]
    merged = merge([named, *found(mail=9)], own, 10, WISHES)
    assert merged[0].name == "reboot"
    assert [candidate.score for candidate in merged] == sorted((c.score for c in merged), reverse=True)
    assert weighed(own[1], found(restart=20))[0].name == "reboot"


def test_what_is_best_for_the_whole_request_stays_first() -> None:
    whole = found(restart=9, mail=8)
    merged = merge(whole, [found(mail=12), found(restart=5)], 2, WISHES)
    assert [candidate.name for candidate in merged] == ["restart", "mail"] and merged[0].score >= merged[1].score


SCORES = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-3, 12), min_size=0, max_size=8)


@given(SCORES, st.lists(SCORES, min_size=2, max_size=4), st.integers(1, 10))
def test_merging_keeps_k_distinct_tools_in_falling_order(
    whole: dict[str, float], own: list[dict[str, float]], k: int
) -> None:
    merged = merge(found(**whole), [found(**scores) for scores in own], k, ["x"] * len(own))
    names = [candidate.name for candidate in merged]
    every = set(whole).union(*own)
    assert len(set(names)) == len(names) == min(k, len(every)) and set(names) <= every
    scores = [candidate.score for candidate in merged]
    assert scores == sorted(scores, reverse=True)


class CountingSearch(WordSearch):
    """Remembers what it was asked."""

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog)
        self.batches: list[tuple[list[str], list[Intent]]] = []

    def search_many(
        self, requests: Sequence[str], k: int, intents: Sequence[Intent] | None = None
    ) -> list[list[Candidate]]:
        self.batches.append((list(requests), list(intents or ())))
        return super().search_many(requests, k, intents)


def test_requests_and_wishes_are_searched_in_one_batch() -> None:
    search = CountingSearch(Catalog(small_tools()))
    two = Intent(
        exact=("mail.send", "disk.usage"),
        within=frozenset({"mail.send", "disk.usage"}),
        wishes=(Wish("send an email"), Wish("how full is disk.usage", (0,))),
    )

    def classify(text: str) -> Intent:
        return Intent(exact=("disk.usage",) if "disk" in text else ())

    lists, intents = search_wishes(search, ["a forecast", "both"], 2, [Intent(), two], classify)
    [(texts, meant)] = search.batches
    assert texts == ["a forecast", "both", "send an email", "how full is disk.usage"]
    assert [intent.exact for intent in meant[2:]] == [(), ("disk.usage",)], "a wish has in front what it names itself"
    assert all(intent.within == two.within for intent in meant[2:]), "a wish may find no more than its request"
    assert lists[0] == search.search("a forecast", 2) and intents[0] == Intent(), "one wish: as if there were no others"
    assert {candidate.name for candidate in lists[1]} == {"mail.send", "disk.usage"}
    assert [wish.found[0].name for wish in intents[1].wishes] == ["mail.send", "disk.usage"]
    assert intents[1].wishes[1].needs == (0,)


@pytest.mark.parametrize("count", [1, 2])
def test_a_splitters_wishes_take_the_place_of_the_rules(count: int) -> None:
    wishes = tuple(Wish(f"wish {place}") for place in range(count))
    intent = split_as(Intent(parts=("a",), reasons=("because",)), Split(wishes, "split by m"))
    assert intent.parts == tuple(wish.text for wish in wishes) and intent.reasons == ("because", "split by m")
    assert intent.wishes == (wishes if count > 1 else ())
    assert split_as(intent, None) is intent
