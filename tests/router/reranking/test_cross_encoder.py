"""A real cross-encoder of random weights: what it says is meaningless, what is done with it is not."""

import math
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toolpath.router import Candidate
from toolpath.router.reranking import CrossEncoderReranker, RerankerError
from toolpath.router.retrieval.text import tool_text

from .conftest import make_cross_encoder

Found = Callable[..., list[Candidate]]
NAMES = ("send_email", "weather_forecast", "disk_of_server", "refund_order")


def names(candidates: Sequence[Candidate]) -> list[str]:
    return [candidate.name for candidate in candidates]


def test_alone_it_orders_tools_as_the_model_scores_request_and_tool(model_folder: Path, found: Found) -> None:
    candidates = found(*NAMES)
    reranker = CrossEncoderReranker(model_folder, device="cpu", weight=1)
    scores = reranker.scores([("weather in the city", tool_text(one.tool)) for one in candidates])
    assert len(set(scores)) == len(NAMES)
    by_score = [name for _, name in sorted(zip(scores, NAMES, strict=True), reverse=True)]
    assert by_score != list(NAMES)
    ranked = reranker.rerank("weather in the city", candidates)
    assert names(ranked) == by_score
    assert [one.parts["rerank"] for one in ranked] == pytest.approx(sorted(scores, reverse=True))


def test_scores_agree_with_the_library_read_pair_by_pair(model_folder: Path) -> None:
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity

    pairs = [("weather", "forecast for a city"), ("refund", "order"), ("weather", "forecast for a city")]
    library = CrossEncoder(str(model_folder), device="cpu")
    expected = [float(library.predict([pair], activation_fn=Identity())[0]) for pair in pairs]
    assert CrossEncoderReranker(model_folder, device="cpu").scores(pairs) == pytest.approx(expected, abs=1e-5)


def test_many_requests_are_read_in_one_pass_and_ranked_as_one_by_one(
    model_folder: Path, found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = CrossEncoderReranker(model_folder, device="cpu")
    requests = ["weather in a city", "refund the order", "find a server"]
    lists = [found(*NAMES), found(*NAMES[:2]), []]
    alone = [reranker.rerank(request, own) for request, own in zip(requests, lists, strict=True)]
    passes: list[int] = []
    predict = reranker._predict
    monkeypatch.setattr(reranker, "_predict", lambda model, pairs: passes.append(len(pairs)) or predict(model, pairs))
    together = reranker.rerank_many(requests, lists)
    assert passes == [6]
    assert [names(one) for one in together] == [names(one) for one in alone]


def test_no_candidates_need_no_model(tmp_path: Path, found: Found) -> None:
    reranker = CrossEncoderReranker(tmp_path / "nowhere")
    assert reranker.rerank_many([], []) == []
    assert reranker.rerank("anything", []) == []
    one = found("send_email")
    assert reranker.rerank("anything", one) == one  # nothing to change places with


def test_only_the_first_candidates_are_read(model_folder: Path, found: Found) -> None:
    ranked = CrossEncoderReranker(model_folder, device="cpu", depth=2, weight=1).rerank("city", found(*NAMES))
    assert {one.name for one in ranked if "rerank" in one.parts} == set(NAMES[:2])
    assert names(ranked)[2:] == list(NAMES[2:])


def test_texts_longer_than_the_model_reads_are_cut(model_folder: Path) -> None:
    reranker = CrossEncoderReranker(model_folder, device="cpu")
    short, long = reranker.scores([("weather", "city"), ("weather " * 5_000, "city " * 50_000)])
    assert math.isfinite(short) and math.isfinite(long)


def test_a_broken_surrogate_is_read_like_any_unknown_sign(model_folder: Path) -> None:
    assert math.isfinite(CrossEncoderReranker(model_folder, device="cpu").scores([("weather \ud800", "city")])[0])


def test_a_model_that_cannot_be_loaded_leaves_the_ranking_and_says_so(tmp_path: Path, found: Found) -> None:
    reranker = CrossEncoderReranker(tmp_path / "nowhere")
    ranked = reranker.rerank("weather", found(*NAMES))
    assert names(ranked) == list(NAMES)
    assert all("not reranked" in one.reasons[-1] and "nowhere" in one.reasons[-1] for one in ranked)
    assert not any("rerank" in one.parts for one in ranked)
    with pytest.raises(RerankerError, match="check the name or path"):
        reranker.load()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_are_an_error_and_never_an_order(
    model_folder: Path, found: Found, monkeypatch: pytest.MonkeyPatch, bad: float
) -> None:
    reranker = CrossEncoderReranker(model_folder, device="cpu")

    def damaged(_model: Any, pairs: Sequence[Any]) -> Any:
        return np.array([1.0] * (len(pairs) - 1) + [bad])

    monkeypatch.setattr(reranker, "_predict", damaged)
    with pytest.raises(RerankerError, match="not finite"):
        reranker.scores([("a", "b"), ("a", "c")])
    ranked = reranker.rerank("weather", found(*NAMES))
    assert names(ranked) == list(NAMES)
    assert "not finite" in ranked[0].reasons[-1]


def test_a_model_that_fails_on_a_request_leaves_the_ranking(
    model_folder: Path, found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = CrossEncoderReranker(model_folder, device="cpu")
    reranker.load()

    def out_of_memory(*_: Any, **__: Any) -> Any:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(reranker._model, "predict", out_of_memory)
    ranked = reranker.rerank("weather", found(*NAMES))
    assert names(ranked) == list(NAMES)
    assert "out of memory" in ranked[0].reasons[-1]


def test_a_model_that_is_late_leaves_the_ranking_and_says_so(
    model_folder: Path, found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = CrossEncoderReranker(model_folder, device="cpu", deadline=0.01)
    answered = threading.Event()
    monkeypatch.setattr(reranker, "scores", lambda pairs: answered.wait(30) and [1.0] * len(pairs))
    ranked = reranker.rerank("weather", found(*NAMES))
    answered.set()
    assert names(ranked) == list(NAMES)
    assert "longer than 0.01 s" in ranked[0].reasons[-1]


def test_a_model_of_several_classes_is_refused(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path, labels=3)
    with pytest.raises(RerankerError, match="3 classes"):
        CrossEncoderReranker(folder, device="cpu").load()


@pytest.mark.parametrize(
    "options", [{"weight": 1.5}, {"weight": math.nan}, {"depth": 0}, {"batch_size": 0}, {"deadline": 0}]
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        CrossEncoderReranker("any", **options)


def test_lists_that_are_not_parallel_are_refused(found: Found) -> None:
    with pytest.raises(ValueError, match="2 requests"):
        CrossEncoderReranker("any").rerank_many(["a", "b"], [found("send_email")])
