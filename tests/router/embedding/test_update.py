"""Low-rank updates: merged exactly, refused by other weights, and part of the fingerprint."""

from pathlib import Path

import numpy as np
import pytest
from toolpath.catalog.errors import EmbedderError
from toolpath.router.embedding import SentenceTransformerEmbedder
from toolpath.router.embedding.minilm import DEFAULT_SHA256
from toolpath.router.embedding.update import LowRankUpdate, layer_name
from torch import nn

LAYER = "encoder.layer.0.attention.self.query"


def update(size: int = 384, seed: int = 0, base: str = DEFAULT_SHA256) -> LowRankUpdate:
    numbers = np.random.default_rng(seed)
    down = numbers.normal(size=(2, size)).astype(np.float16)
    up = numbers.normal(size=(size, 2)).astype(np.float16) * np.float16(0.05)
    return LowRankUpdate(base, {LAYER: (down, up)}, {"seed": "0"})


class Encoder(nn.Module):
    """One linear layer with the name that a BERT encoder gives it, under a wrapper."""

    def __init__(self) -> None:
        super().__init__()
        self.wrapped = nn.ModuleDict(
            {"encoder": nn.ModuleDict({"layer": nn.ModuleList([nn.ModuleDict({"query": nn.Linear(3, 4)})])})}
        )


def test_the_product_of_the_factors_is_added_to_the_weights() -> None:
    model = Encoder()
    layer = model.wrapped["encoder"]["layer"][0]["query"]  # type: ignore[index]
    before = layer.weight.detach().numpy().copy()
    down, up = np.ones((2, 3), np.float16), np.full((4, 2), 0.5, np.float16)
    LowRankUpdate("abc", {"encoder.layer.0.query": (down, up)}).merge_into(model, "abc")
    assert layer.weight.detach().numpy() == pytest.approx(before + 1.0)


def test_an_update_for_other_weights_is_refused() -> None:
    with pytest.raises(EmbedderError, match=r"made for weights with SHA-256 123.*the model's are abc"):
        LowRankUpdate("123", {}).merge_into(Encoder(), "abc")


@pytest.mark.parametrize("name", ["encoder.layer.0.query", "encoder.layer.7.query"])
def test_an_update_that_fits_no_layer_is_refused(name: str) -> None:
    factors = (np.ones((2, 9), np.float16), np.ones((4, 2), np.float16))
    with pytest.raises(EmbedderError, match=f"no layer '{name}'"):
        LowRankUpdate("abc", {name: factors}).merge_into(Encoder(), "abc")


def test_a_saved_update_comes_back_whole(tmp_path: Path) -> None:
    made = update()
    made.save(tmp_path / "update.safetensors")
    read = LowRankUpdate.load(tmp_path / "update.safetensors")
    assert (read.base, read.about, read.fingerprint) == (made.base, made.about, made.fingerprint)
    assert all((a == b).all() for a, b in zip(read.factors[LAYER], made.factors[LAYER], strict=True))
    assert [path.name for path in tmp_path.iterdir()] == ["update.safetensors"]


@pytest.mark.parametrize("content", [b"", b"not safetensors at all", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      "])
def test_a_file_that_is_no_update_is_a_clear_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "update.safetensors"
    path.write_bytes(content)
    with pytest.raises(EmbedderError, match=r"update\.safetensors"):
        LowRankUpdate.load(path)
    with pytest.raises(EmbedderError, match=r"update\.safetensors"):
        SentenceTransformerEmbedder(update=path).embed(["text"], "query")


def test_other_factors_have_another_fingerprint_and_so_have_their_embedders() -> None:
    embedders = [SentenceTransformerEmbedder(update=each) for each in (None, update(seed=0), update(seed=1))]
    assert len({embedder.fingerprint for embedder in embedders}) == 3
    assert embedders[1].fingerprint == SentenceTransformerEmbedder(update=update(seed=0)).fingerprint
    assert "tuned" in repr(embedders[1]) and "tuned" not in repr(embedders[0])


def test_a_tuned_embedder_gives_other_vectors_than_the_plain_one() -> None:
    plain, tuned = SentenceTransformerEmbedder(), SentenceTransformerEmbedder(update=update())
    cosine = float(plain.embed(["refund"], "tool")[0] @ tuned.embed(["refund"], "tool")[0])
    assert 0 < cosine < 0.999


def test_an_update_that_does_not_fit_is_never_passed_over() -> None:
    embedder = SentenceTransformerEmbedder(update=update(base="other"))
    for _ in range(2):
        with pytest.raises(EmbedderError, match="made for weights"):
            embedder.embed(["text"], "query")


def test_an_update_and_a_model_of_ones_own_contradict() -> None:
    with pytest.raises(ValueError, match="either an update or a model"):
        SentenceTransformerEmbedder("some/model", update=update())


def test_layers_are_known_by_their_place_in_the_encoder() -> None:
    assert layer_name("0.auto_model.encoder.layer.1.output.dense") == "encoder.layer.1.output.dense"
    assert layer_name("pooler.dense") == "pooler.dense"
