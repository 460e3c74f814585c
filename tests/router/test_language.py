"""Language by script, and by short words for Latin letters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.router.language import detect_language, language_shares


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Find flights from Oslo to Rome", "en"),
        ("weather", "en"),
        ("帮我查一下北京的天气", "zh"),
        ("東京の天気を教えてください", "ja"),
        ("서울 날씨 알려줘", "ko"),
        ("Какая погода в Москве?", "ru"),
        ("Яка погода у Києві?", "uk"),
        ("ما هو الطقس في القاهرة", "ar"),
        ("هوای تهران چطور است", "fa"),
        ("मुंबई का मौसम", "hi"),
        ("อากาศในกรุงเทพ", "th"),
        ("ποιος είναι ο καιρός", "el"),
        ("Wie wird das Wetter in Berlin und Hamburg?", "de"),
        ("Quel est le temps à Paris pour la semaine ?", "fr"),
        ("¿Cómo está el tiempo en Madrid?", "es"),
    ],
)
def test_a_request_in_one_language_is_recognised(text: str, language: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize("text", ["", "   ", "42", "?!", "🙂", "\ud800"])
def test_text_without_letters_has_no_language(text: str) -> None:
    assert detect_language(text) == "und"
    assert language_shares(text) == {}


def test_identifiers_and_addresses_do_not_turn_a_chinese_request_into_an_english_one() -> None:
    assert detect_language("照片在 https://example.com/a/very/long/path.jpg") == "zh"
    assert detect_language("用get_current_weather查天气") == "zh"


def test_a_single_foreign_name_leaves_an_english_request_english() -> None:
    assert detect_language("What does 谢谢 mean in the language of my neighbours?") == "en"


def test_shares_tell_how_much_of_a_mixed_request_is_in_which_language() -> None:
    assert language_shares("查 weather") == {"zh": 0.5, "en": 0.5}
    assert language_shares("東京の weather") == {"ja": 0.75, "en": 0.25}


@given(st.text())
def test_shares_are_positive_and_sum_to_one_for_any_text(text: str) -> None:
    shares = language_shares(text)
    assert all(share > 0 for share in shares.values())
    assert not shares or sum(shares.values()) == pytest.approx(1)
    assert (detect_language(text) == "und") == (not shares)
