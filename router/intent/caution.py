"""How clear the words must be before stage 1 drops anything: fitted on the catalog itself, without labelled requests.

Each sampled tool is taken out of the counts and its description asked for its category, as if a user had written
it. Where words do not predict categories (a category per tool, or categories that mean nothing to users) this
shows here, and nothing is ever dropped.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from ...catalog import Tool
from ..language import detect_language
from .lexicon import CategoryLexicon, content_terms

KEPT = 3
"""Categories that stay when the rules are sure."""
SAMPLE = 400
"""Tools that are asked for their category."""
MIN_LEAD = 8.0
"""Log-likelihood by which the best category must lead the best dropped one. On the training sets seal_tools and
toolalpaca, where descriptions and requests come from different writers, no right tool was lost above it in the
catalog whose categories can be told from words."""
RIVALRY_STEPS = (0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1)
"""Tried from the most daring to the most careful one."""
MAX_DROPPED = 0.01
"""Share of the narrowed trial requests that may lose their category."""
MIN_NARROWED = 0.05
"""Share of the trial requests that must be narrowed for the trial to mean anything (20 of 400)."""
MIN_TRIALS = 30
"""Fewer descriptions in a language say nothing about requests in that language."""


@dataclass(frozen=True, slots=True)
class Caution:
    """When to narrow: `lead` at least `MIN_LEAD` and `rivalry` at most `max_rivalry`.

    Attributes:
        max_rivalry: None when the catalog's words do not predict its categories; then nothing is narrowed.
        trials: trial requests.
        narrowed: share of them that would have been narrowed.
        dropped: share of the narrowed ones that would have lost their category.
    """

    max_rivalry: float | None
    trials: int = 0
    narrowed: float = 0.0
    dropped: float = 0.0


UNTRIED = Caution(None)
"""For languages in which the catalog has no descriptions to try."""


def fit_caution(lexicon: CategoryLexicon, tools: Iterable[Tool]) -> dict[str, Caution]:
    """For each language of the descriptions the most daring caution that loses at most 1% of the narrowed trials.

    Args:
        lexicon: counts over `tools`.
        tools: the catalog; at most `SAMPLE` of them are tried, the same ones for the same catalog.
    """
    able = sorted(
        (tool for tool in tools if tool.category is not None and tool.description), key=lambda tool: tool.name
    )
    tried = random.Random(len(able)).sample(able, SAMPLE) if len(able) > SAMPLE else able
    outcomes: defaultdict[str, list[tuple[float, bool]]] = defaultdict(list)
    for tool in tried:
        ranking = lexicon.rank(content_terms(tool.description), without=tool)
        kept = ranking.categories[:KEPT]
        sure = ranking.lead(KEPT) >= MIN_LEAD
        outcomes[detect_language(tool.description)].append(
            (ranking.rivalry(kept) if sure else math.inf, tool.category in kept)
        )
    return {language: _fit(trials) for language, trials in outcomes.items() if len(trials) >= MIN_TRIALS}


def _fit(trials: list[tuple[float, bool]]) -> Caution:
    """The caution for trials given as rivalry and whether the right category was kept."""
    for limit in RIVALRY_STEPS:
        right = [correct for rivalry, correct in trials if rivalry <= limit]
        if len(right) < MIN_NARROWED * len(trials):
            break
        dropped = 1 - sum(right) / len(right)
        if dropped <= MAX_DROPPED:
            return Caution(limit, len(trials), len(right) / len(trials), dropped)
    return Caution(None, len(trials))
