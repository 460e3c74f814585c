"""Which language a text is most likely in: enough to choose a tokenisation and to ask whether an embedder knows it.

Scripts decide (Unicode blocks), and for Latin letters the short words that only one language uses; a handful of
languages is told apart, everything else in Latin script counts as English.
"""

from __future__ import annotations

import re
from collections import Counter

UNKNOWN = "und"

HAN = "\u2e80-\u2fdf\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = "\u3041-\u3096\u3099-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese and Khmer: written, like Chinese and Japanese, without spaces between words."""

_SCRIPTS: dict[str, str] = {
    "zh": HAN,
    "ja": KANA,
    "ko": HANGUL,
    "ru": "\u0400-\u052f",
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "he": "\u0590-\u05ff",
    "ar": "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc",
    "hi": "\u0900-\u097f",
    "bn": "\u0980-\u09ff",
    "ta": "\u0b80-\u0bff",
    "te": "\u0c00-\u0c7f",
    "th": "\u0e00-\u0e7f",
    "lo": "\u0e80-\u0eff",
    "my": "\u1000-\u109f",
    "km": "\u1780-\u17ff",
    "ka": "\u10a0-\u10ff",
    "hy": "\u0530-\u058f",
}
_ONE_CHARACTER_UNITS = frozenset(("zh", "ja", "th", "lo", "my", "km"))
_LATIN = "A-Za-z\u00aa-\u024f\u1e00-\u1eff"
# One unit per Latin run up to white space or another script, so that a URL or a snake_case name weighs as one word;
# one per character where words have no spaces; one per run of letters elsewhere.
_UNITS = re.compile(
    "|".join(
        [f"(?P<latin>[{_LATIN}](?:[{_LATIN}\\d_'’./:@&=?%#~+-]*[{_LATIN}\\d])?)"]
        + [f"(?P<{code}>[{block}]{'' if code in _ONE_CHARACTER_UNITS else '+'})" for code, block in _SCRIPTS.items()]
    )
)
_ASCII_UNITS = re.compile(r"[A-Za-z](?:[A-Za-z\d_'./:@&=?%#~+-]*[A-Za-z\d])?")
"""What the alternatives above make of ASCII, where only the Latin one can match."""
_UKRAINIAN = re.compile("[іїєґІЇЄҐ]")
_PERSIAN = re.compile("[پچژگ]")

_SHORT_WORDS: dict[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": "the a an and of to in is are was be for with on that this it my me you your i what how can please from",
        "de": "der die das und ist nicht ein eine einen mit für auf den dem im zu von ich wir mir bitte wie wird auch",
        "es": "el los las y es una por para con que del en mi quiero cómo qué está al como más sobre",
        "fr": "le les et est une des pour avec que dans du je vous mon ma sur quel quelle au aux nous ce cette",
        "it": "il gli e è una per con che di della del nel mi vorrei sono come questo alla più dei",
        "pt": "o os e é uma para com que do da em meu minha não como quero por no na dos você",
        "nl": "het een en is van voor met dat op niet ik mijn naar hoe wat zijn kan te je aan",
    }.items()
}
_MIN_EVIDENCE = 2  # short words of another language needed before Latin text stops being taken for English


def detect_language(text: str) -> str:
    """The most likely language of `text`.

    The script with the most units wins (a unit is a word; a single character where words are written without spaces).
    Any kana makes Han text Japanese. Latin text is ``"en"`` unless at least two short words of German, Spanish, French,
    Italian, Portuguese or Dutch outnumber the English ones; a language not listed here (Polish, say) is therefore
    reported as English, and one that shares a listed language's script under that language's code.

    Returns:
        An ISO 639-1 code, or ``"und"`` when the text holds no letters of a script listed here.

    Example:
        >>> detect_language("把 report.pdf 发给张三"), detect_language("send report.pdf to Zhang San")
        ('zh', 'en')
    """
    counts, latin = _count_units(text)
    if not counts:
        return UNKNOWN
    if counts["ja"]:
        counts["ja"] += counts.pop("zh", 0)
    code = max(counts, key=lambda script: (counts[script], script != "latin"))
    if code == "latin":
        return _latin_language(latin)
    if code == "ru" and _UKRAINIAN.search(text):
        return "uk"
    if code == "ar" and _PERSIAN.search(text):
        return "fa"
    return code


def language_shares(text: str) -> dict[str, float]:
    """How the units of `text` fall into languages: code to share, the shares sum to 1; empty without letters.

    Example:
        >>> language_shares("查 weather")
        {'zh': 0.5, 'en': 0.5}
    """
    counts, latin = _count_units(text)
    total = sum(counts.values())
    shares = {code: number / total for code, number in counts.most_common() if code != "latin"}
    if "ja" in shares:
        shares["ja"] += shares.pop("zh", 0.0)
    if counts["latin"]:
        shares[_latin_language(latin)] = counts["latin"] / total
    return shares


def _count_units(text: str) -> tuple[Counter[str], list[str]]:
    if text.isascii():
        words = _ASCII_UNITS.findall(text.lower())
        return Counter({"latin": len(words)} if words else {}), words
    counts: Counter[str] = Counter()
    latin: list[str] = []
    for match in _UNITS.finditer(text):
        counts[match.lastgroup or ""] += 1
        if match.lastgroup == "latin":
            latin.append(match.group().casefold())
    return counts, latin


def _latin_language(words: list[str]) -> str:
    evidence = {code: sum(word in short for word in words) for code, short in _SHORT_WORDS.items()}
    best = max(evidence, key=lambda code: (evidence[code], code == "en"))
    return best if evidence[best] >= _MIN_EVIDENCE else "en"
