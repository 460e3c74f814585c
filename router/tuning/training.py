"""Training of a low-rank update with in-batch and hard negatives, stopped early on catalogs that are set aside."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..embedding import Vectors
from ..embedding.update import LowRankUpdate
from .lowrank import LowRankLayers
from .pairs import Lesson, Pair

if TYPE_CHECKING:
    import torch


SORTED_TOGETHER = 4
"""Batches whose pairs are sorted by length before they are cut: less padding, and still a fresh mix every time."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the update is learned.

    Attributes:
        rank: of the update; 16 makes 0.66 million numbers for MiniLM.
        scale: factor on the update while it learns.
        rate: highest learning rate (AdamW, warmed up over a tenth of the steps, then down along a cosine).
        temperature: of the softmax over cosines.
        batch: pairs in a batch, all from one lesson.
        hard: hard negatives for each pair: tools that the plain model ranks high, drawn from the first `pool`.
        pool: see `hard`.
        skip: leading wrong tools that are never negatives: near the top a wrong label is likelier than a hard tool.
        epochs: passes over the pairs.
        tokens: word pieces read of a text while learning.
        seed: of everything random.
        every: steps between two looks at the set-aside catalogs.
    """

    rank: int = 16
    scale: float = 2.0
    rate: float = 5e-4
    temperature: float = 0.05
    batch: int = 48
    hard: int = 1
    pool: int = 30
    skip: int = 3
    epochs: int = 1
    tokens: int = 128
    seed: int = 0
    every: int = 40


@dataclass(frozen=True, slots=True)
class Step:
    """Where training is.

    Attributes:
        done: steps taken.
        total: steps to take.
        loss: mean of the last steps.
        kept: what `judge` said of the best state so far; None before the first look.
        seconds: since the beginning.
    """

    done: int
    total: int
    loss: float
    kept: float | None
    seconds: float


Judge = Callable[[Callable[[Sequence[str]], Vectors]], float]
"""Says how good an embedder is, higher is better: called with the function that embeds texts as they are now."""


def train_update(
    model: Any,
    base: str,
    lessons: Sequence[Lesson],
    recipe: Recipe | None = None,
    *,
    judge: Judge | None = None,
    progress: Callable[[Step], None] | None = None,
    about: dict[str, str] | None = None,
) -> LowRankUpdate:
    """Learns an update for `model`, a loaded `sentence_transformers.SentenceTransformer`, which it leaves as it was.

    The loss is the cross-entropy of each request's tool among the batch's tools and hard negatives, and of each tool's
    request among the batch's requests (van den Oord et al. 2018, "Representation Learning with Contrastive Predictive
    Coding"; symmetric as in Radford et al. 2021). Tools that also serve a request are left out of its negatives.

    Args:
        model: the plain model.
        base: hex SHA-256 of its weights.
        lessons: what to learn from; their pairs are drawn in proportion to their numbers.
        recipe: default: `Recipe()`.
        judge: chooses the state that is kept; default: the last one.
        progress: called after every step.
        about: kept with the update.

    Returns:
        The best update in `judge`'s opinion; one of zeros when nothing was better than the plain model.

    Raises:
        ValueError: there are no pairs.
    """
    import torch

    recipe = recipe if recipe is not None else Recipe()
    if not any(lesson.pairs for lesson in lessons):
        raise ValueError("there are no pairs to learn from")
    torch.manual_seed(recipe.seed)
    chance = random.Random(recipe.seed)
    network = _Network(model, recipe.tokens)
    hard = [_hard_negatives(lesson, network, recipe) if recipe.hard else {} for lesson in lessons]
    layers = LowRankLayers(model, recipe.rank, recipe.scale, recipe.seed)
    try:
        best, best_score = layers.export(), judge(network.embed) if judge is not None else None
        total = recipe.epochs * sum(math.ceil(len(lesson.pairs) / recipe.batch) for lesson in lessons if lesson.pairs)
        optimiser = torch.optim.AdamW(layers.parameters(), lr=recipe.rate, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _rate(step, total))
        started, losses = time.monotonic(), list[float]()
        for number, (which, batch) in enumerate(_batches(lessons, recipe, chance), 1):
            loss = _loss(network, batch, _drawn(batch, hard[which], recipe.hard, chance), recipe.temperature)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(list(layers.parameters()), 1.0)
            optimiser.step()
            schedule.step()
            losses.append(float(loss.detach()))
            if number == total or (judge is not None and number % recipe.every == 0):
                score = judge(network.embed) if judge is not None else None
                if best_score is None or score is None or score > best_score:
                    best, best_score = layers.export(), score
            if progress is not None:
                progress(
                    Step(number, total, sum(losses[-20:]) / len(losses[-20:]), best_score, time.monotonic() - started)
                )
        return LowRankUpdate(base, best, about or {})
    finally:
        layers.detach()


class _Network:
    """The transformer under a sentence-transformers model: texts to unit vectors, with gradients or without."""

    def __init__(self, model: Any, tokens: int) -> None:
        self._model, self._tokens = model, tokens

    def vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """Unit vectors with gradients, shape ``(len(texts), dimension)``."""
        import torch

        features = self._model.tokenizer(
            list(texts), padding=True, truncation=True, max_length=self._tokens, return_tensors="pt"
        )
        vectors: torch.Tensor = self._model(dict(features))["sentence_embedding"]
        return torch.nn.functional.normalize(vectors, dim=-1)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The same without gradients, batched by length."""
        import torch

        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        made: dict[int, Vectors] = {}
        with torch.no_grad():
            for start in range(0, len(order), 64):
                places = order[start : start + 64]
                for place, vector in zip(places, self.vectors([texts[at] for at in places]).numpy(), strict=True):
                    made[place] = vector
        return np.stack([made[at] for at in range(len(texts))])


def _hard_negatives(lesson: Lesson, network: _Network, recipe: Recipe) -> dict[Pair, list[str]]:
    """For each pair the tools that look right to the plain model and are not, without the `skip` most similar."""
    tools, requests = network.embed(lesson.tools), network.embed([pair.request for pair in lesson.pairs])
    right = max((len(pair.accepted) for pair in lesson.pairs), default=0)
    near = np.argsort(-(requests @ tools.T), axis=1)[:, : recipe.pool + recipe.skip + right]
    found = {}
    for pair, places in zip(lesson.pairs, near, strict=True):
        wrong = [lesson.tools[at] for at in places if lesson.tools[at] not in pair.accepted]
        found[pair] = wrong[recipe.skip : recipe.skip + recipe.pool]
    return found


def _batches(lessons: Sequence[Lesson], recipe: Recipe, chance: random.Random) -> Iterator[tuple[int, list[Pair]]]:
    """Place of the lesson and pairs of every batch; the batches of all lessons in mixed order."""
    for _ in range(recipe.epochs):
        batches: list[tuple[int, list[Pair]]] = []
        for which, lesson in enumerate(lessons):
            pairs = list(lesson.pairs)
            chance.shuffle(pairs)
            for at in range(0, len(pairs), SORTED_TOGETHER * recipe.batch):
                part = slice(at, at + SORTED_TOGETHER * recipe.batch)
                pairs[part] = sorted(pairs[part], key=lambda pair: len(pair.tool))
            batches += [(which, pairs[at : at + recipe.batch]) for at in range(0, len(pairs), recipe.batch)]
        chance.shuffle(batches)
        yield from batches


def _drawn(batch: Sequence[Pair], hard: dict[Pair, list[str]], number: int, chance: random.Random) -> list[str]:
    drawn: dict[str, None] = {}
    for pair in batch:
        wrong = hard.get(pair, [])
        drawn.update(dict.fromkeys(chance.sample(wrong, min(number, len(wrong)))))
    return list(drawn)


def _loss(network: _Network, batch: Sequence[Pair], negatives: Sequence[str], temperature: float) -> torch.Tensor:
    import torch

    texts = list(dict.fromkeys([*(pair.tool for pair in batch), *negatives]))
    place = {text: at for at, text in enumerate(texts)}
    requests, tools = network.vectors([pair.request for pair in batch]), network.vectors(texts)
    scores = requests @ tools.T / temperature
    gold = torch.tensor([place[pair.tool] for pair in batch])
    also_right = torch.tensor(
        [[text in pair.accepted and text != pair.tool for text in texts] for pair in batch], dtype=torch.bool
    )
    forward = torch.nn.functional.cross_entropy(scores.masked_fill(also_right, -1e4), gold)
    served = torch.tensor([[pair.tool in other.accepted for other in batch] for pair in batch], dtype=torch.bool)
    served.fill_diagonal_(False)
    back = (requests @ tools[gold].T / temperature).T.masked_fill(served, -1e4)
    backward = torch.nn.functional.cross_entropy(back, torch.arange(len(batch)))
    return (forward + backward) / 2


def _rate(step: int, total: int) -> float:
    """Share of the highest rate: up over the first tenth, then down along a cosine to a twentieth."""
    warm = max(1, total // 10)
    if step < warm:
        return (step + 1) / warm
    return 0.05 + 0.95 * (1 + math.cos(math.pi * (step - warm) / max(1, total - warm))) / 2
