"""What a run leaves: for programs, for people, as a picture."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import math
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import ToolError
from toolpath.orchestrator import Degraded, Level, PipelineBuilder, Retry, RunReport, StepReport, constant
from toolpath.orchestrator.pipeline.drawing import mermaid

from tests.orchestrator.building import (
    FAIL_FAST,
    FAILED,
    SKIPPED,
    SUCCEEDED,
    graph,
    make_tool,
    raising,
    returning,
    single,
)

pytestmark = pytest.mark.anyio


def strictly(report: RunReport) -> dict[str, Any]:
    """The report once it has been written as strict JSON and read again."""
    read: dict[str, Any] = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    return read


async def incident() -> RunReport:
    async def report(alert: str, logs: list[str]) -> str:
        return f"{alert}: {len(logs)} lines"

    down = ToolError("the archive is down", "unavailable")
    pipeline = (
        PipelineBuilder("incident")
        .then(returning("disk full", after=1), name="alert")
        .then(
            raising(ConnectionError("refused"), ConnectionError("refused"), then=["a", "b"]),
            name="logs",
            retry=Retry(jitter=0),
            deps=["alert"],
        )
        .then(
            raising(down),
            name="runbook",
            deps=["alert"],
            fallback=[Level(constant("old page"), name="snapshot", note="from last week")],
        )
        .then(raising(ValueError("no such metric")), name="metrics", deps=["alert"])
        .then(returning(1), name="chart", deps=["metrics"])
        .then(report, deps=["alert", "logs"])
        .build()
    )
    return await pipeline.run({"colour": "red"})


async def test_a_report_reads_well() -> None:
    assert str(await incident()) == (
        "incident: failed (partial) in 4.00 s: 4 succeeded, 1 failed, 1 skipped\n"
        "  ✓ alert    1.00 s\n"
        "  ✓ logs     3.00 s; 3 attempts\n"
        "  ✓ runbook  0.00 s; 2 attempts; degraded by snapshot, confidence 0.80; from last week\n"
        "  ✗ metrics  0.00 s; tool_error: ValueError: no such metric\n"
        "  – chart    step 'metrics' failed\n"
        "  ✓ report   0.00 s\n"
        "  critical path: alert -> logs -> report\n"
        "  inputs that no step takes: colour"
    )


async def test_a_report_as_data_has_the_documented_form() -> None:
    shown = strictly(await incident())
    assert len(shown.pop("run_id")) == 12
    steps = shown.pop("steps")
    assert shown == {
        "pipeline": "incident",
        "outcome": "failed",
        "partial": True,
        "policy": "skip_and_report",
        "elapsed_s": 4.0,
        "critical_path": ["alert", "logs", "report"],
        "unused_inputs": ["colour"],
    }
    assert list(steps) == ["alert", "logs", "runbook", "metrics", "chart", "report"]
    assert steps["alert"] == {
        "outcome": "succeeded",
        "value": "disk full",
        "attempts": 1,
        "started_s": 0.0,
        "elapsed_s": 1.0,
        "served_by": "step",
    }
    refused = {"level": "step", "elapsed_s": 0.0, "error_type": "unavailable", "message": "ConnectionError: refused"}
    assert steps["logs"]["history"] == [
        {**refused, "started_s": 1.0},
        {**refused, "started_s": 2.0},
        {"level": "step", "started_s": 4.0, "elapsed_s": 0.0},
    ]
    assert steps["runbook"]["served_by"] == "snapshot"
    assert (steps["runbook"]["degraded"], steps["runbook"]["confidence"], steps["runbook"]["note"]) == (
        True,
        0.8,
        "from last week",
    )
    assert steps["metrics"]["error"] == {
        "error_type": "tool_error",
        "message": "ValueError: no such metric",
        "category": "semantic",
        "retry": "corrected",
        "retryable": True,
    }
    assert steps["chart"] == {"outcome": "skipped", "because": "metrics", "reason": "step 'metrics' failed"}


@dataclasses.dataclass
class Record:
    when: dt.datetime
    ratio: float


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no repr for you")


class Handle:
    def __repr__(self) -> str:
        return "<handle>"


class Colour(enum.Enum):
    RED = "red"


def circular() -> list[Any]:
    inside: list[Any] = [1]
    inside.append({"again": inside})
    return inside


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(3000):
        value = [value]
    return value


def failing_iterator() -> Iterator[int]:
    yield 1
    raise ValueError("broken iterator")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        ({"a": [1, 2.5, "x", None, True]}, {"a": [1, 2.5, "x", None, True]}),
        (math.nan, None),
        ([math.inf, -math.inf, {"x": math.nan}], [None, None, {"x": None}]),
        (Record(dt.datetime(2026, 1, 2), math.nan), {"when": "2026-01-02T00:00:00", "ratio": None}),
        (b"text", "text"),
        ({"raw": b"\xff\xfe", "ok": 1}, {"raw": "b'\\xff\\xfe'", "ok": 1}),
        ({"handle": Handle(), "n": 1}, {"handle": "<handle>", "n": 1}),
        ([Hostile(), 1], ["<Hostile>", 1]),
        (ValueError("x"), "ValueError('x')"),
        ({3}, [3]),
        (frozenset({"a"}), ["a"]),
        ((1, 2), [1, 2]),
        ({1: "a", (2, 3): "b", None: "c"}, {"1": "a", "2,3": "b", "None": "c"}),
        (Colour.RED, "red"),
        (10**40, 10**40),
        ("步骤 🚀", "步骤 🚀"),
        ("\ud800", "\ud800"),
        ({b"\xff": 1}, {"b'\\xff'": 1}),
        (int, "<class 'int'>"),
        (range(3), "range(0, 3)"),
        (1j, "1j"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_values_of_any_kind_can_be_written_as_json(value: Any, shown: Any) -> None:
    step = strictly(await single(returning(value)).run())["steps"]["step"]
    assert step["value"] == shown


async def test_what_contains_itself_is_cut_where_it_starts_over() -> None:
    step = strictly(await single(returning(circular())).run())["steps"]["step"]
    assert step["value"] == [1, {"again": "<list: contains itself>"}]


async def test_what_is_nested_without_end_is_cut_somewhere() -> None:
    text = json.dumps((await single(returning(deep())).run()).to_dict(), allow_nan=False)
    assert "nested too deep" in text


async def test_a_value_that_breaks_while_it_is_read_does_no_harm() -> None:
    step = strictly(await single(returning(failing_iterator())).run())["steps"]["step"]
    assert step["value"].startswith("<generator object failing_iterator")


async def test_an_object_without_a_json_form_is_not_shown_at_any_length() -> None:
    step = strictly(await single(returning({"raw": b"\xff" * 1_000_000})).run())["steps"]["step"]
    assert len(step["value"]["raw"]) < 300


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.decimals(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.integers() | st.none() | st.binary(), inner, max_size=4)
        | st.tuples(inner, inner)
        | st.builds(Degraded, inner, st.text())
    ),
    max_leaves=12,
)


@given(json_like, st.text(min_size=1), st.text())
def test_any_report_can_be_written_printed_and_drawn(value: Any, name: str, note: str) -> None:
    good = StepReport(name, SUCCEEDED, value=value, note=note, started=0.0, attempts=1)
    bad = StepReport(name + "!", FAILED, reason=note, because=name)
    report = RunReport("id", note, FAILED, {name: good, name + "!": bad}, edges=((name, name + "!"),))
    json.dumps(report.to_dict(), allow_nan=False)
    lines = str(report).splitlines()
    assert len(lines) == 3
    check_drawing(report.to_mermaid(), 2)


def check_drawing(text: str, nodes: int) -> None:
    """Nothing of a name may end its label, start markup or say anything to Mermaid itself."""
    lines = text.splitlines()
    assert lines[0] == "flowchart TD"
    drawn = [line for line in lines if '["' in line]
    assert len(drawn) == nodes
    for line in drawn:
        label = line.split('["', 1)[1].rsplit('"]', 1)[0].split("<br/>")[0]
        assert not set(label) & set('"<>`%&')
        assert (
            label.replace("#quot;", "")
            .replace("#lt;", "")
            .replace("#gt;", "")
            .replace("#amp;", "")
            .replace("#35;", "")
            .replace("#37;", "")
            .replace("#96;", "")
            .count("#")
            == 0
        )


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ('say "hi"]; x --> y', "say #quot;hi#quot;]; x --#gt; y"),
        ("<script>alert(1)</script>", "#lt;script#gt;alert(1)#lt;/script#gt;"),
        ("#quot;", "#35;quot;"),
        ("%%{init: {'theme':'dark'}}%%", "#37;#37;{init: {'theme':'dark'}}#37;#37;"),
        ("two\nlines\u2028three", "two lines three"),
        ("`**bold**`", "#96;**bold**#96;"),
        ("查日志", "查日志"),
    ],
)
def test_a_hostile_name_cannot_leave_its_label(name: str, label: str) -> None:
    assert mermaid([name], []).splitlines() == ["flowchart TD", f'    s0["{label}"]']


async def test_a_run_is_drawn_with_its_outcomes() -> None:
    drawn = (await incident()).to_mermaid()
    assert '    s0["alert<br/>succeeded 1.00 s"]:::succeeded' in drawn
    assert '    s2["runbook<br/>degraded"]:::degraded' in drawn
    assert '    s4["chart<br/>skipped"]:::skipped' in drawn
    assert "    s0 --> s1" in drawn
    assert "    classDef failed " in drawn
    assert "classDef cancelled" not in drawn


async def test_the_critical_path_follows_what_ended_last() -> None:
    seconds = {"a": 5.0, "b": 1.0, "c": 1.0, "d": 2.0}
    edges = {"a": [], "b": [], "c": ["a", "b"], "d": ["b"]}
    report = await graph(edges, {name: returning(1, after=s) for name, s in seconds.items()}).build().run()
    assert report.critical_path == ("a", "c")


async def test_values_can_be_asked_for() -> None:
    report = await graph({"a": [], "bad": [], "c": ["a"]}, {"bad": raising(ValueError("x"))}).build().run()
    assert report.value("a") == "a"
    assert report.outputs == {"c": "c"}
    assert report["c"].value == "c"
    assert [step.name for step in report] == ["a", "bad", "c"]
    with pytest.raises(KeyError, match="step 'bad' has no value: failed"):
        report.value("bad")
    with pytest.raises(KeyError):
        report.value("nobody")


async def test_partial_means_some_but_not_all() -> None:
    assert not (await single(returning(1)).run()).partial
    assert not (await single(raising(ValueError("x"))).run()).partial
    assert (await graph({"a": [], "b": []}, {"b": raising(ValueError("x"))}).build().run()).partial


async def test_raise_for_failure_raises_the_original_exception() -> None:
    class OwnError(Exception):
        pass

    error = OwnError("mine")
    report = await graph({"a": [], "b": ["a"]}, {"b": raising(error)}).build().run()
    for _ in range(2):
        with pytest.raises(OwnError) as caught:
            report.raise_for_failure()
        assert caught.value is error
    assert error.__notes__ == [f"raised by step 'b' of run {report.run_id}"]


async def test_raise_for_failure_does_nothing_after_a_success() -> None:
    (await single(returning(1)).run()).raise_for_failure()


async def test_raise_for_failure_speaks_up_when_the_run_itself_was_cut_short() -> None:
    report = await single(returning(1, after=10)).run(timeout=3)
    with pytest.raises(TimeoutError, match="the run's limit of 3 s was reached"):
        report.raise_for_failure()
    run = single(returning(1, after=10)).prepare()
    run.cancel("changed my mind")
    with pytest.raises(RuntimeError, match="changed my mind"):
        (await run.execute()).raise_for_failure()


async def test_a_tools_failure_is_raised_as_a_tool_error() -> None:
    tool = make_tool("fetch", raising(ToolError("no order has that number", "not_found")))
    report = await single(tool).run()
    with pytest.raises(ToolError, match="no order has that number") as caught:
        report.raise_for_failure()
    assert caught.value.error_type == "not_found"
    assert caught.value.info.progress == {"step": "step", "stack": ["step", "fetch"]}


async def test_an_exception_that_cannot_say_what_it_is_is_reported_by_its_class() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

        @property
        def response(self) -> Any:
            raise RuntimeError("no response")

    report = await single(raising(MuteError())).run()
    assert report["step"].error is not None
    assert report["step"].error.message == "MuteError"


async def test_a_message_of_several_lines_stays_on_one_line_of_the_report() -> None:
    report = await single(raising(ValueError("first\nsecond\r\n\tthird"))).run()
    assert str(report).splitlines()[1] == "  ✗ step  0.00 s; tool_error: ValueError: first second third"


async def test_what_was_cancelled_by_fail_fast_names_its_cause() -> None:
    edges = {"bad": [], "slow": []}
    builder = graph(edges, {"bad": raising(ValueError("x"), after=1), "slow": returning(1, after=9)})
    shown = strictly(await builder.with_error_policy(FAIL_FAST).build().run())
    assert shown["reason"] == "step 'bad' failed, and its policy is fail_fast"
    assert shown["steps"]["slow"]["because"] == "bad"
    assert shown["steps"]["slow"]["outcome"] == "cancelled"


async def test_a_report_of_ten_thousand_steps_does_not_change_after_the_run() -> None:
    builder = PipelineBuilder()
    for number in range(10_000):
        builder.independent(returning(number), name=f"s{number}")
    report = await builder.build().run()
    await anyio.sleep(1)
    assert len(report.steps) == 10_000
    assert report.steps["s9999"] is report["s9999"]
    assert report["s9999"] == dataclasses.replace(report["s9999"])
    assert "s10000" not in report.steps
    assert SKIPPED not in {step.outcome for step in report}
