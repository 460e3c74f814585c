"""Stage 1: it narrows when it is sure, keeps everything when it is not, and never loses a tool that is named."""

import gc
import random
import time
import weakref
from pathlib import Path

import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.router.intent import IntentClassifier, IntentRule, RuleIntentClassifier
from toolpath.router.intent.caution import fit_caution
from toolpath.router.intent.lexicon import CategoryLexicon

TOPICS = {
    "weather": "forecast rain wind temperature humidity storm sunshine climate",
    "billing": "invoice payment refund charge receipt discount tax subscription",
    "music": "song playlist album artist concert lyrics melody volume",
    "travel": "flight hotel train passport luggage itinerary airport booking",
    "health": "doctor prescription symptom vaccine hospital dosage allergy pulse",
    "garden": "plant soil seed watering harvest compost pruning lawn",
}


def topic_tools() -> list[Tool]:
    """Twelve tools for each of six topics; every description uses four of its topic's words."""
    chance = random.Random(7)
    return [
        Tool(
            name=f"{topic}.do_{topic}_{number}",
            description=f"Handles {', '.join(chance.sample(words.split(), 4))}.",
            category=topic,
        )
        for topic, words in TOPICS.items()
        for number in range(12)
    ]


@pytest.fixture(scope="module")
def classifier() -> RuleIntentClassifier:
    return RuleIntentClassifier(Catalog(topic_tools()))


def test_a_clear_request_is_narrowed_and_says_why(classifier: RuleIntentClassifier) -> None:
    intent = classifier.classify("will there be rain and wind, what temperature and humidity")
    assert intent.categories[0] == "weather" and len(intent.categories) <= 3
    assert any("rain" in reason and "weather" in reason for reason in intent.reasons)
    assert isinstance(classifier, IntentClassifier)


@pytest.mark.parametrize("request_text", ["hello there", "what can you do for me", "???", "42", "天气"])
def test_an_unclear_request_keeps_everything(classifier: RuleIntentClassifier, request_text: str) -> None:
    intent = classifier.classify(request_text)
    assert not intent.narrowed and any("everything is kept" in reason for reason in intent.reasons)


def test_a_request_about_two_subjects_keeps_everything(classifier: RuleIntentClassifier) -> None:
    text = (
        "song album artist lyrics melody concert; flight hotel passport luggage airport; invoice refund; soil seed lawn"
    )
    assert not classifier.classify(text).narrowed


def test_each_part_must_be_clear(classifier: RuleIntentClassifier) -> None:
    clear = "rain wind temperature humidity storm sunshine forecast climate"
    assert classifier.classify(clear).narrowed
    both = classifier.classify(f"{clear} and then do something else entirely")
    assert len(both.parts) == 2 and not both.narrowed
    assert any("part 'do something else entirely'" in reason for reason in both.reasons)


def test_a_named_tool_survives_another_category(classifier: RuleIntentClassifier) -> None:
    intent = classifier.classify("do_music_3 while rain wind temperature humidity storm forecast")
    assert intent.exact == ("music.do_music_3",)
    assert intent.keeps(classifier._catalog.get("music.do_music_3"))


def test_a_tool_that_is_perhaps_named_keeps_its_category() -> None:
    tools = [*topic_tools(), Tool(name="open_gate", description="Opens the gate.", category="security")]
    intent = RuleIntentClassifier(Catalog(tools)).classify(
        "open gate: rain wind temperature humidity storm sunshine forecast climate"
    )
    assert intent.exact == () and intent.categories[0] == "weather" and "security" in intent.categories
    assert intent.reasons[0] == "perhaps named: open_gate ('open gate')"


def test_a_users_rule_decides() -> None:
    rule = IntentRule(category="billing", keywords=("money back",), tools=("garden.do_garden_1", "no_such_tool"))
    classifier = RuleIntentClassifier(Catalog(topic_tools()), [rule])
    intent = classifier.classify("I want my money back")
    assert intent.categories == ("billing",)
    assert intent.exact == ("garden.do_garden_1",)
    assert "keyword 'money back' -> billing" in intent.reasons


def test_rules_that_point_everywhere_keep_everything() -> None:
    rules = [IntentRule(category=topic, keywords=("all",)) for topic in ("billing", "music", "travel", "health")]
    intent = RuleIntentClassifier(Catalog(topic_tools()), rules).classify("all of it")
    assert not intent.narrowed and "rules point to 4 categories: everything is kept" in intent.reasons


def test_a_rule_for_a_category_that_no_tool_has_is_ignored_and_says_so() -> None:
    rule = IntentRule(category="bililng", keywords=("money",))
    intent = RuleIntentClassifier(Catalog(topic_tools()), [rule]).classify("my money")
    assert not intent.narrowed and any("no tool has this category" in reason for reason in intent.reasons)


def test_rules_come_from_a_file_too(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("- {category: music, keywords: [tune]}", encoding="utf-8")
    assert RuleIntentClassifier(Catalog(topic_tools()), file).classify("a tune").categories == ("music",)


def test_changes_of_the_catalog_are_followed() -> None:
    catalog = Catalog(topic_tools())
    classifier = RuleIntentClassifier(catalog)
    catalog.add(Tool(name="vault.open_safe", category="security"))
    assert classifier.classify("open_safe now").exact == ("vault.open_safe",)
    catalog.replace(Tool(name="vault.open_safe", aliases=("unlock_vault",), category="security"))
    assert classifier.classify("unlock_vault now").exact == ("vault.open_safe",)
    catalog.remove("vault.open_safe")
    assert classifier.classify("open_safe unlock_vault").exact == ()
    assert "security" not in classifier._lexicon.categories


def test_adding_and_removing_leaves_the_counts_as_they_were() -> None:
    tools = topic_tools()
    catalog = Catalog(tools)
    classifier = RuleIntentClassifier(catalog)
    before = classifier._lexicon.rank(["rain", "song", "flight"])
    for tool in tools[:30]:
        catalog.remove(tool.name)
    catalog.add(*tools[:30])
    after = classifier._lexicon.rank(["rain", "song", "flight"])
    assert after.categories == before.categories and after.scores == pytest.approx(before.scores)


def test_categories_that_words_do_not_tell_are_never_narrowed() -> None:
    chance = random.Random(3)
    mixed = [tool.model_copy(update={"category": f"group {chance.randrange(6)}"}) for tool in topic_tools()]
    classifier = RuleIntentClassifier(Catalog(mixed))
    assert classifier.caution("en").max_rivalry is None and classifier.caution("en").trials == 72
    assert not classifier.classify("rain wind temperature humidity storm").narrowed


def test_a_language_without_descriptions_is_not_judged_by_words() -> None:
    tools = topic_tools()
    tools[0] = tools[0].model_copy(update={"description": "天气预报，查询降雨、风力、温度、湿度。"})
    intent = RuleIntentClassifier(Catalog(tools)).classify("查询天气预报，降雨、风力、温度和湿度")
    assert (
        not intent.narrowed and "too few descriptions in 'zh' to judge by words: everything is kept" in intent.reasons
    )


def test_few_or_no_categories_leave_nothing_to_narrow() -> None:
    for tools in ([], [Tool(name="a")], [Tool(name=f"t{n}", category=f"c{n % 3}") for n in range(9)]):
        assert not RuleIntentClassifier(Catalog(tools)).classify("anything at all").narrowed


def test_the_fit_is_the_same_for_the_same_catalog() -> None:
    lexicon = CategoryLexicon()
    for tool in topic_tools():
        lexicon.add(tool)
    shuffled = random.Random(1).sample(topic_tools(), len(topic_tools()))
    assert fit_caution(lexicon, topic_tools()) == fit_caution(lexicon, shuffled)


def test_a_server_prefix_does_not_speak_for_its_category() -> None:
    tools = topic_tools() + [
        Tool(name=f"acme.tool_{number}", description="Unrelated matter.", category="acme stuff") for number in range(12)
    ]
    assert "acm" not in CategoryLexiconTerms(tools[-1])


def CategoryLexiconTerms(tool: Tool) -> frozenset[str]:
    from toolpath.router.intent.lexicon import tool_terms

    return tool_terms(tool.model_copy(update={"category": None}))


def test_a_catalog_does_not_keep_a_classifier_alive() -> None:
    catalog = Catalog(topic_tools())
    classifier = RuleIntentClassifier(catalog)
    gone = weakref.ref(classifier)
    del classifier
    gc.collect()
    assert gone() is None
    catalog.add(Tool(name="late"))
    assert not catalog._subscribers


def test_a_huge_request_is_read_in_part_and_quickly(classifier: RuleIntentClassifier) -> None:
    classifier.classify("warm up")
    started = time.perf_counter()
    classifier.classify("rain wind and " * 50_000)
    assert time.perf_counter() - started < 5
