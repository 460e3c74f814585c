"""Abbreviations in identifiers and the words that people use."""

import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.router.embedding import HashEmbedder
from toolpath.router.retrieval import FusionWeights, Retriever
from toolpath.router.retrieval.abbreviations import EXPANSIONS, expanded
from toolpath.router.retrieval.text import STOP_WORDS, parameter_texts, tokenize, tool_text, words_and_terms

WORDS_ONLY = FusionWeights(dense=0.0, lexical=1.0, parameters=0.0)


def test_no_abbreviation_stands_for_another_or_is_a_word_that_carries_nothing() -> None:
    assert not set(EXPANSIONS) & set(EXPANSIONS.values())
    assert not set(EXPANSIONS) & STOP_WORDS
    assert all(word == word.casefold().strip() and word for pair in EXPANSIONS.items() for word in pair)


@pytest.mark.parametrize(
    ("short", "long"),
    [("getRepoCfg", "get repository configuration"), ("send_msgs", "send messages"), ("K8S", "Kubernetes")],
)
def test_an_identifier_has_the_terms_of_its_words(short: str, long: str) -> None:
    assert set(tokenize(long)) <= set(tokenize(short))


def test_the_written_word_is_still_what_is_shown_of_a_term() -> None:
    assert words_and_terms("pkg") == [("pkg", tokenize("package")[0])]


def test_an_embedder_reads_names_of_tools_and_parameters_written_out() -> None:
    properties = {"pkgQty": {"type": "integer", "description": "how many"}}
    tool = Tool(name="db.listRepos", description="Shows info.", parameters={"type": "object", "properties": properties})
    assert tool_text(tool) == "database list repositories: Shows info. Parameters: package quantity."
    assert parameter_texts(tool) == {"pkgQty": "package quantity: how many"}


def test_other_words_and_their_spaces_stay() -> None:
    assert expanded("") == ""
    assert expanded("list  open Issues") == "list  open Issues"


@pytest.mark.parametrize("request_", ["change the configuration of kubernetes", "change the k8s config"])
def test_request_and_tool_meet_whichever_of_them_abbreviates(request_: str) -> None:
    tools = [
        Tool(name="edit_k8s_cfg", description="Edits."),
        Tool(name="edit_kubernetes_configuration", description="Edits."),
        Tool(name="edit_calendar", description="Edits."),
    ]
    found = Retriever(Catalog(tools), HashEmbedder(), weights=WORDS_ONLY).search(request_, 3)
    assert {candidate.name for candidate in found[:2]} == {"edit_k8s_cfg", "edit_kubernetes_configuration"}
    assert found[2].parts["lexical"] < found[1].parts["lexical"]
