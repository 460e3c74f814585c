"""The table of `llm_stage.py`: every arm over the same requests, and what stage 3 adds, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from llm_stage_state import ALL, RETRIEVAL, THREE, Answer
from toolpath.catalog import ToolCall
from toolpath.router import RoutingDecision
from toolpath.router.evaluation import Query
from toolpath.router.evaluation.metrics import ratio_intervals
from toolpath.router.records import Selection
from toolpath.router.selection.protocol import Selector
from toolpath.router.selection.vote import OVER_MODEL, RankingVote

ABSTAINS, ALONE = "retrieval, or none", "three, no vote"
"""Second readings of the arms' answers: the ranking with its threshold, and the model without the ranking's vote."""

READINGS = {RETRIEVAL: (RETRIEVAL, ABSTAINS), THREE: (THREE, ALONE), ALL: (ALL,)}
PAIRS = ((THREE, RETRIEVAL), (THREE, ALL), (THREE, ALONE), (ALONE, RETRIEVAL), (ALONE, ALL), (RETRIEVAL, ALL))

Answers = Mapping[str, Answer]
"""By the request's id."""


@dataclass(frozen=True, slots=True)
class Line:
    """One reading of one arm, over the requests that all arms have answered.

    Attributes:
        name: of the reading.
        finished: requests that the arm has answered, those among them that other arms have not, too.
        right: shape (requests,): 1.0 where the first tool that was picked is one that the label accepts.
        exact: the same shape: 1.0 where each tool wanted was picked and no other one, so that a model that picks
            everything it was shown gains nothing.
        none: requests of which it was said that no tool fits; all of them want one.
        failures: requests without an answer; they count as wrong.
        overruled: requests in which the ranking's vote stands.
        input_tokens: mean per request that did not fail; nobody knows what a failure has cost.
        output_tokens: the same.
        seconds: mean per request.
        median: of the seconds.
    """

    name: str
    finished: int
    right: npt.NDArray[np.float64]
    exact: npt.NDArray[np.float64]
    none: int
    failures: int
    overruled: int
    input_tokens: float
    output_tokens: float
    seconds: float
    median: float

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; what has no value without a common request is None."""
        counted = len(self.right) > 0
        return {
            "name": self.name,
            "finished": self.finished,
            "accuracy": round(float(self.right.mean()), 4) if counted else None,
            "interval": _interval(self.right),
            "exact": round(float(self.exact.mean()), 4) if counted else None,
            "none": self.none,
            "failures": self.failures,
            "overruled": self.overruled,
            "input_tokens": round(self.input_tokens, 1) if counted else None,
            "output_tokens": round(self.output_tokens, 1) if counted else None,
            "seconds": round(self.seconds, 3) if counted else None,
            "median_seconds": round(self.median, 3) if counted else None,
        }


async def readings_of(
    arms: Mapping[str, Answers],
    queries: Sequence[Query],
    decisions: Mapping[str, RoutingDecision],
    ranking: Selector,
) -> dict[str, Answers]:
    """All readings of the arms' answers, by name.

    The vote is cast here, over the model's answers as they are kept: it learns from request to request, in the order
    of `queries`, just as it does inside an `LLMSelector`, and costs no request of its own.
    """
    found: dict[str, Answers] = {}
    for arm, answers in arms.items():
        if arm == RETRIEVAL:
            found[RETRIEVAL] = {key: replace(one, calls=(one.first,), none=False) for key, one in answers.items()}
            found[ABSTAINS] = answers
        elif arm == THREE:
            found[THREE] = await _voted(answers, queries, decisions, ranking)
            found[ALONE] = answers
        else:
            found[arm] = answers
    return found


async def _voted(
    answers: Answers, queries: Sequence[Query], decisions: Mapping[str, RoutingDecision], ranking: Selector
) -> Answers:
    vote = RankingVote(ranking)
    voted: dict[str, Answer] = {}
    for query in queries:
        answer = answers.get(query.id)
        if answer is None:
            continue
        if not answer.failure:
            decision = decisions[query.id]
            calls = tuple(ToolCall(tool=name) for name in answer.calls)
            chosen = Selection(calls=calls, abstained=answer.none, served_by="llm")
            stands = await vote.weigh(chosen, query.request, decision.offered, decision.intent)
            answer = replace(
                answer,
                calls=tuple(call.tool for call in stands.calls),
                none=stands.abstained,
                overruled=stands.served_by.endswith(OVER_MODEL),
            )
        voted[query.id] = answer
    return voted


def is_right(query: Query, answer: Answer) -> bool:
    """Whether the first tool that was picked is an accepted one; a failure is wrong whatever was picked."""
    accepted = frozenset().union(*(gold.accepted for gold in query.gold))
    return not answer.failure and bool(answer.calls) and answer.calls[0] in accepted


def is_exact(query: Query, answer: Answer) -> bool:
    """Whether every tool wanted was picked and nothing else."""
    accepted = frozenset().union(*(gold.accepted for gold in query.gold))
    return (
        not answer.failure
        and accepted.issuperset(answer.calls)
        and all(not gold.accepted.isdisjoint(answer.calls) for gold in query.gold)
    )


def lines_of(readings: Mapping[str, Answers], queries: Sequence[Query]) -> list[Line]:
    """A line for each reading, all of them over the requests that every one has answered."""
    common = [query for query in queries if all(query.id in answers for answers in readings.values())]
    return [_line(name, answers, common) for name, answers in readings.items()]


def _line(name: str, answers: Answers, common: Sequence[Query]) -> Line:
    found = [answers[query.id] for query in common]
    seconds = [one.seconds for one in found]
    pairs = list(zip(common, found, strict=True))
    counted = [one for one in found if not one.failure]
    return Line(
        name=name,
        finished=len(answers),
        right=np.array([is_right(query, one) for query, one in pairs], dtype=np.float64),
        exact=np.array([is_exact(query, one) for query, one in pairs], dtype=np.float64),
        none=sum(one.none for one in found),
        failures=sum(bool(one.failure) for one in found),
        overruled=sum(one.overruled for one in found),
        input_tokens=_mean([one.input_tokens for one in counted]),
        output_tokens=_mean([one.output_tokens for one in counted]),
        seconds=_mean(seconds),
        median=float(np.median(seconds)) if seconds else 0.0,
    )


def differences_of(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The paired differences of accuracy and of exactness that have both sides, with 95% bootstrap intervals."""
    by_name = {line.name: line for line in lines}
    found = []
    for one, other in PAIRS:
        if one not in by_name or other not in by_name or not len(by_name[one].right):
            continue
        first, second = by_name[one], by_name[other]
        for measure, apart in (("accuracy", first.right - second.right), ("exact", first.exact - second.exact)):
            found.append(
                {
                    "of": one,
                    "from": other,
                    "measure": measure,
                    "difference": round(float(apart.mean()), 4),
                    "interval": _interval(apart),
                    "only_first": int((apart > 0).sum()),
                    "only_second": int((apart < 0).sum()),
                }
            )
    return found


def page_of(report: Mapping[str, Any]) -> str:
    """The report as Markdown."""
    size, common = report["requests"], report["common"]
    lines = [
        "# What the model of stage 3 adds",
        "",
        f"{report['set']}: {report['tools']:,} tools, {size:,} requests that each want a tool; model "
        f"{report['model'] or 'none'}, {report['embedder']}, k = {report['k']}. `{report['command']}`",
        "",
        f"Figures are over the {common:,} requests that all arms have answered. A request that the model failed on "
        f"counts as wrong, also where the product would fall back on the ranking. Among the tools shown to stage 3 is "
        f"an accepted one in {report['shortlisted']:.1%} of all {size:,} requests.",
        "",
        "| arm | finished | accuracy | 95% | exact | none | failed | overruled | input tokens | output tokens "
        "| seconds | median |",
        "| --- " * 12 + "|",
        *(_row(one, size) for one in report["arms"]),
        "",
    ]
    if report["differences"]:
        lines += ["| paired difference | of | | 95% | only in the one | only in the other |", "| --- " * 6 + "|"]
        for one in report["differences"]:
            low, high = one["interval"]
            lines.append(
                f"| {one['of']} − {one['from']} | {one['measure']} | {one['difference']:+.3f} "
                f"| {low:+.3f} to {high:+.3f} | {one['only_first']} | {one['only_second']} |"
            )
        lines.append("")
    if report["failures"]:
        lines += ["Failures:", "", *(f"- {what} ({times})" for what, times in report["failures"].items()), ""]
    lines += [
        f"`{RETRIEVAL}` is the tool that ranks first, `{ABSTAINS}` the same with the threshold below which the ranking "
        f"says that none fits. `{THREE}` shows the model the {report['k']} best and what they need, and lets the "
        f"ranking vote; `{ALONE}` reads the same answers without the vote. `{ALL}` shows every tool in the catalog's "
        "order. Accuracy: the first tool that was picked is an accepted one. Exact: each tool wanted was picked, and "
        "no other. None: of requests that all want a tool. Overruled: by the ranking's vote. Tokens and seconds are "
        "means per request, tokens of those that did not fail.",
        "",
        ", ".join(f"{key} {value}" for key, value in report["machine"].items()),
        "",
    ]
    return "\n".join(lines)


def _row(one: Mapping[str, Any], size: int) -> str:
    counted = one["accuracy"] is not None
    low, high = one["interval"] or (0.0, 0.0)
    figures = (
        [
            f"{one['accuracy']:.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{one['exact']:.3f}",
            str(one["none"]),
            str(one["failures"]),
            str(one["overruled"]),
            f"{one['input_tokens']:,.0f}",
            f"{one['output_tokens']:,.0f}",
            f"{one['seconds']:.3g}",
            f"{one['median_seconds']:.3g}",
        ]
        if counted
        else [""] * 10
    )
    return f"| {one['name']} | {one['finished']} of {size} | {' | '.join(figures)} |"


def _interval(values: npt.NDArray[np.float64]) -> list[float] | None:
    if not len(values):
        return None
    (found,) = ratio_intervals(values[:, None], np.ones((len(values), 1)))
    return None if found is None else [round(end, 4) for end in found]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
