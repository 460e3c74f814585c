"""The on-call catalog as a file: complete, well-formed, and honest about what a call does."""

from __future__ import annotations

import json
from collections import Counter

import jsonschema
import pytest
from toolpath.catalog import Catalog, Permission, SideEffect, Tool

from .conftest import CATALOG, read_tools

TOOLS = read_tools()
CHINESE = ("\u4e00", "\u9fff")


def has_chinese(text: str) -> bool:
    return any(CHINESE[0] <= char <= CHINESE[1] for char in text)


def test_it_is_large_and_covers_what_an_engineer_on_call_needs() -> None:
    categories = Counter(tool.category for tool in TOOLS)
    assert len(TOOLS) >= 150
    assert len(categories) >= 12
    assert min(categories.values()) >= 5


def test_names_and_aliases_are_unique() -> None:
    assert len(Catalog(TOOLS)) == len(TOOLS)  # Catalog refuses clashes of names and aliases


def test_every_line_is_one_tool_without_empty_fields() -> None:
    for line in CATALOG.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        assert not [key for key, value in entry.items() if value in ("", None, [], {})], entry["name"]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_is_described_and_governed(tool: Tool) -> None:
    schema = tool.parameters
    jsonschema.Draft202012Validator.check_schema(schema)
    assert len(tool.description) >= 15
    assert tool.permission is not None
    assert tool.side_effect is not None
    assert tool.idempotent is not None
    assert tool.timeout is not None
    assert tool.owner
    assert set(schema.get("required", ())) <= set(schema["properties"])
    for name, parameter in schema["properties"].items():
        if "default" in parameter:
            jsonschema.validate(parameter["default"], parameter)
            assert name not in schema.get("required", ())


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_whatever_changes_or_costs_something_is_no_read(tool: Tool) -> None:
    reads = (Permission.SAFE_READ, Permission.SENSITIVE_READ)
    if tool.side_effect in (SideEffect.DELETE, SideEffect.COMMUNICATE):
        assert tool.permission not in reads
    if tool.permission not in reads:
        assert tool.side_effect is not SideEffect.NONE


def test_fallbacks_and_needed_tools_exist() -> None:
    names = {tool.name for tool in TOOLS}
    for tool in TOOLS:
        assert {*tool.fallbacks, *tool.depends_on} <= names - {tool.name}


def test_a_fallback_takes_the_arguments_that_its_tool_was_called_with() -> None:
    by_name = {tool.name: tool for tool in TOOLS}
    primary, fallback = by_name["query_metric_range"], by_name["read_cached_metric_range"]
    assert primary.parameters["properties"] == fallback.parameters["properties"]


def test_a_part_of_the_descriptions_is_chinese() -> None:
    share = sum(has_chinese(tool.description) for tool in TOOLS) / len(TOOLS)
    assert 0.1 <= share <= 0.3
