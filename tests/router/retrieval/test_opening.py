"""An index where it lies: loaded, brought up to date, saved."""

from pathlib import Path

import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.catalog.errors import IndexMismatchError
from toolpath.router.retrieval.opening import open_retriever

from .conftest import RecordingEmbedder


def test_the_first_opening_builds_and_saves_and_the_next_ones_embed_nothing(
    catalog: Catalog, embedder: RecordingEmbedder, tmp_path: Path
) -> None:
    open_retriever(catalog, tmp_path / "index", embedder)
    assert embedder.tools
    embedder.tools.clear()
    before = sorted(path.name for path in (tmp_path / "index").iterdir())
    assert open_retriever(catalog, tmp_path / "index", embedder).search("parcel", 1)[0].name == "track_parcel"
    assert embedder.tools == []
    assert sorted(path.name for path in (tmp_path / "index").iterdir()) == before


def test_an_opening_after_a_change_saves_the_change(
    catalog: Catalog, embedder: RecordingEmbedder, tmp_path: Path
) -> None:
    open_retriever(catalog, tmp_path, embedder)
    catalog.add(Tool(name="new_tool"))
    open_retriever(catalog, tmp_path, embedder)
    embedder.tools.clear()
    open_retriever(catalog, tmp_path, embedder)
    assert embedder.tools == []


def test_another_model_is_refused_or_rebuilds_and_saves(
    catalog: Catalog, embedder: RecordingEmbedder, tmp_path: Path
) -> None:
    open_retriever(catalog, tmp_path, embedder)
    other = RecordingEmbedder(32)
    with pytest.raises(IndexMismatchError, match="another embedding model"):
        open_retriever(catalog, tmp_path, other)
    open_retriever(catalog, tmp_path, other, rebuild=True)
    other.tools.clear()
    open_retriever(catalog, tmp_path, other)
    assert other.tools == []


def test_a_folder_that_cannot_be_made_is_told_before_anything_is_embedded(
    catalog: Catalog, embedder: RecordingEmbedder, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        open_retriever(catalog, tmp_path / "file" / "index", embedder)
    assert embedder.tools == []
