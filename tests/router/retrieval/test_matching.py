"""What users of other systems complain about when words are matched and scores hidden."""

from collections.abc import Sequence

import numpy as np
import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.router.embedding import HashEmbedder, TextKind
from toolpath.router.retrieval import FusionWeights, Retriever

WORDS_ONLY = FusionWeights(dense=0.0, dense_unknown=0.0, parameters=0.0)

THINGS = ("branch", "commit", "release", "label", "milestone", "fork", "secret", "runner", "webhook", "gist")
GITHUB = [
    Tool(
        name=f"github.{verb}_{thing}", server="github", description=f"{verb.title()} a {thing} of a GitHub repository."
    )
    for thing in THINGS
    for verb in ("list", "create", "delete")
]


def names(tools: list[Tool], request: str, k: int = 5, weights: FusionWeights | None = None) -> list[str]:
    retriever = Retriever(Catalog(tools), HashEmbedder(), weights=weights)
    return [candidate.name for candidate in retriever.search(request, k)]


@pytest.mark.parametrize("weights", [WORDS_ONLY, FusionWeights()])
def test_a_servers_prefix_does_not_flood_the_results(weights: FusionWeights) -> None:
    """pydantic-ai#4994: a word that thirty tools share says nothing beside one that two tools share."""
    jira = Tool(name="jira.find_ticket", server="jira", description="Finds a ticket, also those linked from GitHub.")
    found = names([*GITHUB, jira], "find the ticket for my github problem", weights=weights)
    assert found[0] == "jira.find_ticket"


def test_the_rare_word_beside_the_prefix_decides_within_a_server() -> None:
    assert names(GITHUB, "github create webhook")[0] == "github.create_webhook"


def test_a_short_word_does_not_match_inside_a_longer_one() -> None:
    """pydantic-ai#4994: "me" matched "comment"."""
    tools = [
        Tool(name="add_comment", description="Comments on a document."),
        Tool(name="who_am_i", description="Tells who is signed in: name, address, me."),
    ]
    retriever = Retriever(Catalog(tools), HashEmbedder(), weights=WORDS_ONLY)
    scores = {found.name: found.parts["lexical"] for found in retriever.search("show docu ment comm men", 2)}
    assert scores["add_comment"] == 0


@pytest.mark.parametrize("asked", ["zz_obscure", "old_obscure_name"])
@pytest.mark.parametrize("weights", [WORDS_ONLY, FusionWeights()])
def test_a_tool_named_outright_is_first_however_many_others_match(asked: str, weights: FusionWeights) -> None:
    """codex#21503: the exact name missed the top of the list."""
    crowd = [
        Tool(name=f"tool_{at}", description=f"An obscure old name, zz obscure: {asked.replace('_', ' ')} " * 3)
        for at in range(300)
    ]
    target = Tool(name="zz_obscure", description="Something else entirely.", aliases=("old_obscure_name",))
    assert names([*crowd, target], asked, weights=weights)[0] == "zz_obscure"


def test_every_candidate_shows_its_scores_and_why_it_is_there() -> None:
    """semantic-router#392: scores were hidden."""
    tools = [*GITHUB, Tool(name="send_mail", description="Sends a mail.", parameters={"properties": {"to": {}}})]
    found = Retriever(Catalog(tools), HashEmbedder()).search("send a mail to Anna", 5)
    assert all({"dense", "lexical"} <= set(candidate.parts) for candidate in found)
    assert [candidate.score for candidate in found] == sorted((one.score for one in found), reverse=True)
    assert found[0].name == "send_mail"
    assert "words: send, mail" in found[0].reasons or "words: mail, send" in found[0].reasons
    assert "parameters" in found[0].parts


def test_the_weights_are_those_of_the_scores_an_embedder_gives_and_not_of_its_name() -> None:
    """semantic-router: default thresholds fit one encoder only. Cosines count in their own spread here."""

    class Compressed(HashEmbedder):
        """The same embedder with all its cosines moved up and together, as E5 has them."""

        def embed(self, texts: Sequence[str], kind: TextKind) -> np.ndarray:
            vectors = super().embed(texts, kind)
            shared = np.full((len(vectors), 1), 1.0, np.float32)
            return np.concatenate([vectors * 0.8, shared * 0.6], axis=1)

        @property
        def dimension(self) -> int:
            return super().dimension + 1

    for request in ("remove a secret", "make new relese", "which forks are there"):
        plain = Retriever(Catalog(GITHUB), HashEmbedder()).search(request, 10)
        moved = Retriever(Catalog(GITHUB), Compressed()).search(request, 10)
        assert [one.name for one in plain] == [one.name for one in moved]
        assert [one.score for one in plain] == pytest.approx([one.score for one in moved], abs=1e-3)
