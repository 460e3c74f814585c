"""What a run of `llm_stage.py` has found so far, one JSON object a line, so that a run that was stopped can go on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from toolpath.catalog import Catalog
from toolpath.catalog.digest import digest_of, digest_of_text
from toolpath.router.records import Candidate
from toolpath.router.selection.offer import Offer
from toolpath.router.selection.prompts import (
    INSTRUCTIONS,
    JSON_INSTRUCTIONS,
    NATIVE_INSTRUCTIONS,
    json_prompt,
    pinned_prompt,
)

RETRIEVAL, THREE, ALL = "retrieval", "three", "all"
ARMS = (RETRIEVAL, THREE, ALL)
"""In the order in which they are asked."""

DECIDES = {
    RETRIEVAL: ("set", "catalog", "embedder", "k"),
    THREE: ("set", "catalog", "embedder", "k", "model", "prompt"),
    ALL: ("set", "catalog", "model", "prompt"),
}
"""Which of the settings an arm's answers depend on: another embedder leaves the dearest arm's answers as they are."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one arm made of one request.

    Attributes:
        arm: one of `ARMS`.
        id: the request's.
        calls: the tools that were picked, in order; empty when none fits, or when the arm failed.
        none: it was said that no tool fits.
        first: the tool that ranks first, whatever was made of it; "" without retrieval.
        failure: why there is no answer of the model; "" when there is one.
        reason: the model's, or the ranking's.
        input_tokens: sent to the model, a repair included.
        output_tokens: written by it.
        asked: requests to the model.
        seconds: of all the stages that the arm has.
        shown: digest of the request and of the tools that the arm could pick, in their order.
        overruled: the ranking's vote stands instead of the model's answer. Never in a file: it costs nothing to count.
    """

    arm: str
    id: str
    calls: tuple[str, ...] = ()
    none: bool = False
    first: str = ""
    failure: str = ""
    reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    asked: int = 0
    seconds: float = 0.0
    shown: str = ""
    overruled: bool = False


FIELDS = frozenset(one.name for one in fields(Answer)) - {"overruled"}


class State:
    """The answers of earlier runs and of this one.

    Args:
        file: read when it is there, appended to with every answer.
        settings: of this run: "set", "catalog", "embedder", "k", "model" and "prompt".

    Attributes:
        ignored: rows that this run cannot use, by the reason.
    """

    def __init__(self, file: Path, settings: Mapping[str, Any]) -> None:
        self._file = file
        self._settings = dict(settings)
        self._answers: dict[tuple[str, str], Answer] = {}
        self._torn = False
        self.ignored: Counter[str] = Counter()
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            self._torn = bool(text) and not text.endswith("\n")
            self._read(text)

    def get(self, arm: str, query_id: str, shown: str) -> Answer | None:
        """The last answer of an arm to a request; None when there is none, or when it chose among other tools."""
        found = self._answers.get((arm, query_id))
        return found if found is not None and found.shown == shown else None

    def add(self, answer: Answer) -> None:
        """Keeps an answer, on disk at once."""
        row = {key: value for key, value in asdict(answer).items() if key in FIELDS}
        line = json.dumps({**self._settings, **row}, ensure_ascii=False)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as out:
            out.write("\n" * self._torn + line + "\n")
        self._torn = False
        self._answers[answer.arm, answer.id] = answer

    def _read(self, text: str) -> None:
        for line in text.splitlines():
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                answer = Answer(**{key: row[key] for key in FIELDS} | {"calls": tuple(row["calls"])})
                other = [key for key in DECIDES[answer.arm] if row[key] != self._settings[key]]
            except (ValueError, KeyError, TypeError):  # the last line of a run that was killed, or another file
                self.ignored["cannot be read"] += 1
                continue
            if other:
                self.ignored[f"another {', '.join(other)}"] += 1
            else:
                self._answers[answer.arm, answer.id] = answer


def shown_digest(request: str, names: Iterable[str]) -> str:
    """A short digest of a request and of the tools that can be picked for it."""
    return digest_of([request, list(names)])[:16]


def prompt_digest(catalog: Catalog) -> str:
    """A short digest of how the model is asked: its instructions, and how a tool of the catalog is shown to it."""
    shown = Offer((), tuple(Candidate(tool, 1.0) for tool in list(catalog)[:1]))
    parts = (
        INSTRUCTIONS,
        JSON_INSTRUCTIONS,
        NATIVE_INSTRUCTIONS,
        json_prompt(shown, "request"),
        json_prompt(Offer((), ()), "request"),
        pinned_prompt([candidate.tool for candidate in shown.ranked]),
    )
    return digest_of_text("\n".join(parts))[:16]
