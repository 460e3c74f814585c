"""Splits a request into the wishes it seems to hold, by the words that people put between wishes.

The split is only counted and shown: a wrong one costs nothing, and a split inside a quotation would be
embarrassing, so quoted text is never cut.
"""

from __future__ import annotations

import re

MAX_PARTS = 20
MAX_LENGTH = 20_000
"""Longer requests are documents rather than wishes; they stay whole."""

_QUOTED = re.compile(
    r"\"[^\"\n]{0,500}\"|“[^”]{0,500}”|「[^」]{0,500}」|『[^』]{0,500}』|`[^`\n]{0,500}`|(?<!\w)'[^'\n]{0,500}'(?!\w)"
)

_LIST_ITEM = re.compile(
    r"(?:^|\n)\s*(?:[-*•]\s+|\(?\d{1,2}[.)、．]\s*(?=\D)|[①-⑳]\s*)"  # items on lines of their own
    r"|(?<=[\s:：,，;；。.])\(?\d{1,2}[.)、]\s+(?=\D)"  # "first this: 1. … 2. …" on one line
    r"|[①-⑳]|第[一二三四五六七八九十][，,、：:]"
)

_BETWEEN = re.compile(
    r"\s*[;；]\s*"
    r"|[,.!?]?\s+and\s+then\s+"
    r"|[,.!?]\s+(?:and\s+)?(?:then|after\s+that|afterwards?|finally|next|lastly|additionally|also)\b,?\s+"
    r"|[，。！？,]?\s*(?:然后|接着|接下来|随后|并且|此外|另外|最后)[，,再]?\s*"
    r"|[，。,]\s*(?:再|并|同时)\s*",
    re.IGNORECASE,
)

_HAS_SPACELESS_TEXT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


def split_parts(request: str) -> tuple[str, ...]:
    """The sub-requests of `request`, in order; the whole request alone when it holds one wish.

    Args:
        request: the user's text.

    Returns:
        At least one part. Parts are cut at list numbers and bullets, semicolons, "and then", ", then",
        "after that", 然后, 并且, "，再" and the like; pieces too short to be a wish join the one before.

    Example:
        >>> split_parts("find flights to Rome and then book a hotel")
        ('find flights to Rome', 'book a hotel')
        >>> split_parts("查询明天的天气，然后发邮件给张三")
        ('查询明天的天气', '发邮件给张三')
    """
    whole = request.strip()
    if len(whole) > MAX_LENGTH:
        return (whole,)
    quoted = [match.span() for match in _QUOTED.finditer(whole)]
    items = [match for match in _LIST_ITEM.finditer(whole) if not _inside(match.start(), quoted)]
    cuts = [match.span() for match in items] if len(items) >= 2 else []
    cuts += [match.span() for match in _BETWEEN.finditer(whole) if not _inside(match.start(), quoted)]
    parts: list[str] = []
    for piece in _pieces(whole, sorted(cuts)):
        if _is_a_wish(piece):
            parts.append(piece)
        elif parts and piece:
            parts[-1] = f"{parts[-1]} {piece}"
    return tuple(parts) if 2 <= len(parts) <= MAX_PARTS else (whole,)


def _pieces(text: str, cuts: list[tuple[int, int]]) -> list[str]:
    pieces, start = [], 0
    for begin, end in cuts:
        if begin >= start:
            pieces.append(text[start:begin])
        start = max(start, end)
    pieces.append(text[start:])
    return [piece.strip(" \t\r\n,，.。;；:：") for piece in pieces]


def _inside(position: int, spans: list[tuple[int, int]]) -> bool:
    return any(begin <= position < end for begin, end in spans)


def _is_a_wish(piece: str) -> bool:
    """Two words, or three characters of a script that writes no spaces: less cannot ask for anything."""
    return len(_HAS_SPACELESS_TEXT.findall(piece)) >= 3 or len(piece.split()) >= 2
