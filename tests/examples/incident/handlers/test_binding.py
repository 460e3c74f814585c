"""Binding: a handler that does not take what its schema says is refused before anything is bound."""

from __future__ import annotations

import pytest
from toolpath.catalog import Catalog, CatalogError, Tool

from examples.incident.handlers import bind_handlers, build_handlers
from examples.incident.handlers.binding import check_signature
from examples.incident.world import World

URL = "http://127.0.0.1:9"
TOOL = Tool(
    name="t",
    parameters={"properties": {"a": {"type": "string"}, "n": {"type": "integer", "default": 3}}, "required": ["a"]},
)


def test_the_handlers_fit_the_catalog(world: World, catalog: Catalog) -> None:
    bound = bind_handlers(catalog, world, URL)
    assert bound is catalog
    assert sum(tool.handler is not None for tool in bound) == len(build_handlers(world, URL)) >= 25


def test_every_difference_is_listed() -> None:
    def handler(n: int, extra: str = "") -> None: ...

    with pytest.raises(CatalogError) as caught:
        check_signature(TOOL, handler)
    for problem in ("lacks 'extra'", "the handler lacks 'a'", "'n' is required on one side only"):
        assert problem in str(caught.value)


def test_a_default_that_differs_is_a_difference() -> None:
    def handler(a: str, n: int = 4) -> None: ...

    with pytest.raises(CatalogError, match="default 4 in the handler, 3 in the schema"):
        check_signature(TOOL, handler)


def test_nothing_is_bound_when_one_tool_does_not_fit(world: World, catalog: Catalog) -> None:
    tool = catalog.get("describe_subnet")  # the last one that is bound
    catalog.replace(tool.model_copy(update={"parameters": {"type": "object", "properties": {}}}))
    with pytest.raises(CatalogError, match="describe_subnet"):
        bind_handlers(catalog, world, URL)
    assert not any(tool.handler for tool in catalog)


def test_a_catalog_without_the_tools_is_refused(world: World) -> None:
    with pytest.raises(CatalogError, match=r"alertdesk\.list_alerts"):
        bind_handlers(Catalog(), world, URL)
