"""Requests in one language, tools in another: the arm that cannot know keeps quiet, the other decides."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toolpath.catalog import Catalog, Tool
from toolpath.router.embedding import HashEmbedder, TextKind
from toolpath.router.retrieval import FusionWeights, Retriever
from toolpath.router.retrieval.text import tokenize

MEANINGS = ("weather", "refund", "mail")
WORDS = {
    "weather": ("weather", "rain", "天气", "下雨", "погода", "날씨"),
    "refund": ("refund", "money", "退款", "退钱", "возврат", "환불"),
    "mail": ("mail", "邮件", "письмо", "메일"),
}


class KnowsAllLanguages(HashEmbedder):
    """Vectors by meaning, as a multilingual model has them: far apart in truth, close together in cosine, as E5's."""

    def __init__(self, closeness: float = 0.8) -> None:
        super().__init__(len(MEANINGS) + 1)
        self.closeness = closeness

    def embed(self, texts: Sequence[str], kind: TextKind) -> np.ndarray:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            own = [any(word in text.casefold() for word in WORDS[meaning]) for meaning in MEANINGS]
            vector[:-1] = np.array(own) / max(np.linalg.norm(own), 1) * np.sqrt(1 - self.closeness)
            vector[-1] = 1
            vector /= np.linalg.norm(vector)
        return vectors


class KnowsEnglish(HashEmbedder):
    """An English model: a text in another language lands anywhere, here always on the refund."""

    def __init__(self) -> None:
        super().__init__(2)

    def knows(self, language: str) -> bool:
        return language in ("en", "und")

    def embed(self, texts: Sequence[str], kind: TextKind) -> np.ndarray:
        refund = np.array([[1.0, 0.0] if "money" in text or not text.isascii() else [0.0, 1.0] for text in texts])
        return refund.astype(np.float32)


ENGLISH = [
    Tool(name="get_weather", description="Forecast for a city: rain, sun and wind."),
    Tool(name="refund_order", description="Pays a customer's money back."),
    Tool(name="send_mail", description="Sends a mail to somebody."),
]
CHINESE = [
    Tool(name="天气查询", description="查询某个城市会不会下雨。"),
    Tool(name="订单退款", description="把订单的钱退给顾客，办理退款。"),
    Tool(name="发送邮件", description="把一封邮件发给某人。"),
]


@pytest.mark.parametrize("closeness", [0.5, 0.8, 0.95])
@pytest.mark.parametrize(
    ("request_text", "place"),
    [("明天北京会下雨吗", 0), ("请帮我退款", 1), ("какая завтра погода", 0), ("환불해 주세요", 1), ("письмо Анне", 2)],
)
def test_english_tools_serve_requests_in_other_languages(request_text: str, place: int, closeness: float) -> None:
    retriever = Retriever(Catalog(ENGLISH), KnowsAllLanguages(closeness))
    found = retriever.search(request_text, 3)
    assert found[0].name == ENGLISH[place].name
    assert all(candidate.parts["lexical"] == 0 for candidate in found)
    assert "does not know" not in " ".join(found[0].reasons)


@pytest.mark.parametrize(
    ("request_text", "place"), [("will it rain tomorrow", 0), ("I want my money back", 1), ("mail Anna", 2)]
)
def test_chinese_tools_serve_english_requests(request_text: str, place: int) -> None:
    retriever = Retriever(Catalog(CHINESE), KnowsAllLanguages())
    assert retriever.search(request_text, 1)[0].name == CHINESE[place].name


@pytest.mark.parametrize("request_text", ["明天北京会下雨吗", "will it rain tomorrow"])
def test_a_mixed_catalog_offers_the_right_tools_of_both_languages_first(request_text: str) -> None:
    retriever = Retriever(Catalog([*ENGLISH, *CHINESE]), KnowsAllLanguages())
    assert {found.name for found in retriever.search(request_text, 2)} == {"get_weather", "天气查询"}


def test_an_english_model_does_not_overrule_the_words_of_a_chinese_request() -> None:
    retriever = Retriever(Catalog([*CHINESE, *ENGLISH]), KnowsEnglish())
    found = retriever.search("查询天气", 3)
    assert found[0].name == "天气查询"
    assert any("does not know zh" in reason for reason in found[0].reasons)


def test_english_jargon_in_a_chinese_request_still_finds_an_english_tool_without_a_multilingual_model() -> None:
    others = [Tool(name=f"tool_{at}", description=f"Does thing number {at}.") for at in range(20)]
    retriever = Retriever(Catalog([*ENGLISH, *others]), KnowsEnglish())
    assert retriever.search("帮我查一下明天北京的 weather forecast", 1)[0].name == "get_weather"


@pytest.mark.parametrize(
    ("request_text", "terms"),
    [
        ("查天气", ["查", "天", "气", "查天", "天气"]),
        ("東京の天気", ["東", "京", "の", "天", "気", "東京", "京の", "の天", "天気"]),
        ("날씨", ["날", "씨", "날씨"]),
        ("обзор Погоды", ["обзор", "погоды"]),
        ("café au lait", ["café", "au", "lait"]),
        ("查weather天", ["查", "weather", "天"]),
        ("ＷｅａｔｈｅｒＡＰＩ", ["weather", "api"]),
        ("मौसम", ["मौसम"]),
    ],
)
def test_requests_in_any_script_have_terms(request_text: str, terms: list[str]) -> None:
    """fastmcp#4886: requests that are not ASCII returned nothing."""
    assert tokenize(request_text) == terms


@given(st.text(alphabet=st.characters(categories=["L"]), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_a_tool_is_found_by_its_own_words_in_any_script(word: str) -> None:
    """fastmcp#4886. The model knows nothing here; words alone have to do."""
    catalog = Catalog([*ENGLISH, Tool(name="own", description=word)])
    retriever = Retriever(catalog, KnowsEnglish(), weights=FusionWeights(dense=0.0, dense_unknown=0.0, parameters=0.0))
    found = {candidate.name: candidate.parts["lexical"] for candidate in retriever.search(word, 4)}
    assert found["own"] > 0
