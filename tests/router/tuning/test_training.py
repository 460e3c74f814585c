"""Training: it learns, it leaves the model alone, and it keeps nothing that the judge does not like."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from toolpath.router.tuning import Recipe, train_update
from toolpath.router.tuning.pairs import Lesson, Pair
from toolpath.router.tuning.training import Step, _drawn, _hard_negatives, _Network, _rate

TOOLS = {"money back": "refund order", "rain city": "weather", "send parcel": "track parcel", "mail now": "send mail"}
RECIPE = Recipe(rank=2, rate=2e-2, batch=4, epochs=12, hard=1, pool=2, skip=0, every=4)


def lesson() -> Lesson:
    pairs = tuple(Pair(request, tool, frozenset([tool])) for request, tool in TOOLS.items())
    return Lesson("tiny", pairs, tuple(TOOLS.values()))


def embedded(model: Any, texts: list[str]) -> np.ndarray:
    return np.asarray(model.encode(texts, normalize_embeddings=True))


def test_the_loss_falls_and_the_merged_update_does_what_was_learned(tiny_model: Any) -> None:
    import copy

    steps: list[Step] = []
    update = train_update(tiny_model, "abc", [lesson()], replace(RECIPE, epochs=60), progress=steps.append)
    assert [step.done for step in steps] == list(range(1, 61)) and steps[-1].total == 60
    assert steps[-1].loss < steps[0].loss
    tuned = copy.deepcopy(tiny_model)
    update.merge_into(tuned, "abc")

    def margin(model: Any) -> float:
        scores = embedded(model, list(TOOLS)) @ embedded(model, list(TOOLS.values())).T
        return float(np.trace(scores) / 4 - scores.mean())

    assert margin(tuned) > margin(tiny_model) + 0.05


def test_the_model_is_left_as_it_was(tiny_model: Any) -> None:
    before = embedded(tiny_model, list(TOOLS))
    train_update(tiny_model, "abc", [lesson()], RECIPE)
    assert (embedded(tiny_model, list(TOOLS)) == before).all()


def test_the_same_seed_learns_the_same_and_another_seed_something_else(tiny_model: Any) -> None:
    made = {
        train_update(tiny_model, "abc", [lesson()], Recipe(rank=2, batch=4, hard=0, seed=seed)).fingerprint
        for seed in (0, 0, 1)
    }
    assert len(made) == 2


def test_nothing_is_kept_that_the_judge_likes_less_than_the_plain_model(tiny_model: Any) -> None:
    opinions = iter([1.0, *[0.5] * 100])
    update = train_update(tiny_model, "abc", [lesson()], RECIPE, judge=lambda embed: next(opinions))
    assert all((up == 0).all() for _, up in update.factors.values())


def test_the_state_that_the_judge_likes_best_is_kept(tiny_model: Any) -> None:
    kept: list[float | None] = []
    opinions = iter([0.1, 0.9, 0.5, 0.5])
    train_update(
        tiny_model,
        "abc",
        [lesson()],
        RECIPE,
        judge=lambda embed: next(opinions),
        progress=lambda step: kept.append(step.kept),
    )
    assert kept[2] == 0.1 and set(kept[3:]) == {0.9}


def test_without_pairs_there_is_nothing_to_learn(tiny_model: Any) -> None:
    with pytest.raises(ValueError, match="no pairs"):
        train_update(tiny_model, "abc", [Lesson("empty", (), ("tool",))])


def test_a_tool_that_also_serves_is_never_a_negative(tiny_model: Any) -> None:
    both = Pair("money back", "refund order", frozenset(["refund order", "track parcel"]))
    found = _hard_negatives(Lesson("one", (both,), tuple(TOOLS.values())), _Network(tiny_model, 16), RECIPE)
    import random

    assert set(found[both]) == {"weather", "send mail"}
    assert set(_drawn([both], found, 5, random.Random(0))) == {"weather", "send mail"}


def test_the_rate_rises_for_a_tenth_and_falls_to_a_twentieth() -> None:
    rates = [_rate(step, 100) for step in range(100)]
    assert rates[9] == 1.0 and rates[:10] == sorted(rates[:10]) and rates[10:] == sorted(rates[10:], reverse=True)
    assert 0.05 <= rates[-1] < 0.06
