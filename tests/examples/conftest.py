"""The incident's world for tests: one that all share for reading, a fresh one for those that write."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from toolpath.catalog import Catalog, Tool

from examples.incident.alert_book import AlertBook
from examples.incident.alert_service import AlertService
from examples.incident.world import World, build_world

CATALOG = Path(__file__).parents[2] / "benchmarks" / "data" / "oncall" / "tools.jsonl"


def read_tools() -> list[Tool]:
    """The on-call catalog's tools, read anew."""
    return [Tool.model_validate_json(line) for line in CATALOG.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world that no test may change."""
    return build_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def own_world(world: World, tmp_path: Path) -> World:
    """A world of the test's own."""
    return World(Path(shutil.copytree(world.folder, tmp_path / "world")))


@pytest.fixture
def service() -> Iterator[AlertService]:
    """A running alert service with the story's alerts."""
    with AlertService(AlertBook()) as running:
        yield running


@pytest.fixture
def catalog() -> Catalog:
    """The on-call catalog, without handlers."""
    return Catalog(read_tools())
