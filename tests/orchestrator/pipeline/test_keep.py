"""Outputs are dropped when their last reader is done, when the caller asks for that."""

from __future__ import annotations

import gc
import json
import weakref
from typing import Any

import pytest
from toolpath.orchestrator import Degraded, PipelineBuilder, Retry

from tests.orchestrator.building import FAILED, PARTIAL, SKIPPED, make_tool, raising, returning

pytestmark = pytest.mark.anyio


class Big:
    """A value whose end can be watched."""


def _is_gone(reference: weakref.ref[Any]) -> bool:
    gc.collect()
    return reference() is None


@pytest.mark.parametrize("kind", ["plain", "policies", "thread", "degraded", "fallback"])
async def test_a_dropped_value_dies_before_the_run_ends(kind: str) -> None:
    watched: list[weakref.ref[Any]] = []

    def make() -> Any:
        big = Big()
        watched.append(weakref.ref(big))
        return Degraded(big, "stale") if kind == "degraded" else big

    async def make_async() -> Any:
        return make()

    async def first(make: Any) -> None:
        assert isinstance(make, Big)

    async def second(make: Any) -> bool:
        return _is_gone(watched[0])

    async def last(second: bool) -> tuple[bool, bool]:
        return second, _is_gone(watched[0])

    options: dict[str, Any] = {"policies": {"retry": Retry(), "timeout": 5}, "thread": {}}.get(kind, {})
    builder = PipelineBuilder()
    if kind == "fallback":
        builder.independent(raising(ValueError("x")), name="make", fallback=[make_async])
    else:
        builder.independent(make if kind == "thread" else make_async, name="make", **options)
    builder.then(first, deps=["make"]).then(second, deps=["make", "first"]).then(last, deps=["second"])
    report = await builder.build().run(keep="leaves")
    assert report.ok, str(report)
    assert report.value("last") == (False, True)
    assert not report["make"].kept
    assert report["make"].value is None
    assert report["last"].kept


async def test_the_report_says_what_was_dropped() -> None:
    async def use(make: str) -> str:
        return make.upper()

    pipeline = PipelineBuilder().then(returning("x"), name="make").then(use).build()
    report = await pipeline.run(keep="leaves")
    shown = json.loads(json.dumps(report.to_dict()))
    assert shown["steps"]["make"]["value_dropped"] is True
    assert "value" not in shown["steps"]["make"]
    assert shown["steps"]["use"]["value"] == "X"
    assert report.outputs == {"use": "X"}
    with pytest.raises(KeyError, match="dropped after its last reader"):
        report.value("make")


async def test_everything_is_kept_unless_asked_otherwise() -> None:
    async def use(make: str) -> str:
        return make.upper()

    report = await PipelineBuilder().then(returning("x"), name="make").then(use).build().run()
    assert {step.name: step.value for step in report} == {"make": "x", "use": "X"}


async def test_an_output_that_others_only_wait_for_is_dropped_too() -> None:
    pipeline = PipelineBuilder().then(returning("x"), name="first").then(returning("y"), name="second").build()
    report = await pipeline.run(keep="leaves")
    assert not report["first"].kept
    assert report.value("second") == "y"


async def test_skipped_and_failed_readers_count_as_done() -> None:
    async def use(make: Any) -> None:
        raise ValueError("x")

    async def late(make: Any, bad: Any) -> None: ...

    builder = (
        PipelineBuilder().independent(returning("x"), name="make").independent(raising(ValueError("x")), name="bad")
    )
    builder.then(use, deps=["make"]).then(late, deps=["make", "bad"])
    report = await builder.build().run(keep="leaves")
    assert (report["use"].outcome, report["late"].outcome) == (FAILED, SKIPPED)
    assert not report["make"].kept


async def test_a_missing_value_is_still_missing_for_the_last_reader() -> None:
    async def use(bad: Any) -> str:
        return str(bad.outcome)

    builder = PipelineBuilder().with_error_policy(PARTIAL).independent(raising(ValueError("x")), name="bad")
    builder.then(use, name="one", deps=["bad"]).then(use, name="two", deps=["bad", "one"])
    report = await builder.build().run(keep="leaves")
    assert report.outputs == {"two": "failed"}


async def test_a_reader_that_is_tried_again_still_finds_the_value() -> None:
    left = [ConnectionError("down")]

    async def use(make: str) -> str:
        if left:
            raise left.pop()
        return make

    tool = make_tool("use", use, {"make": {"type": "string"}}, required=["make"])
    report = await PipelineBuilder().then(returning("x"), name="make").then(tool).build().run(keep="leaves")
    assert report.value("use") == "x"


async def test_what_a_cancelled_run_did_not_come_to_read_is_kept() -> None:
    async def use(make: str) -> None: ...

    builder = (
        PipelineBuilder()
        .then(returning("x"), name="make")
        .then(returning(1, after=100), name="slow")
        .then(use, deps=["make", "slow"])
    )
    report = await builder.build().run(keep="leaves", timeout=5)
    assert report.value("make") == "x"
