"""The token estimate: the right size, monotone, and cheap."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import Catalog, Tool
from toolpath.router import tokens
from toolpath.router.tokens import CatalogCost, estimate_tokens, schema_text

from tests.router.support import small_tools

COUNTED = [  # by the tokenizer of Qwen2.5, whose texts these are not
    ("Find the cheapest flight from Oslo to Rome on Friday morning, please.", 14),
    ("请帮我查询明天上海的天气情况，然后发邮件给张三。", 16),
    ('{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}', 21),
]


@pytest.mark.parametrize(("text", "counted"), COUNTED)
def test_the_estimate_is_near_a_real_tokenizer(text: str, counted: int) -> None:
    assert estimate_tokens(text) == pytest.approx(counted, rel=0.25)


@given(st.text(max_size=200), st.text(max_size=200))
def test_more_text_never_costs_less(left: str, right: str) -> None:
    assert estimate_tokens(left) <= estimate_tokens(left + " " + right) + 1


def test_nothing_costs_nothing() -> None:
    assert estimate_tokens("") == 0


def test_the_catalogs_cost_is_the_sum_and_follows_changes() -> None:
    catalog = Catalog(small_tools())
    cost = CatalogCost(catalog)
    assert cost.total() == sum(estimate_tokens(schema_text(tool)) for tool in catalog)
    before = cost.total()
    extra = Tool(name="extra", description="one more tool with a few words")
    catalog.add(extra)
    assert cost.total() == before + cost.of(extra)
    catalog.replace(extra.model_copy(update={"description": "short"}))
    assert before < cost.total() < before + cost.of(extra)
    catalog.remove("extra")
    assert cost.total() == before


def test_the_total_follows_every_change_without_counting_all_again(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = Catalog(Tool(name=f"tool_{at}", description="Does things. " * at) for at in range(20))
    cost = CatalogCost(catalog)
    cost.total()
    counted: list[str] = []
    estimate = tokens.estimate_tokens
    monkeypatch.setattr(tokens, "estimate_tokens", lambda text: (counted.append(text), estimate(text))[1])
    catalog.replace(Tool(name="tool_3", description="Does one thing."))
    catalog.remove("tool_4")
    catalog.add(Tool(name="another"))
    assert cost.total() == CatalogCost(catalog).total()
    assert len([text for text in counted if "another" in text]) == 2  # once here, once in the fresh count


@pytest.mark.parametrize(
    "text", ["", "getUserByID2", 'a-b, c! {"x": 1}', "北京 weather ٣ é 🙂", "\u2028\t\n", "ΑΒΓ ① Ⅷ"]
)
def test_units_are_counted_as_one_pass_of_alternatives_would(text: str) -> None:
    units = re.compile(
        r"(?P<word>[A-Z]?[a-z]+|[A-Z]+)|(?P<digit>\d)|(?P<wide>[\u2e80-\u9fff\uac00-\ud7af])"
        r"|(?P<mark>[!-/:-@\[-`{-~]+)|(?P<other>[^\x00-\x7f])"
    )
    expected = sum(tokens._TOKENS[str(match.lastgroup)] for match in units.finditer(text))
    assert tokens.estimate_tokens(text) == round(expected)
