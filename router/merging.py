"""Several wishes in one request: stage 2 searches for each of them, and one list of candidates serves them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .records import Candidate, Intent, Wish
from .searching import SearchesTools

if TYPE_CHECKING:
    from .splitting import Split

Floats = npt.NDArray[np.float64]

WHOLE = 0.5
"""What the whole request's score counts beside a wish's own, which counts ``1 - WHOLE``.

Chosen with `SERVED` on training sets, by MiniLM: requests of several tools from Seal-Tools and BFCL parallel (all of a
request's tools within 5: 54% and 70% without splitting; 83% and 76% at 0.5 and 2; 85% and 74% at 0.5 and 4; 86% and
73% at 0.25 and 4; 76% and 72% at 0.75 and 4) and requests of one tool from ACEBench, which lose at 0 (recall@1 82.2
without splitting, 81.5 at 0) and win at 0.5 (83.9).
"""
SERVED = 3.0
"""What every tool that a wish has got already takes from its next ones, in points of fused score. Flat from 2 to 4."""
MAX_SHOWN = 40
"""Characters of a wish in a candidate's reasons."""


def search_wishes(
    retriever: SearchesTools,
    requests: Sequence[str],
    k: int,
    intents: Sequence[Intent],
    classify: Callable[[str], Intent],
) -> tuple[list[list[Candidate]], list[Intent]]:
    """Stage 2 for requests of one or several wishes, all of them in one batch.

    Args:
        retriever: the search.
        requests: the users' texts.
        k: candidates for each request.
        intents: what stage 1 made of each.
        classify: stage 1, asked which tools a single wish names.

    Returns:
        For each request its candidates, those of several wishes merged by `merge`; and the intents, whose wishes now
        say what was found for each.
    """
    texts, meant = list(requests), list(intents)
    for intent in intents:
        texts += [wish.text for wish in intent.wishes]
        meant += [_alone(wish, intent, classify(wish.text)) for wish in intent.wishes]
    found = retriever.search_many(texts, k, meant)
    rest = iter(found[len(requests) :])
    candidates: list[list[Candidate]] = []
    filled: list[Intent] = []
    for whole, intent in zip(found, intents, strict=False):  # the wishes' lists stand behind
        lists = [next(rest) for _ in intent.wishes]
        ranked = [weighed(own, whole) for own in lists]
        wishes = tuple(replace(wish, found=tuple(own)) for wish, own in zip(intent.wishes, ranked, strict=True))
        filled.append(replace(intent, wishes=wishes) if wishes else intent)
        candidates.append(merge(whole, lists, k, [wish.text for wish in wishes]) if wishes else whole)
    return candidates, filled


def split_as(intent: Intent, made: Split | None) -> Intent:
    """The intent with the wishes that a splitter found; None: as it is."""
    if made is None:
        return intent
    return replace(
        intent,
        parts=tuple(wish.text for wish in made.wishes),
        wishes=made.wishes if len(made.wishes) > 1 else (),
        reasons=(*intent.reasons, made.reason) if made.reason else intent.reasons,
    )


def _alone(wish: Wish, intent: Intent, own: Intent) -> Intent:
    """What one wish may find: what the whole request may, with the tools in front that it names itself."""
    return replace(intent, exact=own.exact, language=own.language, parts=(wish.text,), wishes=())


def weighed(own: Sequence[Candidate], whole: Sequence[Candidate]) -> list[Candidate]:
    """What was found for one wish, scored and ordered with the whole request's say; named tools first.

    The words around a wish tell look-alikes apart ("I manage a library. Give me the opening hours").
    """
    names = [candidate.name for candidate in own]
    values = _joined(_scores_of(names, whole), _scores_of(names, own))
    ranked = [replace(own[at], score=float(values[at])) for at in np.argsort(-values, kind="stable")]
    return _falling(sorted(ranked, key=_is_named, reverse=True))  # stable, too


def merge(
    whole: Sequence[Candidate], found: Sequence[Sequence[Candidate]], k: int, wishes: Sequence[str]
) -> list[Candidate]:
    """One list in which the best tools of every wish come early.

    Tools are picked one by one: next comes the one with the highest ``WHOLE * w + (1 - WHOLE) * max over wishes of
    (s - SERVED * n)``, where `w` and `s` are its scores for the whole request and for a wish, and `n` counts the tools
    that were picked for that wish already (each pick counts for the wish that made it the best). A tool that a search
    did not find has that search's lowest score. This is the greedy form of a coverage goal with diminishing returns:
    a wish whose best tools are in the list must be much surer of its next one than a wish that has none yet. The last
    places are kept for best tools of wishes that are not in the list yet. The first place is the whole request's best
    tool, so that a request of one wish that was split by mistake loses nothing there.

    Args:
        whole: found for the whole request, best first.
        found: found for each wish, best first.
        k: at most so many.
        wishes: the wishes' texts, for the reasons.

    Returns:
        Tools that the request names first, then as picked. Each candidate says by `serves` and in its reasons which
        wish it was picked for, has the arms' scores from that wish's search, and as its score the value above, which
        never rises from one candidate to the next.
    """
    sources = {candidate.name: candidate for candidate in whole}
    for own in reversed(found):
        sources |= {candidate.name: candidate for candidate in own}
    names = list(dict.fromkeys([candidate.name for own in (whole, *found) for candidate in own]))
    if not names:
        return []
    whole_scores = _scores_of(names, whole)[:, None]
    own_scores = np.stack([_scores_of(names, own) for own in found], axis=1)
    by_wish = [{candidate.name: candidate for candidate in own} for own in found]
    served = np.zeros(len(found))
    named = {candidate.name for own in (whole, *found) for candidate in own if _is_named(candidate)}
    owed = {weighed(own, whole)[0].name for own in found if own}
    left = list(range(len(names)))
    picked: list[Candidate] = []
    while left and len(picked) < k:
        worth = _joined(whole_scores[left], own_scores[left] - SERVED * served)
        values = worth.max(axis=1)
        wanted = owed if len(owed) >= k - len(picked) else set(names)
        wanted = wanted if picked or not whole else {whole[0].name}
        open_to = [at for at, place in enumerate(left) if names[place] in named]
        open_to = open_to or [at for at, place in enumerate(left) if names[place] in wanted]
        at = open_to[int(values[open_to].argmax())]  # of equal ones the earlier
        wish = int(worth[at].argmax())
        served[wish] += 1
        name = names[left.pop(at)]
        owed.discard(name)
        candidate = by_wish[wish].get(name, sources[name])
        note = f"wish {wish + 1}: {_shortened(wishes[wish])}"
        picked.append(replace(candidate, score=float(values[at]), serves=(wish,), reasons=(*candidate.reasons, note)))
    return _falling(picked)


def _scores_of(names: Sequence[str], found: Sequence[Candidate]) -> Floats:
    """One search's scores of the named tools; one that it did not find has the lowest of them."""
    scores = {candidate.name: candidate.score for candidate in found}
    lowest = min(scores.values(), default=0.0)
    return np.array([scores.get(name, lowest) for name in names], np.float64)


def _joined(whole: Floats, own: Floats) -> Floats:
    return np.asarray(WHOLE * whole + (1 - WHOLE) * own)


def _is_named(candidate: Candidate) -> bool:
    return "exact" in candidate.parts


def _falling(picked: list[Candidate]) -> list[Candidate]:
    """Named tools may stand before ones with a higher score: they get the highest of those behind them."""
    top = float("-inf")
    for at in range(len(picked) - 1, -1, -1):
        top = max(top, picked[at].score)
        picked[at] = replace(picked[at], score=top)
    return picked


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}…"
