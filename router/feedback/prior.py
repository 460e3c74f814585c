"""How recorded outcomes move a ranking: pure functions, and the constants with their origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..records import Candidate

PSEUDO_COUNT = 10.0
"""Outcomes at the mean rate that every tool is credited with: ten real ones weigh as much as none at all."""
BOUND = 0.1
"""Most that outcomes add to a fused score or take off it, so two tools trade places only when they are less than twice
this apart. Of 47 requests of ToolAlpaca, BFCL multiple and BFCL simple (training sets) whose first two tools were so
near, and one of them right, the first was right in 47%: a toss of a coin. From 0.3 to 0.5 apart it was right in 75% of
24, more than 1 apart in 97% of 425."""


@dataclass(frozen=True, slots=True)
class Record:
    """What became of the calls of one tool.

    Attributes:
        picked: it was chosen; counted and shown, but of no weight: a router's own choices would prove themselves.
        succeeded: it did what was wanted.
        failed: it did not, or its call failed.
        corrected: somebody put another tool in its place.
        preferred: somebody put it in the place of another.
    """

    picked: int = 0
    succeeded: int = 0
    failed: int = 0
    corrected: int = 0
    preferred: int = 0

    @property
    def good(self) -> int:
        """Outcomes for it."""
        return self.succeeded + self.preferred

    @property
    def bad(self) -> int:
        """Outcomes against it."""
        return self.failed + self.corrected


@dataclass(frozen=True, slots=True)
class Prior:
    """What all outcomes of a catalog together say about each tool.

    A tool's rate of success is smoothed towards the mean of all by a Beta prior, as click rates are (Chapelle and Li
    2011, "An empirical evaluation of Thompson sampling")::

        mean = (good of all + 1) / (good of all + bad of all + 2)
        rate = (good + m * mean) / (good + bad + m)                        m = PSEUDO_COUNT
        term = BOUND * (rate - mean) / max(mean, 1 - mean)                 between -BOUND and BOUND

    A tool without outcomes has the mean rate and the term 0, so a new tool is neither raised nor buried, and no number
    of failures takes more than `BOUND` off a tool that is clearly the best.

    Attributes:
        records: tool's digest to its record.
    """

    records: Mapping[str, Record]

    @property
    def mean(self) -> float:
        """Rate of success of all tools together, 0 to 1."""
        good = sum(record.good for record in self.records.values())
        bad = sum(record.bad for record in self.records.values())
        return (good + 1) / (good + bad + 2)

    def term(self, digest: str, mean: float | None = None) -> float:
        """What is added to the score of the tool with this digest.

        Args:
            digest: of the tool's definition.
            mean: `mean`, for those who ask about several tools.
        """
        record = self.records.get(digest)
        if record is None or not (record.good or record.bad):
            return 0.0
        mean = self.mean if mean is None else mean
        rate = (record.good + PSEUDO_COUNT * mean) / (record.good + record.bad + PSEUDO_COUNT)
        return BOUND * (rate - mean) / max(mean, 1 - mean)


def reordered(candidates: Sequence[Candidate], digests: Sequence[str], prior: Prior) -> list[Candidate]:
    """The candidates in the order of their scores with the outcomes' terms; none comes in and none goes.

    Tools that the request names outright stay in front, in their order. Who keeps its place and who has no outcomes
    comes out as it went in; of equal scores the earlier candidate stays first.

    Args:
        candidates: what was found, best first.
        digests: of their tools' definitions, parallel to `candidates`.
        prior: what became of earlier calls.
    """
    mean = prior.mean
    terms = [prior.term(digest, mean) for digest in digests]
    if not any(terms):
        return list(candidates)
    moved = [
        candidate if not term else _moved(candidate, term, prior.records[digest])
        for candidate, digest, term in zip(candidates, digests, terms, strict=True)
    ]
    return sorted(moved, key=lambda candidate: ("exact" not in candidate.parts, -_rank_score(candidate)))


def _rank_score(candidate: Candidate) -> float:
    return 0.0 if "exact" in candidate.parts else candidate.score


def _moved(candidate: Candidate, term: float, record: Record) -> Candidate:
    total = record.good + record.bad
    return replace(
        candidate,
        score=candidate.score + term,
        parts={**candidate.parts, "feedback": term},
        reasons=(*candidate.reasons, f"outcomes: {record.good} of {total} good"),
    )
