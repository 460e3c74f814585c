"""An index in a folder: what comes back, what is refused, what a crash leaves."""

import errno
import json
import time
from pathlib import Path

import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.catalog.errors import IndexMismatchError
from toolpath.router.retrieval import FusionWeights, Retriever, store
from toolpath.router.retrieval.text import tool_text

from .conftest import RecordingEmbedder

REQUESTS = ["where is my parcel", "天气", "order id", "send a mail"]


@pytest.fixture
def folder(catalog: Catalog, embedder: RecordingEmbedder, tmp_path: Path) -> Path:
    Retriever(catalog, embedder).save(tmp_path / "index")
    embedder.tools.clear()
    return tmp_path / "index"


def ranking(retriever: Retriever) -> list[list[tuple[str, float]]]:
    return [[(c.name, round(c.score, 4)) for c in found] for found in retriever.search_many(REQUESTS, 5)]


def test_a_loaded_index_ranks_like_the_saved_one_and_embeds_nothing(
    catalog: Catalog, embedder: RecordingEmbedder, folder: Path
) -> None:
    loaded = Retriever(catalog, embedder, index=folder)
    assert ranking(loaded) == ranking(Retriever(catalog, RecordingEmbedder()))
    assert embedder.tools == []


def test_only_what_changed_since_is_embedded_and_what_is_gone_is_dropped(
    catalog: Catalog, embedder: RecordingEmbedder, folder: Path
) -> None:
    changed = Tool(name="send_mail", description="Posts a letter.")
    now = Catalog([*(tool for tool in catalog if tool.name not in ("send_mail", "get_weather")), changed])
    loaded = Retriever(now, embedder, index=folder)
    assert ranking(loaded) == ranking(Retriever(now, RecordingEmbedder()))
    assert embedder.tools == [tool_text(changed)]
    assert "get_weather" not in [c.name for c in loaded.search("get_weather", 9)]


def test_a_catalog_in_another_order_uses_the_same_index(
    catalog: Catalog, embedder: RecordingEmbedder, folder: Path
) -> None:
    turned = Catalog(reversed(list(catalog)))
    assert ranking(Retriever(turned, embedder, index=folder)) == ranking(Retriever(turned, RecordingEmbedder()))


def test_an_index_may_be_saved_again_and_leaves_no_old_files(
    catalog: Catalog, embedder: RecordingEmbedder, folder: Path
) -> None:
    files = len(list(folder.iterdir()))
    loaded = Retriever(catalog, embedder, index=folder)
    catalog.add(Tool(name="new_tool", description="Something new."))
    loaded.save(folder)
    assert len(list(folder.iterdir())) == files
    embedder.tools.clear()
    assert Retriever(catalog, embedder, index=folder).search("new", 1)[0].name == "new_tool"
    assert embedder.tools == []


def test_vectors_of_parameters_nobody_has_any_more_are_not_saved(
    catalog: Catalog, embedder: RecordingEmbedder, folder: Path
) -> None:
    before = json.loads((folder / "manifest.json").read_text())["parameters"]
    loaded = Retriever(catalog, embedder, index=folder)
    catalog.remove("get_weather")
    loaded.save(folder)
    assert len(json.loads((folder / "manifest.json").read_text())["parameters"]) == len(before) - 1


def test_the_index_of_an_empty_catalog_can_be_saved_and_grown(embedder: RecordingEmbedder, tmp_path: Path) -> None:
    Retriever(Catalog(), embedder).save(tmp_path)
    catalog = Catalog([Tool(name="first")])
    assert Retriever(catalog, embedder, index=tmp_path).search("first", 1)[0].name == "first"


def test_an_index_of_another_model_is_refused_or_rebuilt_on_request(catalog: Catalog, folder: Path) -> None:
    other = RecordingEmbedder(dimension=32)
    with pytest.raises(IndexMismatchError, match=r"another embedding model .*rebuild=True"):
        Retriever(catalog, other, index=folder)
    rebuilt = Retriever(catalog, other, index=folder, rebuild=True)
    rebuilt.save(folder)
    assert rebuilt.search("parcel", 1)[0].name == "track_parcel"
    Retriever(catalog, other, index=folder)


def test_an_index_without_parameters_is_refused_where_parameters_count(
    catalog: Catalog, embedder: RecordingEmbedder, tmp_path: Path
) -> None:
    weights = FusionWeights(parameters=0)
    Retriever(catalog, embedder, weights=weights).save(tmp_path)
    Retriever(catalog, embedder, weights=weights, index=tmp_path)
    with pytest.raises(IndexMismatchError, match="no vectors of parameters"):
        Retriever(catalog, embedder, index=tmp_path)


def test_a_folder_without_an_index_is_refused(catalog: Catalog, embedder: RecordingEmbedder, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(IndexMismatchError, match=r"holds no index; .*toolpath index"):
            Retriever(catalog, embedder, index=folder)


@pytest.mark.parametrize("text", ["", "not json", "[1, 2]", '{"name": "a web app"}', "\xff\xfe"])
def test_a_foreign_or_broken_manifest_is_refused(
    catalog: Catalog, embedder: RecordingEmbedder, folder: Path, text: str
) -> None:
    (folder / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(IndexMismatchError, match=r"damaged or belongs to something else; .*rebuild=True"):
        Retriever(catalog, embedder, index=folder)
    assert Retriever(catalog, embedder, index=folder, rebuild=True).search("parcel", 1)[0].name == "track_parcel"


@pytest.mark.parametrize(
    "change",
    [
        {"files": {}},
        {"files": None},
        {"files": {"lexical": {"name": "../elsewhere", "sha256": ""}}},
        {"tools": ["no digests"]},
        {"tools": {}},
        {"dimension": 7},
        {"dimension": "many"},
    ],
)
def test_a_manifest_that_does_not_fit_its_files_is_refused(
    catalog: Catalog, embedder: RecordingEmbedder, folder: Path, change: dict[str, object]
) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | change))
    with pytest.raises(IndexMismatchError, match="damaged"):
        Retriever(catalog, embedder, index=folder)


def test_another_format_is_refused_by_its_number(catalog: Catalog, embedder: RecordingEmbedder, folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(IndexMismatchError, match="has format 99, this version reads 2"):
        Retriever(catalog, embedder, index=folder)


@pytest.mark.parametrize("pattern", ["lexical-*", "tools-*", "parameters-*"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "remove"])
def test_a_damaged_data_file_is_refused(
    catalog: Catalog, embedder: RecordingEmbedder, folder: Path, pattern: str, damage: str
) -> None:
    path = next(folder.glob(pattern))
    content = bytearray(path.read_bytes())
    if damage == "remove":
        path.unlink()
    else:
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content if damage == "flip" else content[: len(content) // 2])
    with pytest.raises(IndexMismatchError, match="is damaged"):
        Retriever(catalog, embedder, index=folder)


@pytest.mark.parametrize("steps", range(12))
def test_a_crash_at_any_step_of_saving_leaves_the_old_index_whole(
    catalog: Catalog, embedder: RecordingEmbedder, folder: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    class Crash(BaseException):
        pass

    left = iter(range(steps))

    def step(*_: object) -> None:
        if next(left, None) is None:
            raise Crash

    expected = ranking(Retriever(catalog, embedder, index=folder))
    grown = Catalog([*catalog, Tool(name="new_tool", description="A parcel of mail about the weather.")])
    retriever = Retriever(grown, embedder, index=folder)
    fsync, replace = store.os.fsync, Path.replace
    monkeypatch.setattr(store.os, "fsync", lambda handle: (step(), fsync(handle)))
    monkeypatch.setattr(Path, "replace", lambda path, target: (step(), replace(path, target)))
    crashed = False
    try:
        retriever.save(folder)
    except Crash:
        crashed = True
    monkeypatch.undo()
    embedder.tools.clear()
    after = Retriever(catalog, embedder, index=folder)
    assert ranking(after) == expected and embedder.tools == []
    assert crashed == (steps < 7)
    later = time.time() + store.LEFTOVER_AGE + 60
    monkeypatch.setattr(store.time, "time", lambda: later)
    retriever.save(folder)
    assert len(list(folder.iterdir())) == 4


def test_fresh_files_of_another_process_that_is_saving_are_left_alone(
    catalog: Catalog, embedder: RecordingEmbedder, folder: Path
) -> None:
    (folder / "tools-0123456789ab.faiss").write_bytes(b"half written")
    Retriever(catalog, embedder, index=folder).save(folder)
    assert (folder / "tools-0123456789ab.faiss").exists()


def test_a_save_by_another_process_while_loading_is_no_damage(
    catalog: Catalog, embedder: RecordingEmbedder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver, read = Retriever(catalog, embedder, index=folder), store._read
    meddle = iter([True])

    def meddled(*arguments: object) -> object:
        if next(meddle, False):
            saver.save(folder)
        return read(*arguments)

    monkeypatch.setattr(store, "_read", meddled)
    assert ranking(Retriever(catalog, embedder, index=folder)) == ranking(saver)


def test_a_folder_of_something_else_is_not_written_over(
    catalog: Catalog, embedder: RecordingEmbedder, tmp_path: Path
) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "a web app"}')
    with pytest.raises(IndexMismatchError, match="belongs to something else"):
        Retriever(catalog, embedder).save(tmp_path)
    assert (tmp_path / "manifest.json").read_text() == '{"name": "a web app"}'
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("steps", range(7))
def test_a_full_disk_is_not_left_full_of_a_save_that_failed(
    catalog: Catalog, embedder: RecordingEmbedder, folder: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    before = sorted(path.name for path in folder.iterdir())
    expected = ranking(Retriever(catalog, embedder, index=folder))
    left = iter(range(steps))
    fsync = store.os.fsync

    def full(handle: int) -> None:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    retriever = Retriever(Catalog([*catalog, Tool(name="new_tool")]), embedder, index=folder)
    with monkeypatch.context() as patch:
        patch.setattr(store.os, "fsync", full)
        try:
            retriever.save(folder)
        except OSError:
            assert steps < 6
    if steps < 5:  # the manifest was not renamed yet
        assert sorted(path.name for path in folder.iterdir()) == before
    assert ranking(Retriever(catalog, embedder, index=folder)) == expected


def test_a_manifest_nested_without_end_is_refused(catalog: Catalog, embedder: RecordingEmbedder, folder: Path) -> None:
    (folder / "manifest.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(IndexMismatchError, match=r"toolpath index --rebuild"):
        Retriever(catalog, embedder, index=folder)


def test_a_search_after_a_change_was_saved_ranks_like_a_new_index(
    catalog: Catalog, embedder: RecordingEmbedder, folder: Path
) -> None:
    changed = Catalog(
        tool.model_copy(update={"description": f"Changed: {tool.description}"}) if place % 2 else tool
        for place, tool in enumerate(catalog)
    )
    retriever = Retriever(changed, embedder, index=folder)
    retriever.refresh()
    retriever.save(folder)
    assert ranking(retriever) == ranking(Retriever(changed, embedder))
