"""Yardsticks beside a saved index: used by the next process, and never believed when anything has changed."""

from pathlib import Path

import pytest
from toolpath.catalog import Tool
from toolpath.router import HashEmbedder, Retriever, open_retriever
from toolpath.router.calibration import CatalogYardsticks, Yardstick
from toolpath.router.calibration.yardstick_file import FILE, load_yardsticks, save_yardsticks

from .test_yardstick import topic_catalog

KEPT = {"en": Yardstick(typical=0.5, words=3.0, samples=9)}


def yardstick_of(folder: Path, *extra: Tool) -> Yardstick | None:
    """The yardstick that a new process would use."""
    catalog = topic_catalog()
    for tool in extra:
        catalog.add(tool)
    return CatalogYardsticks(catalog, open_retriever(catalog, folder, HashEmbedder())).of("en")


def test_the_next_process_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = yardstick_of(tmp_path)
    monkeypatch.setattr(Retriever, "search_many", lambda *_: pytest.fail("measured again"))
    assert first is not None and yardstick_of(tmp_path) == first


def test_other_tools_are_measured_again(tmp_path: Path) -> None:
    yardstick_of(tmp_path)
    before = (tmp_path / FILE).read_text()
    yardstick_of(tmp_path, Tool(name="show_bread", description="Shows the current bread overview."))
    assert (tmp_path / FILE).read_text() != before


@pytest.mark.parametrize(
    "damage", ["", "[]", "{", '{"kind": "toolpath yardsticks", "key": "k", "yardsticks": {"en": 1}}']
)
def test_a_damaged_file_counts_as_none(damage: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(damage)
    assert load_yardsticks(tmp_path, "k") is None


def test_what_is_kept_comes_back_under_its_own_key_only(tmp_path: Path) -> None:
    save_yardsticks(tmp_path, "k", KEPT)
    assert load_yardsticks(tmp_path, "k") == KEPT and load_yardsticks(tmp_path, "other") is None
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    save_yardsticks(tmp_path / "absent", "k", KEPT)
    assert load_yardsticks(tmp_path / "absent", "k") is None
