"""What counts as a whole word, in every script: the one place that decides that "me" is not in "comment"."""

from __future__ import annotations

import re
import unicodedata

from ..language import HAN, HANGUL, KANA, UNSPACED

_SPACELESS = re.compile(f"[{HAN}{KANA}{HANGUL}{UNSPACED}]")


def is_spaceless(char: str) -> bool:
    """Whether words around `char` are not set apart by spaces (Korean writes spaces, but glues particles to nouns)."""
    return _SPACELESS.match(char) is not None


def joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word; either may be "" (the edge of the text)."""
    if not left or not right or is_spaceless(left) or is_spaceless(right):
        return False
    return (left.isalnum() or left == "_") and (right.isalnum() or right == "_")


def fold(text: str) -> str:
    """NFKC, one case, single spaces: the form in which texts and phrases are compared."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def contains_phrase(folded: str, phrase: str) -> bool:
    """Whether `phrase` stands in the text as whole words, in any case.

    Args:
        folded: the text, as `fold` gives it.
        phrase: one or more words. Next to a character of a script without spaces (Chinese, Japanese, Thai)
            no word boundary is asked for.
    """
    wanted = fold(phrase)
    start = folded.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        before = folded[start - 1] if start else ""
        if not joined(before, wanted[0]) and not joined(wanted[-1], folded[end : end + 1]):
            return True
        start = folded.find(wanted, start + 1)
    return False
