"""What a model may choose among, and in which order it is shown: pinned tools stand still, ranked ones follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...catalog import Tool
from ..records import Candidate

PINNED = "pinned"
"""Part of a candidate (`Candidate.parts`) that is offered whatever the ranking says."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of one question to a model.

    Pinned tools come first, in the order in which they were pinned and without a score, so that they belong to the
    stable beginning of the prompt, which servers keep in their caches. Ranked ones follow, best first, and behind them
    those that are there because a ranked one needs their output.

    Attributes:
        pinned: tools that are always offered.
        ranked: what stage 2 found, best first; a pinned tool that was found stands here too.
        needed: tools that ranked ones need (`Candidate.needed_by`).
    """

    pinned: tuple[Tool, ...]
    ranked: tuple[Candidate, ...]
    needed: tuple[Candidate, ...] = ()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Every tool once, in the order in which they are shown."""
        shown = [*self.pinned, *(candidate.tool for candidate in (*self.ranked, *self.needed))]
        return tuple({tool.name: tool for tool in shown}.values())

    @property
    def first(self) -> Tool | None:
        """The tool that ranks first; None when nothing was found."""
        return self.ranked[0].tool if self.ranked else None


def offer_of(candidates: Sequence[Candidate]) -> Offer:
    """The offer that candidates make, as `with_pinned` marked them; unmarked ones are ranked."""
    marked = [candidate for candidate in candidates if PINNED in candidate.parts]
    pinned = sorted(marked, key=lambda candidate: candidate.parts[PINNED])
    others = without_pinned(candidates)
    return Offer(
        tuple(candidate.tool for candidate in pinned),
        tuple(candidate for candidate in others if not candidate.needed_by),
        tuple(candidate for candidate in others if candidate.needed_by),
    )


def without_pinned(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates without those that are there only because they are pinned: what the ranking may choose among."""
    return [candidate for candidate in candidates if set(candidate.parts) != {PINNED}]


def with_pinned(found: Sequence[Candidate], pinned: Iterable[Tool]) -> list[Candidate]:
    """The found candidates, then the pinned tools that were not found; pinned ones are marked with their place.

    Args:
        found: best first.
        pinned: in the order in which they are always shown.
    """
    pinned = tuple(pinned)
    places = {tool.name: float(place) for place, tool in enumerate(pinned, start=1)}
    names = {candidate.name for candidate in found}
    lowest = min((candidate.score for candidate in found), default=0.0)
    marked = [
        replace(candidate, parts={**candidate.parts, PINNED: places[candidate.name]})
        if candidate.name in places
        else candidate
        for candidate in found
    ]
    extra = [
        Candidate(tool, lowest, {PINNED: places[tool.name]}, ("pinned",)) for tool in pinned if tool.name not in names
    ]
    return marked + extra
