"""What a row found on a set, as it is kept on disk."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FORMAT = 1
"""Raised when the fields below change: results of another format are stale."""


@dataclass(frozen=True)
class Answer:
    """What a row answered to one request.

    Attributes:
        names: tools, best first; empty when it raised.
        seconds: time outside the embedder.
        embedded: texts that it had embedded.
        calls: in so many calls.
        error: what it raised, or None.
    """

    names: tuple[str, ...]
    seconds: float = 0.0
    embedded: int = 0
    calls: int = 0
    error: str | None = None


@dataclass(frozen=True)
class Prices:
    """What embedding costs here, measured once a run and added to what every row did itself.

    Attributes:
        request: seconds to embed one request alone (median).
        text: seconds a tool text in a large batch.
    """

    request: float
    text: float

    def of(self, texts: int, calls: int) -> float:
        """Seconds for so many texts in so many calls: a text more in a call costs less than a call more."""
        return calls * self.request + (texts - calls) * self.text


FREE = Prices(0.0, 0.0)
"""Of a row that does not embed."""


@dataclass(frozen=True)
class Found:
    """A row's run over a set.

    Attributes:
        key: digest of all that decides the result; another key makes it stale.
        answers: one a request, in the order of the set; empty when the run failed.
        index_seconds: time outside the embedder to index the catalog.
        index_texts: texts embedded for it.
        index_calls: in so many calls.
        prices: of the row's embedder at that time; None: it uses none.
        failure: why there is no result, or None.
        version: what was run, for people.
        machine: where.
        date: when, ISO 8601, UTC.
    """

    key: str
    answers: tuple[Answer, ...] = ()
    index_seconds: float = 0.0
    index_texts: int = 0
    index_calls: int = 0
    prices: Prices | None = None
    failure: str | None = None
    version: str = ""
    machine: str = ""
    date: str = ""

    @property
    def seconds_to_index(self) -> float:
        """Seconds to index the catalog, embedding included."""
        return self.index_seconds + (self.prices or FREE).of(self.index_texts, self.index_calls)

    def latencies(self) -> list[float]:
        """Seconds of each request, embedding included."""
        prices = self.prices or FREE
        return [
            answer.seconds + prices.of(answer.embedded, answer.calls) for answer in self.answers if answer.error is None
        ]

    @property
    def errors(self) -> int:
        """Requests that made the peer raise."""
        return sum(answer.error is not None for answer in self.answers)


def key_of(inputs: Mapping[str, Any]) -> str:
    """A digest of what decides a result."""
    return hashlib.sha256(json.dumps([FORMAT, inputs], sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


class Records:
    """Results on disk, one file for each row and set.

    Args:
        folder: where they are kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, row: str, dataset: str, key: str) -> Found | None:
        """The result with that key, or None when there is none, or one of other versions or settings."""
        try:
            data = json.loads(self._path(row, dataset).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        if data["key"] != key:
            return None
        answers = tuple(Answer(tuple(names), *rest) for names, *rest in data.pop("answers"))
        prices = data.pop("prices")
        return Found(answers=answers, prices=Prices(**prices) if prices else None, **data)

    def save(self, row: str, dataset: str, found: Found) -> None:
        """Keeps a result in the place of the row's earlier one on that set; a crash leaves the earlier one whole."""
        path = self._path(row, dataset)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = {**asdict(found), "answers": [list(asdict(answer).values()) for answer in found.answers]}
        beside = path.with_suffix(".new")
        beside.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
        beside.replace(path)

    def _path(self, row: str, dataset: str) -> Path:
        return self._folder / dataset / f"{slug(row)}.json"


def slug(name: str) -> str:
    """A name as a file name: ``"callbus (BM25)"`` becomes ``"callbus-bm25"``."""
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")


def digest_of_files(paths: Sequence[Path]) -> str:
    """Digest of the contents of files, in order."""
    whole = hashlib.sha256()
    for path in paths:
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]
