"""`toolpath run --store`, `toolpath runs` and `toolpath resume`, and what is shown while a run goes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from toolpath.console.live import LiveView
from toolpath.orchestrator import Event, EventKind, StepOutcome

from .conftest import Toolpath

HERE = __name__
STATE = {"broken": True}


def first() -> int:
    return 1


def second(first: int) -> int:
    if STATE["broken"]:
        raise LookupError("not yet")
    return first + 1


@pytest.fixture
def pipeline_file(tmp_path: Path) -> str:
    STATE["broken"] = True
    file = tmp_path / "p.yaml"
    steps = f"steps:\n  first: {{function: '{HERE}:first'}}\n  second: {{function: '{HERE}:second'}}\n"
    file.write_text(f"name: two\n{steps}")
    return str(file)


def test_a_kept_run_is_listed_resumed_and_forgotten(toolpath: Toolpath, pipeline_file: str, tmp_path: Path) -> None:
    store = str(tmp_path / "runs.sqlite")
    first_go = toolpath("run", pipeline_file, "--store", store, "--run-id", "r1", "--json")
    assert first_go.code == 1
    assert "run r1 is kept in" in first_go.err
    (listed,) = json.loads(toolpath("runs", "--store", store, "--json").out)["runs"]
    assert (listed["run_id"], listed["pipeline"], listed["state"], listed["outcome"]) == (
        "r1",
        "two",
        "ended",
        "failed",
    )
    assert (listed["done"], listed["steps"]) == (2, 2)
    table = toolpath("runs", "--store", store)
    assert "r1" in table.out
    assert "2 of 2" in table.out
    STATE["broken"] = False
    resumed = toolpath("resume", "r1", "--store", store, "--retry-failed", "--json")
    report = json.loads(resumed.out)
    assert resumed.code == 0
    assert report["steps"]["first"]["restored"] is True
    assert report["steps"]["second"]["value"] == 2
    assert toolpath("runs", "--store", store, "--delete", "r1").code == 0
    assert json.loads(toolpath("runs", "--store", store, "--json").out) == {"runs": []}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["resume", "r9", "--store", "STORE"], "there is no run 'r9'"),
        (["resume", "r1", "--store", "missing.sqlite"], "there is no store missing.sqlite"),
        (["resume", "r1", "--store", "STORE", "--timeout", "0"], "--timeout must be positive"),
        (["resume", "r1", "--store", "STORE", "--changed", "yes"], "--changed takes refuse or map"),
        (["runs", "--store", "STORE", "--delete", "r9"], "there is no run 'r9'"),
        (["run", "FILE", "--store", "STORE", "--run-id", "r1"], "'r1' in the store already"),
    ],
)
def test_mistakes_are_told(
    toolpath: Toolpath, pipeline_file: str, tmp_path: Path, arguments: list[str], says: str
) -> None:
    store = str(tmp_path / "runs.sqlite")
    toolpath("run", pipeline_file, "--store", store, "--run-id", "r1")
    done = toolpath(*[store if one == "STORE" else pipeline_file if one == "FILE" else one for one in arguments])
    assert done.code == 2
    assert says in " ".join(done.err.split())


def test_events_are_json_lines_on_standard_error(toolpath: Toolpath, pipeline_file: str) -> None:
    done = toolpath("run", pipeline_file, "--events", "--json")
    events = [json.loads(line)["event"] for line in done.err.splitlines() if line.startswith("{")]
    assert events[0] == "run_started"
    assert events[-1] == "run_finished"
    assert events.count("step_finished") == 2
    assert json.loads(done.out)["outcome"] == "failed"


def test_the_live_view_shows_what_is_under_way_and_what_has_ended() -> None:
    view = LiveView(3, clock=iter([float(second) for second in range(100)]).__next__)
    for event in (
        Event(kind=EventKind.STEP_STARTED, run_id="r", at=0, step="fetch"),
        Event(kind=EventKind.STEP_STARTED, run_id="r", at=0, step="[bold]odd\x1b[31m"),
        Event(kind=EventKind.PROGRESS, run_id="r", at=0, step="fetch", message="page 3", fraction=0.25),
        Event(kind=EventKind.RETRYING, run_id="r", at=0, step="[bold]odd\x1b[31m", attempt=2, wait=1.5),
        Event(kind=EventKind.STEP_FINISHED, run_id="r", at=0, step="done", outcome=StepOutcome.SUCCEEDED),
    ):
        view.on_event(event)
    console = Console(width=100, record=True, file=StringIO())
    console.print(view)
    text = console.export_text()
    assert "1 of 3 steps" in text
    assert "1 succeeded" in text
    assert "page 3" in text
    assert "25%" in text
    assert "attempt 2 in 1.5 s" in text
    assert "\x1b" not in text


def test_of_many_steps_only_some_are_shown() -> None:
    view = LiveView(30)
    for number in range(30):
        view.on_event(Event(kind=EventKind.STEP_STARTED, run_id="r", at=0, step=f"s{number}"))
    console = Console(width=100, record=True, file=StringIO())
    console.print(view)
    assert "and 18 more" in console.export_text()


def slow_second(first: int) -> int:
    Path(os.environ["STARTED"]).touch()
    if "HURRY" not in os.environ:
        time.sleep(600)
    return first + 1


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_interrupted_or_killed_goes_on(tmp_path: Path, how: signal.Signals) -> None:
    file, store, started = tmp_path / "p.yaml", str(tmp_path / "runs.sqlite"), tmp_path / "started"
    file.write_text(f"steps:\n  first: {{function: '{HERE}:first'}}\n  second: {{function: '{HERE}:slow_second'}}\n")
    command = [sys.executable, "-m", "toolpath.console.app", "run", str(file), "--store", store, "--run-id", "r1"]
    where = {"cwd": Path(__file__).parents[2], "text": True}
    environment = os.environ | {"STARTED": str(started)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, **where) as process:
        deadline = time.monotonic() + 60
        while not started.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)  # a real process starts in real time
        process.send_signal(how)
        process.communicate(timeout=30)
    assert process.returncode == (130 if how is signal.SIGINT else -9)
    resumed = subprocess.run(
        [sys.executable, "-m", "toolpath.console.app", "resume", "r1", "--store", store, "--json"],
        capture_output=True,
        env=environment | {"HURRY": "1"},
        check=False,
        **where,
    )
    assert resumed.returncode == 0, resumed.stderr
    steps = json.loads(resumed.stdout)["steps"]
    assert (steps["first"]["restored"], steps["second"]["value"]) == (True, 2)
