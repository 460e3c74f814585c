"""Taking the language off a request's vector."""

from collections.abc import Sequence

import numpy as np
import pytest
from toolpath.router.embedding import HashEmbedder, TextKind
from toolpath.router.embedding.centring import REQUESTS, LanguageCentredEmbedder, LanguageMeans
from toolpath.router.language import detect_language


class Lopsided(HashEmbedder):
    """Chinese texts share a large part that has nothing to do with what they say; so does one tool, by chance."""

    def __init__(self) -> None:
        super().__init__(4)
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], kind: TextKind) -> np.ndarray:
        self.texts += texts
        vectors = np.zeros((len(texts), 4), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            vector[0] = 0.9 if "天" in text or "雨" in text else 0.1
            vector[1] = 0.4 if "雨" in text or "rain" in text else 0.0
            vector[2] = 2.0 if detect_language(text) == "zh" or "hub" in text else 0.0
            vector[3] = 0.2
            vector /= np.linalg.norm(vector)
        return vectors


@pytest.mark.parametrize("language", sorted(REQUESTS))
def test_every_language_has_the_same_requests_and_is_recognised_as_itself(language: str) -> None:
    assert len(REQUESTS[language]) == len(REQUESTS["en"]) == len(set(REQUESTS[language]))
    assert detect_language(" ".join(REQUESTS[language])) == language


def test_a_tool_that_is_near_to_a_whole_language_no_longer_leads_every_request() -> None:
    model = Lopsided()
    tools = model.embed(["the hub of all Chinese requests", "rain tomorrow"], "tool")
    assert (tools @ model.embed(["会下雨吗"], "query")[0]).argmax() == 0
    assert (tools @ LanguageCentredEmbedder(model).embed(["会下雨吗"], "query")[0]).argmax() == 1


def test_tools_keep_the_models_own_vectors() -> None:
    model = Lopsided()
    assert (LanguageCentredEmbedder(model).embed(["会下雨吗"], "tool") == model.embed(["会下雨吗"], "tool")).all()


def test_centred_requests_have_unit_length_and_each_language_is_measured_once() -> None:
    model = Lopsided()
    embedder = LanguageCentredEmbedder(model)
    vectors = embedder.embed(["会下雨吗", "rain?", "42", ""], "query")
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert vectors.dtype == np.float32
    embedder.embed(["天气", "weather"], "query")
    assert model.texts.count(REQUESTS["zh"][0]) == model.texts.count(REQUESTS["en"][0]) == 1


def test_a_language_without_requests_is_treated_as_english() -> None:
    model = HashEmbedder(64)
    means = LanguageMeans(lambda texts: model.embed(texts, "query"))
    text = "ราคาเท่าไหร่"
    own = model.embed([text], "query")
    left = own[0] - model.embed(REQUESTS["en"], "query").mean(axis=0)
    assert "th" not in REQUESTS
    assert means.centred([text], own)[0] == pytest.approx(left / np.linalg.norm(left), abs=1e-6)


def test_a_request_that_is_the_mean_itself_keeps_its_vector() -> None:
    same = np.array([[1.0, 0.0]], np.float32)
    means = LanguageMeans(lambda texts: np.repeat(same, len(texts), axis=0))
    assert (means.centred(["anything"], same) == same).all()


def test_no_requests_measure_nothing() -> None:
    model = Lopsided()
    assert LanguageCentredEmbedder(model).embed([], "query").shape == (0, 4)
    assert not model.texts


def test_centred_vectors_have_a_fingerprint_of_their_own() -> None:
    embedder = LanguageCentredEmbedder(HashEmbedder())
    assert embedder.fingerprint == LanguageCentredEmbedder(HashEmbedder()).fingerprint
    assert embedder.fingerprint not in (
        HashEmbedder().fingerprint,
        LanguageCentredEmbedder(HashEmbedder(8)).fingerprint,
    )
    assert (embedder.dimension, embedder.knows("zh")) == (512, True)
