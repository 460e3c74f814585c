"""Pairs from labels and from descriptions."""

import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.catalog.errors import CatalogError
from toolpath.router.retrieval.text import tool_text
from toolpath.router.tuning.pairs import labelled_lesson, self_lesson, with_compounds

REFUND = Tool(name="refund_order", description="Pays a customer's money back. Use it for orders that were paid.")
TRACK = Tool(name="track_parcel", description="Says where a parcel is.")


def test_every_wanted_tool_makes_a_pair_and_none_counts_against_the_other() -> None:
    lesson = labelled_lesson("shop", Catalog([REFUND, TRACK]), [("both please", ["refund_order", "track_parcel"])])
    texts = {tool_text(REFUND), tool_text(TRACK)}
    assert {pair.tool for pair in lesson.pairs} == texts == set(lesson.tools)
    assert all(pair.accepted == texts for pair in lesson.pairs)


def test_a_call_made_twice_is_one_pair() -> None:
    assert len(labelled_lesson("shop", Catalog([TRACK]), [("twice", ["track_parcel", "track_parcel"])]).pairs) == 1


def test_an_unknown_tool_is_an_error() -> None:
    with pytest.raises(CatalogError, match="nothing"):
        labelled_lesson("shop", Catalog([TRACK]), [("?", ["nothing"])])


def test_the_sentence_that_stands_for_a_request_is_not_in_the_tools_text() -> None:
    for seed in range(4):
        (pair,) = self_lesson("shop", [REFUND], seed).pairs
        assert pair.request in REFUND.description and pair.request not in pair.tool
        assert pair.tool.startswith("refund order")


def test_of_a_single_sentence_the_name_stands_for_the_tool() -> None:
    (pair,) = self_lesson("shop", [TRACK], 0).pairs
    assert (pair.request, pair.tool) == ("Says where a parcel is.", "track parcel")


@pytest.mark.parametrize("description", ["", "Short.", "Use this tool when you need to:"])
def test_a_description_without_a_sentence_teaches_nothing(description: str) -> None:
    assert not self_lesson("shop", [Tool(name="x", description=description)], 0).pairs


def test_compounds_ask_for_several_things_and_every_tool_of_them_serves() -> None:
    tools = [Tool(name=f"t{n}", description=f"Does thing number {n}.") for n in range(6)]
    plain = labelled_lesson("six", Catalog(tools), [(f"do {n}.", [f"t{n}"]) for n in range(6)])
    lesson = with_compounds(plain, 0.5, seed=0)
    assert lesson.pairs[:6] == plain.pairs and lesson.tools == plain.tools
    made = lesson.pairs[6:]
    assert {len(pair.accepted) for pair in made} <= {2, 3} and len({pair.request for pair in made}) == 3
    for pair in made:
        assert pair.tool in pair.accepted
        parts = [one for one in plain.pairs if one.request.rstrip(".") in pair.request]
        assert {one.tool for one in parts} == pair.accepted
    assert with_compounds(plain, 0.5, seed=0) == lesson != with_compounds(plain, 0.5, seed=1)


def test_too_few_requests_make_no_compounds() -> None:
    plain = labelled_lesson("one", Catalog([TRACK]), [("where is it", ["track_parcel"])])
    assert with_compounds(plain, 1.0, seed=0) is plain
