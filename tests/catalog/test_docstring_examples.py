"""The examples in the catalog's docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest
import toolpath.catalog

MODULES = [module.name for module in pkgutil.walk_packages(toolpath.catalog.__path__, "toolpath.catalog.")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    examples = [doctest.DocTestFinder().find(importlib.import_module(name)) for name in MODULES]
    assert sum(bool(test.examples) for found in examples for test in found) >= 10
