"""What an abandoned run takes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from toolpath.catalog.errors import BindingError
from toolpath.orchestrator import PipelineBuilder

from tests.orchestrator.building import FAIL_FAST, outcomes, raising, returning

pytestmark = pytest.mark.anyio


def noting(seen: list[Any], error: Exception | None = None, after: float = 0) -> Callable[[Any], Any]:
    async def undo(output: Any) -> None:
        await anyio.sleep(after)
        seen.append(output)
        if error is not None:
            raise error

    return undo


async def test_the_last_step_is_undone_first_with_its_output() -> None:
    seen: list[Any] = []
    builder = PipelineBuilder().then(returning("flight", after=1), name="a", undo=noting(seen))
    builder.then(returning("hotel", after=1), name="b", undo=noting(seen)).then(returning(0), name="c")
    builder.then(raising(ValueError("card refused")), name="pay", policy=FAIL_FAST, undo=noting(seen))
    report = await builder.build().run(keep="leaves")
    assert seen == ["hotel", "flight"]
    assert (report["a"].undone, report["b"].undone, report["c"].undone, report["pay"].undone) == ("", "", None, None)
    assert report.to_dict()["steps"]["a"]["undone"] is True
    assert "undone" in str(report)


async def test_a_run_that_is_not_abandoned_undoes_nothing() -> None:
    seen: list[Any] = []
    builder = (
        PipelineBuilder().step(returning(1), name="a", undo=noting(seen)).step(raising(ValueError("no")), name="b")
    )
    report = await builder.build().run()
    assert seen == []
    assert report["a"].undone is None


async def test_what_cannot_be_undone_is_said_and_the_others_are_undone_all_the_same() -> None:
    seen: list[Any] = []
    builder = PipelineBuilder().step(returning(1), name="a", undo=lambda: seen.append("thread"))
    builder.step(returning(2, after=1), name="b", undo=noting(seen, LookupError("booking is gone")))
    builder.step(returning(3, after=1.5), name="hangs", undo=noting(seen, after=1000))
    builder.step(returning(4, after=9), name="slow")
    report = await builder.build().run(timeout=2)
    assert seen == [2, "thread"]
    assert report["a"].undone == ""
    assert "booking is gone" in (report["b"].undone or "")
    assert report["hangs"].undone
    assert "NOT undone" in str(report)
    assert "booking is gone" in report.to_dict()["steps"]["b"]["undo_failed"]


async def test_a_cancellation_from_outside_waits_for_the_undoing() -> None:
    seen: list[Any] = []
    builder = PipelineBuilder().step(returning(1), name="a", undo=noting(seen, after=2))
    run = builder.step(returning(1, after=99), name="slow").build().prepare()
    with anyio.move_on_after(1):
        await run.execute()
    assert seen == [1]
    assert outcomes(run.report()) == {"a": "succeeded", "slow": "cancelled"}


async def test_an_undo_that_is_no_function_is_refused() -> None:
    with pytest.raises(BindingError, match="undo takes a function"):
        PipelineBuilder().step(returning(1), name="a", undo="rollback")  # type: ignore[typeddict-item]
