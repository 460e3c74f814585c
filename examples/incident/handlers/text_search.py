"""Ranks a handful of short texts by words, English and Chinese: enough for runbooks and incidents."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

_WORDS = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]+")
_COMMON = frozenset(
    (
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "do",
        "does",
        "for",
        "from",
        "has",
        "have",
        "how",
        "i",
        "in",
        "is",
        "it",
        "of",
        "on",
        "or",
        "that",
        "the",
        "there",
        "to",
        "we",
        "what",
        "when",
        "which",
        "with",
    )
)
_K1, _B = 1.2, 0.75
"""BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), with the usual parameters."""


def tokens(text: str) -> list[str]:
    """Lower-case words without the commonest ones and without a plural s; Chinese as pairs of characters."""
    found: list[str] = []
    for word in _WORDS.findall(text.lower()):
        if word[0] >= "\u3400":
            found += [word[i : i + 2] for i in range(len(word) - 1)] or [word]
        elif word not in _COMMON:
            found.append(word.removesuffix("s") if len(word) > 3 else word)
    return found


def bm25(query: Iterable[str], texts: Sequence[Sequence[str]]) -> list[float]:
    """A score for each text, 0 when it shares no token with the query."""
    counts = [Counter(text) for text in texts]
    average = sum(map(len, texts)) / len(texts) if texts else 0.0
    scores = [0.0] * len(texts)
    for token in dict.fromkeys(query):
        having = sum(1 for count in counts if token in count)
        rarity = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        for i, count in enumerate(counts):
            if times := count[token]:
                length = _K1 * (1 - _B + _B * len(texts[i]) / average)
                scores[i] += rarity * times * (_K1 + 1) / (times + length)
    return scores
