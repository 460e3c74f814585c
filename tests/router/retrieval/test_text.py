"""Words of requests and tools."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import Tool
from toolpath.router.retrieval import text
from toolpath.router.retrieval.text import (
    MAX_ENUM_VALUES,
    MAX_TEXT_CHARACTERS,
    parameter_texts,
    spoken_name,
    stem,
    tokenize,
    tool_digest,
    tool_terms,
    tool_text,
    words_and_terms,
)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("getWeatherForecast", ["get", "weather", "forecast"]),
        ("list_open-issues.v2", ["list", "open", "issu", "v2", "v", "2"]),
        ("parseHTTPResponse", ["pars", "http", "respons"]),
        ("upload to S3", ["upload", "s3", "3"]),
        ("the refunds of my orders", ["refund", "order"]),
        ("ＧＥＴ　ｕｓｅｒ", ["get", "user"]),
        ("STRASSE straße", ["strass", "strass"]),
        ("北京", ["北", "京", "北京"]),
        ("查weather好", ["查", "weather", "好"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー", "東京", "京タ", "タワ", "ワー"]),
        ("날씨", ["날", "씨", "날씨"]),
        ("हिन्दी", ["हिन्दी"]),
        ("", []),
        ("...", []),
    ],
)
def test_text_becomes_terms(text: str, terms: list[str]) -> None:
    assert tokenize(text) == terms


def test_identifiers_meet_the_words_people_say() -> None:
    assert set(tokenize("convertCurrencies")) == set(tokenize("currency converting"))


def test_a_text_of_stop_words_alone_keeps_them() -> None:
    assert tokenize("what is it") == ["what", "is", "it"]


def test_the_words_behind_terms_are_kept_for_people() -> None:
    assert words_and_terms("Refunded orders") == [("refunded", "refund"), ("orders", "order")]


@given(st.text(alphabet=st.characters(categories=("L", "N")), min_size=1))
def test_text_that_bears_words_never_comes_out_empty(text: str) -> None:
    assert tokenize(text)


@given(st.text())
def test_terms_are_never_blank_and_never_hold_white_space(text: str) -> None:
    assert all(term and not any(char.isspace() for char in term) for term in tokenize(text))


def test_stems_are_right_when_many_threads_stem_at_once() -> None:
    words = [f"running{'s' * (at % 3)}" for at in range(300)]
    text._stemmed.cache_clear()
    expected = [stem(word) for word in words]
    text._stemmed.cache_clear()
    seen: list[list[str]] = []
    threads = [threading.Thread(target=lambda: seen.append([stem(word) for word in words])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [expected] * 8


@pytest.mark.parametrize(
    ("name", "spoken"),
    [
        ("github.listIssues", "github list issues"),
        ("get_HTTP_status", "get HTTP status"),
        ("查询_天气", "查询 天气"),
        ("x", "x"),
    ],
)
def test_names_are_spoken_as_words(name: str, spoken: str) -> None:
    assert spoken_name(name) == spoken


NESTED = Tool(
    name="shop.createOrder",
    description="Places an order.",
    category="sales",
    tags=("checkout",),
    aliases=("buy_now",),
    server="webshop",
    examples=("I would like two kettles",),
    parameters={
        "properties": {
            "delivery": {
                "type": "object",
                "properties": {"speed": {"type": "string", "enum": ["overnight", "leisurely"]}},
            },
            "lines": {
                "type": "array",
                "items": {"type": "object", "properties": {"sku": {"type": "string", "description": "Article number"}}},
            },
        }
    },
)


@pytest.mark.parametrize(
    "word",
    ["create", "places", "sales", "checkout", "buy", "webshop", "kettles", "speed", "overnight", "sku", "article"],
)
def test_every_field_of_a_tool_can_lead_to_it(word: str) -> None:
    assert stem(word) in tool_terms(NESTED)


def test_the_embedder_reads_name_description_parameters_and_examples() -> None:
    assert tool_text(NESTED) == (
        "shop create order: Places an order. Parameters: delivery, lines. Examples: I would like two kettles"
    )


def test_a_tool_without_a_description_is_read_by_its_name() -> None:
    assert tool_text(Tool(name="send_mail")) == "send mail"


def test_an_endless_description_is_cut() -> None:
    assert len(tool_text(Tool(name="t", description="word " * 10_000))) == MAX_TEXT_CHARACTERS


def test_parameters_are_read_with_their_path_and_values() -> None:
    texts = parameter_texts(NESTED)
    assert texts["delivery.speed"] == "delivery speed (overnight, leisurely)"
    assert texts["lines[].sku"] == "lines sku: Article number"


def test_endless_words_pass_through_and_bloat_no_cache() -> None:
    before = text._cached_terms_of.cache_info().currsize
    assert tokenize("a" * 100_000) == ["a" * 100_000]
    assert text._cached_terms_of.cache_info().currsize == before


def test_a_long_enum_does_not_drown_the_tool() -> None:
    values = [f"zone{at}" for at in range(500)]
    tool = Tool(name="t", parameters={"properties": {"zone": {"enum": values}}})
    assert len([term for term in tool_terms(tool) if term.startswith("zone")]) <= 2 * MAX_ENUM_VALUES + 1


def test_a_recursive_schema_ends() -> None:
    node = {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}, "label": {"type": "string"}}}
    tool = Tool(name="t", parameters={"properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}})
    assert "label" in tool_terms(tool)


@pytest.mark.parametrize(
    "change",
    [
        {"description": "Other."},
        {"category": "other"},
        {"tags": ("other",)},
        {"aliases": ("other",)},
        {"examples": ("other",)},
        {"server": "other"},
        {"parameters": {"type": "object", "properties": {}}},
    ],
)
def test_the_digest_changes_with_everything_that_is_read(change: dict[str, object]) -> None:
    assert tool_digest(NESTED.model_copy(update=change)) != tool_digest(NESTED)


def test_the_digest_ignores_what_is_not_read() -> None:
    assert tool_digest(NESTED.with_handler(print)) == tool_digest(NESTED)
    assert tool_digest(NESTED.model_copy(update={"timeout": 3.0})) == tool_digest(NESTED)


def test_a_lone_surrogate_in_a_description_is_no_trouble() -> None:
    tool = Tool.model_construct(**{**dict(Tool(name="t")), "description": "bad \ud800 text"})
    assert tool_digest(tool) and "text" in tool_terms(tool)
