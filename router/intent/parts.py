"""Splits a request into the wishes it seems to hold, by the words that people put between wishes.

Clauses are cut first and then judged: one that wants something of its own opens a part, any other is a detail of the
part before it. Nothing is ever cut inside quotations, code, addresses, brackets, names or numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..records import Wish
from .clauses import (
    AND_THEN,
    ASKS,
    CLAUSE,
    COMES_AFTER,
    CONDITION,
    DETAIL,
    HOLLOW,
    INNER,
    IS_QUESTION,
    LEAD,
    LED_WISH,
    QUESTIONS,
    REFERS_BACK,
    SENTENCE_END,
    STATES,
    WISH,
    ZH_CLAUSE,
    ZH_LEAD,
    ZH_QUESTION,
    ZH_WISH,
)

MAX_PARTS = 20
MAX_LENGTH = 20_000
"""Longer requests are documents rather than wishes; they stay whole."""

_PROTECTED = re.compile(
    r"```.{0,5000}?```|`[^`\n]{0,500}`"
    r"|\"[^\"\n]{0,500}\"|“[^”]{0,500}”|「[^」]{0,500}」|『[^』]{0,500}』|《[^》]{0,200}》|(?<!\w)'[^'\n]{0,500}'(?!\w)"
    r"|‘[^’\n]{0,500}’(?!\w)|\([^()\n]{0,300}\)|（[^（）\n]{0,300}）|\[[^\[\]\n]{0,300}\]|\{[^{}\n]{0,300}\}"
    r"|(?<!\w)\w{1,20}://\S{1,500}|(?<![\w.+-])[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,60})+|\d+(?:[.,:/]\d+)+"
    r"|\b(?:e\.g|i\.e|etc|vs|Mr|Mrs|Ms|Dr|Prof|St|No|Inc|Ltd|Jr|Sr|approx|a\.m|p\.m|U\.S|U\.K|D\.C)\.",
    re.DOTALL,
)

_LIST_ITEM = re.compile(
    r"(?:^|\n)\s*(?:[-*•]\s+|\(?\d{1,2}[.)、．]\s*(?=\D)|[①-⑳]\s*)"  # items on lines of their own
    r"|(?<=[\s:：,，;；。.])\(?\d{1,2}[.)、]\s+(?=\D)"  # "first this: 1. … 2. …" on one line
    r"|[①-⑳]|第[一二三四五六七八九十][，,、：:]"
)

_SAME_FOR_TWO = re.compile(
    r"(?P<head>\S.{5,200}?)\s(?P<prep>in|for|at|from|on)\s(?P<one>(?:[A-Z][\w.'-]*\s?){1,3}),?\s(?:and|as\s+well\s+as)\s"
    r"(?:also\s)?(?P=prep)\s(?P<two>(?:[A-Z][\w.'-]*\s?){1,3})[.?!]*"
)
""" "the weather in Paris and in London"."""

_SHARED_VERB = re.compile(
    r"(?P<lead>(?:please\s+|(?:can|could)\s+you\s+|i\s+(?:want|need|would\s+like)\s+to\s+)?(?:book|reserve|order|rent|buy|get|find)"
    r"(?:\s+me)?)\s+(?P<one>an?\s+(?:(?!\b(?:with|and|of|that|which)\b)[^,.;?!]){3,80}),?\s+and\s+(?:also\s+)?"
    r"(?P<two>an?\s+(?:(?!\b(?:and)\b)[^,.;?!]){3,80})[.?!]*",
    re.IGNORECASE,
)
""" "book a flight to Rome and a hotel"."""

_HAS_SPACELESS_TEXT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_EDGES = " \t\r\n,，.。;；:：、"


def split_parts(request: str) -> tuple[str, ...]:
    """The texts of `split`: the sub-requests of `request`, in order; the whole request alone when it holds one wish.

    Example:
        >>> split_parts("find flights to Rome and then book a hotel")
        ('find flights to Rome', 'book a hotel')
        >>> split_parts("查询明天的天气，然后发邮件给张三")
        ('查询明天的天气', '发邮件给张三')
    """
    return tuple(wish.text for wish in split(request))


def split(request: str) -> tuple[Wish, ...]:
    """The wishes that `request` holds, in order, and which earlier ones each needs.

    Args:
        request: the user's text, in any language; other than English and Chinese are cut at list items, semicolons
            and questions only.

    Returns:
        At least one wish, at most `MAX_PARTS`; a single one is the whole request. A wish needs the one before it when
        it is put behind it ("then", "after that", 然后) or points back ("email it to Ann", "with the result").

    Example:
        >>> [(wish.text, wish.needs) for wish in split("Find the log and mail it to Bob. What's the weather in Rome?")]
        [('Find the log', ()), ('mail it to Bob', (0,)), ("What's the weather in Rome?", ())]
    """
    whole = request.strip()
    if len(whole) > MAX_LENGTH or len(whole) < 6:
        return (Wish(whole),)
    text = _unwrapped(whole)
    if (pair := _elliptic(text)) is not None:
        return pair
    parts = _grouped(list(_clauses(text)))
    if not 2 <= len(parts) <= MAX_PARTS:
        return (Wish(whole),)
    return tuple(
        Wish(text[part.start : part.end].strip(_EDGES), (place - 1,) if place and part.follows else ())
        for place, part in enumerate(parts)
    )


@dataclass(frozen=True, slots=True)
class _Clause:
    """A stretch of the request, judged.

    Attributes:
        start, end: where it stands.
        wish: it wants something of its own.
        follows: it is put behind the one before it, or points back to it.
        states: it states a need ("I'd like to ..."), which the next clause may put as a request.
        asks: it is put as a request ("please ...", "can you ...") right behind what it asks for.
        hollow: it says nothing in particular.
        listed: it is an item of a list, or stands behind a semicolon.
        parted: words that part two steps whatever they are stand before it ("and then").
    """

    start: int
    end: int
    wish: bool = True
    follows: bool = False
    states: bool = False
    asks: bool = False
    hollow: bool = False
    listed: bool = False
    parted: bool = False


def _clauses(text: str) -> Iterator[_Clause]:
    """The clauses of `text`, each judged."""
    masked = _PROTECTED.sub(_blotted, text)
    start, joint = 0, ""
    for begin, end in _cuts(masked):
        piece = masked[start:begin].strip(_EDGES)
        if piece and not LEAD.fullmatch(piece):
            yield _judged(masked, start, begin, joint)
            joint = ""
        else:
            joint += piece
        start, joint = end, joint + masked[begin:end]
    if masked[start:].strip(_EDGES):
        yield _judged(masked, start, len(masked), joint)


def _cuts(masked: str) -> list[tuple[int, int]]:
    """Where clauses may part, as (begin, end), in order and without overlaps."""
    items = [match.span() for match in _LIST_ITEM.finditer(masked)]
    hard = items if len(items) >= 2 else []
    cuts = _in_order([*hard, *((_after_mark(masked, match), match.end()) for match in SENTENCE_END.finditer(masked))])
    soft: list[tuple[int, int]] = []
    start = 0
    for begin, end in [*cuts, (len(masked), len(masked))]:
        soft += [(start + one, start + two) for one, two in _joints(masked[start:begin])]
        start = end
    return _in_order([*cuts, *soft])


def _after_mark(masked: str, match: re.Match[str]) -> int:
    """A question keeps its mark: it is what makes it one."""
    return match.start() + 1 if masked[match.start()] in "?？" else match.start()


def _in_order(cuts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for cut in sorted(cuts):
        if not kept or cut[0] >= kept[-1][1]:
            kept.append(cut)
    return kept


def _joints(sentence: str) -> Iterator[tuple[int, int]]:
    """Where one sentence may be cut between clauses."""
    start = 0
    found = [
        *AND_THEN.finditer(sentence),
        *CLAUSE.finditer(sentence),
        *QUESTIONS.finditer(sentence),
        *ZH_CLAUSE.finditer(sentence),
    ]
    for match in sorted(found, key=lambda match: match.start()):
        left = sentence[start : match.start()]
        if (
            match.start() < start
            or not _is_a_phrase(_without_lead(left)[0])
            or (match.re is not AND_THEN and INNER.search(left))
        ):
            continue
        if match.re is QUESTIONS and not IS_QUESTION.match(_without_lead(left)[0]):
            continue
        is_comma = match.group().strip().startswith(",") and "and" not in match.group()
        if is_comma and CONDITION.fullmatch(f"{left.strip()}, "):
            continue
        yield match.span()
        start = match.end()


def _is_a_phrase(text: str) -> bool:
    """Two words, or three characters of a script that writes no spaces: less has no room for a verb and its object."""
    return len(_HAS_SPACELESS_TEXT.findall(text)) >= 3 or len(text.split()) >= 2


def _judged(masked: str, start: int, end: int, joint: str) -> _Clause:
    """What the clause is; what leads it in is left out of it."""
    piece = masked[start:end]
    bare, led = _without_lead(piece)
    start += len(piece) - len(bare)
    condition = CONDITION.match(bare)
    behind = COMES_AFTER.search(joint + led) is not None or (
        condition is not None and condition.group().lower().startswith(("once", "after", "when", "if"))
    )
    is_led = bool(joint.strip(_EDGES + "?!？！") or led.strip(_EDGES))
    core = bare.strip(_EDGES)
    hollow = not _is_a_phrase(core) or HOLLOW.fullmatch(core) is not None
    parted = AND_THEN.search(joint) is not None
    return _Clause(
        start,
        end,
        wish=_wants(bare, is_led) or (parted and not hollow),
        follows=behind or REFERS_BACK.search(bare) is not None,
        states=STATES.match(core) is not None,
        asks=not is_led and ASKS.match(core) is not None,
        hollow=hollow,
        listed=";" in joint or "；" in joint or _LIST_ITEM.search(f"\n{joint.strip()} x") is not None,
        parted=parted,
    )


def _without_lead(piece: str) -> tuple[str, str]:
    bare = piece.lstrip(_EDGES)
    for lead in (LEAD, ZH_LEAD):
        match = lead.match(bare)
        if match is not None and match.end() < len(bare):
            bare = bare[match.end() :]
    return bare, piece[: len(piece) - len(bare)]


def _wants(bare: str, led: bool) -> bool:
    """Whether a clause wants something of its own."""
    text = bare.strip(_EDGES)
    if not _is_a_phrase(text) or HOLLOW.fullmatch(text) or DETAIL.match(text):
        return False
    if ZH_WISH.match(text) or (_HAS_SPACELESS_TEXT.search(text) and ZH_QUESTION.search(text)):
        return True
    condition = CONDITION.match(text)
    core = text[condition.end() :] if condition else text
    if text.endswith("?") and IS_QUESTION.match(core) and not REFERS_BACK.search(core):
        return True
    return WISH.match(core) is not None or (led and LED_WISH.match(core) is not None)


def _grouped(clauses: list[_Clause]) -> list[_Clause]:
    """One stretch for each wish: details join the wish before them, what comes before the first wish joins that.

    Where nothing is a wish, all items of a list are. A need that is stated and then put as a request is one wish: "I'm
    looking for a hotel. Can you find one in Rome?"
    """
    if not any(clause.wish for clause in clauses):  # "flights to Rome; hotels in Rome": a list says what it is
        listed = any(clause.listed for clause in clauses)
        return [clause for place, clause in enumerate(clauses) if clause.listed or (listed and not place)]
    parts: list[_Clause] = []
    opening: int | None = None
    before: _Clause | None = None
    for clause in clauses:
        again = before is not None and before.wish and before.states and clause.asks
        if clause.parted and opening is not None:
            parts.append(_Clause(opening, before.end if before is not None else clause.start))
            opening = None
        if clause.wish and not again:
            parts.append(replace(clause, start=clause.start if opening is None else opening))
            opening = None
        elif parts:
            parts[-1] = replace(parts[-1], end=clause.end)
        elif opening is None and not clause.hollow:
            opening = clause.start
        before = clause
    return parts


def _elliptic(text: str) -> tuple[Wish, Wish] | None:
    """Two wishes of which the second leaves out what it shares with the first; None when there are no such two."""
    if _PROTECTED.search(text) or len(text) > 400:
        return None
    if (match := _SAME_FOR_TWO.fullmatch(text)) is not None:
        one, two = (f"{match['head']} {match['prep']} {match[name].strip(' .?!')}" for name in ("one", "two"))
    elif (match := _SHARED_VERB.fullmatch(text)) is not None:
        one, two = (f"{match['lead']} {match[name].strip(' .?!')}" for name in ("one", "two"))
    else:
        return None
    return Wish(one), Wish(two)


def _unwrapped(text: str) -> str:
    """`text` without quotation marks around all of it."""
    inner = text[1:-1]
    return inner.strip() if text[0] == text[-1] == '"' and '"' not in inner else text


def _blotted(match: re.Match[str]) -> str:
    """What stands in for protected text: as long, without anything to cut at; the end of a sentence stays one."""
    found = match.group()
    if len(found) < 3 or found[-1] == ".":
        return "x" * len(found)
    mark = found[-2] if found[-2] in ".!?。！？" and found[-1] in "\"'”’" else "x"
    return f"{found[0]}{'x' * (len(found) - 3)}{mark}{found[-1]}"
