"""What a yardstick says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What the catalog's own words reach, for requests of one language.

    Attributes:
        typical: median over tools of `yardstick.reach`.
        words: median over tools of the best candidate's BM25; 0 when words were not compared.
        samples: how many tools were asked.
    """

    typical: float
    words: float
    samples: int
