"""The user's rules: when they fire, and how a wrong one is refused."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from toolpath.catalog.errors import RuleError
from toolpath.router.intent.rules import IntentRule, load_rules


def test_keywords_match_whole_words_only() -> None:
    rule = IntentRule(category="people", keywords=("me",))
    assert rule.fires("tell ME more", "en") == "keyword 'me'"
    assert rule.fires("a comment about memory", "en") is None


def test_a_chinese_keyword_may_stand_anywhere() -> None:
    rule = IntentRule(category="billing", keywords=("发票",))
    assert rule.fires("请把发票发给我", "zh") == "keyword '发票'"


def test_a_phrase_spans_any_white_space_and_width() -> None:
    rule = IntentRule(category="billing", keywords=("credit note",))
    assert rule.fires("the Credit\n  Note please", "en")
    assert IntentRule(category="x", keywords=("API",)).fires("ＡＰＩ", "und")


def test_a_negation_silences_the_rule() -> None:
    rule = IntentRule(category="refunds", keywords=("refund",), unless=("refund policy",))
    assert rule.fires("refund my order", "en")
    assert rule.fires("where is the refund policy", "en") is None


def test_a_rule_for_a_language_leaves_others_alone() -> None:
    rule = IntentRule(category="x", keywords=("gift",), languages=("de",))
    assert rule.fires("das Gift", "de")
    assert rule.fires("a gift for you", "en") is None
    assert rule.fires("gift", "und")


def test_a_pattern_says_which_one_it_was() -> None:
    rule = IntentRule(category="orders", patterns=(r"#\d{5}",))
    assert rule.fires("where is #12345", "en") == r"pattern '#\\d{5}'"


@pytest.mark.parametrize(
    "fields",
    [
        {"category": "x"},
        {"category": "x", "keywords": [" "]},
        {"category": "", "keywords": ["a"]},
        {"category": "x", "patterns": ["(a"]},
        {"category": "x", "keywords": ["a"], "keyword": ["b"]},
    ],
)
def test_a_rule_that_cannot_work_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        IntentRule.model_validate(fields)


def test_rules_are_read_from_yaml(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        "rules:\n- category: billing\n  keywords: [invoice, 发票]\n  patterns: 'INV-\\d+'\n"
        "- {category: b, keywords: c}\n",
        encoding="utf-8",
    )
    first, second = load_rules(file)
    assert first == IntentRule(category="billing", keywords=("invoice", "发票"), patterns=(r"INV-\d+",))
    assert second.keywords == ("c",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- {category: a, keywrods: [x]}", "rule 1 (a): unknown key 'keywrods'; known: category, keywords"),
        (
            "- {category: a, keywords: [x]}\n- {name: second, keywords: [x]}",
            "rule 2 (second): category: Field required",
        ),
        ("- {category: a, patterns: ['(?=x)']}", "rule 1 (a): Value error, unusable pattern"),
        ("- just text", "rule 1: expected keys and values, found str"),
        ("rule: []", "unknown keys rule"),
        ("42", "expected a list of rules, found int"),
        ("a: [", "cannot read the rules"),
        ("", "expected a list of rules, found NoneType"),
    ],
)
def test_a_wrong_file_names_the_rule_and_itself(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(RuleError) as caught:
        load_rules(file)
    assert says in str(caught.value) and str(file) in str(caught.value)


def test_a_missing_file_is_a_rule_error(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="cannot read the rules"):
        load_rules(tmp_path / "nowhere.yaml")
