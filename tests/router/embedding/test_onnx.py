"""The exported embedder: the source's vectors without torch, found again, checked, made anew when damaged."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from toolpath.catalog.errors import EmbedderError, MissingExtraError
from toolpath.router.embedding import SentenceTransformerEmbedder, default_embedder
from toolpath.router.embedding import onnx as onnx_module
from toolpath.router.embedding.minilm import default_folder
from toolpath.router.embedding.onnx import OnnxEmbedder

for needed in ("onnxruntime", "onnx"):
    pytest.importorskip(needed, reason=f"the extra 'onnx' is not installed: no {needed}")

TEXTS = [
    "refund an order",
    "",
    "search code: Finds files whose content matches a pattern. Parameters: path, pattern.",
    "weather " * 400,
    "\ud800 broken",
    "refund an order",
]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> SentenceTransformerEmbedder:
    """A model like the default one with two small layers of random weights: exported in no time."""
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("model") / "tiny"
    shutil.copytree(default_folder(), folder, ignore=shutil.ignore_patterns("model.safetensors"))
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    BertModel(BertConfig(**sizes)).save_pretrained(folder)
    pooling = json.loads((folder / "1_Pooling" / "config.json").read_text())
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling | {"word_embedding_dimension": 32}))
    return SentenceTransformerEmbedder(folder, languages=("en",), device="cpu")


@pytest.fixture(scope="module")
def cache(source: SentenceTransformerEmbedder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with that model's export."""
    folder = tmp_path_factory.mktemp("exports")
    OnnxEmbedder(source, cache=folder).export()
    return folder


@pytest.fixture
def own_cache(cache: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy that a test may spoil."""
    shutil.copytree(cache, tmp_path / "exports")
    yield tmp_path / "exports"
    shutil.rmtree(tmp_path / "exports")


def the_folder(source: SentenceTransformerEmbedder) -> Path:
    """Where the source's model lies."""
    return Path(str(source._name))


def the_only(cache: Path) -> Path:
    (folder,) = cache.iterdir()
    return folder


@pytest.mark.parametrize("kind", ["query", "tool"])
def test_the_vectors_are_those_of_the_source(source: SentenceTransformerEmbedder, cache: Path, kind: str) -> None:
    embedder = OnnxEmbedder(source, cache=cache)
    vectors, expected = embedder.embed(TEXTS, kind), source.embed(TEXTS, kind)
    assert vectors.shape == expected.shape == (6, embedder.dimension) and vectors.dtype == np.float32
    assert (vectors * expected).sum(axis=1).min() > 0.9999
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert embedder.embed([TEXTS[2]], kind)[0] == pytest.approx(vectors[2], abs=1e-5)
    assert embedder.embed([], kind).shape == (0, 32)


def test_the_default_model_gives_its_vectors_when_exported(tmp_path: Path) -> None:
    source, embedder = default_embedder(), OnnxEmbedder(cache=tmp_path)
    assert (embedder.embed(TEXTS, "query") * source.embed(TEXTS, "query")).sum(axis=1).min() > 0.9999
    assert embedder.fingerprint == source.fingerprint


def test_exact_exports_share_the_fingerprint_of_the_source_and_rounded_ones_do_not(
    source: SentenceTransformerEmbedder, cache: Path
) -> None:
    assert OnnxEmbedder(source, cache=cache).fingerprint == source.fingerprint
    assert OnnxEmbedder(source, cache=cache, precision="int8").fingerprint != source.fingerprint
    assert OnnxEmbedder(source, cache=cache).knows("en") and not OnnxEmbedder(source, cache=cache).knows("zh")


def test_a_rounded_export_is_near_and_not_the_same(source: SentenceTransformerEmbedder, tmp_path: Path) -> None:
    rounded = OnnxEmbedder(source, precision="int8", cache=tmp_path)
    vectors, exact = rounded.embed(TEXTS, "tool"), source.embed(TEXTS, "tool")
    assert (vectors * exact).sum(axis=1).mean() > 0.98
    assert np.abs(vectors - exact).max() > 1e-5  # fp32 alone differs by some 1e-7; how much more, depends on the CPU


def test_prefixes_come_along(source: SentenceTransformerEmbedder, cache: Path, tmp_path: Path) -> None:
    prefixed = SentenceTransformerEmbedder(
        the_folder(source), query_prefix="query: ", tool_prefix="passage: ", device="cpu"
    )
    embedder = OnnxEmbedder(prefixed, cache=tmp_path)
    for kind in ("query", "tool"):
        vectors = embedder.embed(["refund"], kind)
        assert vectors == pytest.approx(prefixed.embed(["refund"], kind), abs=1e-5)
    assert embedder.fingerprint == prefixed.fingerprint != OnnxEmbedder(source, cache=cache).fingerprint


def test_an_export_is_made_once_and_needs_no_torch_afterwards(source: SentenceTransformerEmbedder, cache: Path) -> None:
    code = (
        "import sys; from toolpath.router.embedding import SentenceTransformerEmbedder, default_embedder; "
        "from toolpath.router.embedding.onnx import OnnxEmbedder; "
        f"source = SentenceTransformerEmbedder({str(the_folder(source))!r}); "
        f"vectors = OnnxEmbedder(source, cache={str(cache)!r}).embed(['refund'], 'query'); "
        "heavy = {'torch', 'sentence_transformers', 'transformers', 'onnx'} & set(sys.modules); "
        "print(vectors.shape, sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(1, 32) []"


@pytest.mark.parametrize("damage", ["flip", "manifest", "missing"])
def test_a_damaged_export_is_made_anew(own_cache: Path, source: SentenceTransformerEmbedder, damage: str) -> None:
    folder = the_only(own_cache)
    model = folder / "model.onnx"
    content = bytearray(model.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 0xFF
        model.write_bytes(content)
    elif damage == "manifest":
        (folder / "manifest.json").write_text("[]")
    else:
        model.unlink()
    embedder = OnnxEmbedder(source, cache=own_cache)
    assert embedder.embed(["refund"], "query") == pytest.approx(source.embed(["refund"], "query"), abs=1e-5)
    assert the_only(own_cache) == folder


def test_a_crash_while_exporting_leaves_nothing(
    source: SentenceTransformerEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("toolpath.router.embedding.onnx_export._optimize", crash)
    with pytest.raises(KeyboardInterrupt):
        OnnxEmbedder(source, cache=tmp_path).embed(["text"], "query")
    assert list(tmp_path.iterdir()) == []


def test_an_export_with_other_vectors_is_refused(
    source: SentenceTransformerEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = SentenceTransformerEmbedder.embed
    monkeypatch.setattr(SentenceTransformerEmbedder, "embed", lambda *args: -honest(*args))
    with pytest.raises(EmbedderError, match=r"gives other vectors than its source .*at least 0\.999"):
        OnnxEmbedder(source, cache=tmp_path).export()
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_does_not_load_says_what_to_do(own_cache: Path, source: SentenceTransformerEmbedder) -> None:
    folder = the_only(own_cache)
    (folder / "model.onnx").write_bytes(b"no model")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["model.onnx"] = onnx_module.hashlib.sha256(b"no model").hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(EmbedderError, match="cannot be loaded .* remove the folder"):
        OnnxEmbedder(source, cache=own_cache).embed(["text"], "query")


def test_bad_arguments_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="'fp32' or 'int8', not 'int4'"):
        OnnxEmbedder(precision="int4")  # type: ignore[arg-type]
    monkeypatch.setattr(onnx_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"toolpath\[onnx\]"):
        OnnxEmbedder()
