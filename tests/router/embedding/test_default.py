"""The embedder that is used unless told otherwise."""

import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.router import Retriever, SentenceTransformerEmbedder, default_embedder, embedder_named
from toolpath.router.embedding.default import TOOL_UPDATE
from toolpath.router.embedding.minilm import DEFAULT_SHA256
from toolpath.router.embedding.update import LowRankUpdate


def test_the_update_that_ships_belongs_to_the_verified_weights_and_has_a_card() -> None:
    update = LowRankUpdate.load(TOOL_UPDATE)
    assert update.base == DEFAULT_SHA256 and len(update.factors) == 36
    assert TOOL_UPDATE.stat().st_size < 5_000_000
    assert "Learned from" in TOOL_UPDATE.with_suffix(".md").read_text(encoding="utf-8")


def test_a_retriever_uses_the_tuned_model_unless_told_otherwise() -> None:
    retriever = Retriever(Catalog([Tool(name="t", description="Does it.")]))
    assert retriever.embedder.fingerprint == default_embedder().fingerprint == embedder_named("default").fingerprint
    assert default_embedder().fingerprint != SentenceTransformerEmbedder().fingerprint


def test_a_file_of_toolpath_tune_is_an_embedder_by_its_path() -> None:
    assert embedder_named(str(TOOL_UPDATE)).fingerprint == default_embedder().fingerprint


@pytest.mark.parametrize("name", ["onnx", "onnx-int8"])
def test_onnx_runs_the_tuned_model(name: str) -> None:
    exact = embedder_named(name).fingerprint == default_embedder().fingerprint
    assert exact == (name == "onnx")  # rounded vectors are others, so an index knows them apart
