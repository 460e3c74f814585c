"""`toolpath run` runs pipelines, reads inputs by their types, and leaves with a telling exit code."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from .conftest import Toolpath

HERE = __name__
never = threading.Event()


def shout(word: str) -> str:
    return word.upper()


def repeat(word: str, times: int = 2) -> str:
    return word * times


def fails(word: str) -> str:
    raise LookupError("not today")


def hangs(word: str) -> None:
    Path(os.environ["HANGING"]).touch()
    never.wait()


@pytest.fixture
def pipeline_file(tmp_path: Path) -> str:
    file = tmp_path / "p.yaml"
    file.write_text(
        f"steps:\n  loud: {{function: '{HERE}:shout'}}\n"
        f"  echo: {{function: '{HERE}:repeat', with: {{word: {{ref: loud}}}}}}\n",
        encoding="utf-8",
    )
    return str(file)


def test_a_run_that_succeeds_leaves_with_0_and_shows_its_outputs(toolpath: Toolpath, pipeline_file: str) -> None:
    done = toolpath("run", pipeline_file, "--input", "word=hey")
    assert done.code == 0
    assert "2 succeeded" in done.out
    assert "HEYHEY" in done.out


def test_inputs_are_read_by_their_types(toolpath: Toolpath, pipeline_file: str) -> None:
    report = toolpath("run", pipeline_file, "-i", "word=7", "-i", "times=3", "--json").json
    assert report["steps"]["echo"]["value"] == "777"


def test_the_schema_of_pipeline_files_is_printed_without_one(toolpath: Toolpath) -> None:
    schema = toolpath("run", "--schema").json
    assert schema["title"] == "Toolpath pipeline"
    assert "steps" in schema["required"]


def test_a_value_may_hold_an_equals_sign(toolpath: Toolpath, pipeline_file: str) -> None:
    assert toolpath("run", pipeline_file, "-i", "word=a=b", "--json").json["steps"]["loud"]["value"] == "A=B"


def test_inputs_come_from_a_file_and_the_command_line_wins(
    toolpath: Toolpath, pipeline_file: str, tmp_path: Path
) -> None:
    (tmp_path / "in.json").write_text(json.dumps({"word": "a", "times": 1}), encoding="utf-8")
    report = toolpath("run", pipeline_file, "--inputs", str(tmp_path / "in.json"), "-i", "times=4", "--json").json
    assert report["steps"]["echo"]["value"] == "AAAA"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "'word': is missing"),
        (("-i", "word=x", "-i", "times=three"), "'times': int expected, got 'three'"),
        (("-i", "word"), "--input wants KEY=VALUE"),
        (("-i", "=x"), "--input wants KEY=VALUE"),
        (("-i", "word=x", "--timeout", "0"), "--timeout must be positive"),
        (("-i", "word=x", "-i", "tims=2"), "did you mean 'times'"),
        (("--inputs", "nowhere.json"), "nowhere.json"),
    ],
)
def test_wrong_inputs_are_one_line_and_exit_code_2(
    toolpath: Toolpath, pipeline_file: str, arguments: tuple[str, ...], says: str
) -> None:
    done = toolpath("run", pipeline_file, *arguments)
    assert done.code == 2
    assert says in done.err
    assert "Traceback" not in done.err


def test_a_failed_step_makes_the_exit_code_1(toolpath: Toolpath, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(f"steps: {{a: {{function: '{HERE}:fails'}}}}", encoding="utf-8")
    done = toolpath("run", str(file), "-i", "word=x", "--mermaid")
    assert done.code == 1
    assert "not today" in done.out
    assert "flowchart TD" in done.out


def test_a_dry_run_lists_inputs_and_runs_nothing(toolpath: Toolpath, pipeline_file: str) -> None:
    done = toolpath("run", pipeline_file, "--dry")
    assert done.code == 0
    assert "word: str" in done.out
    plan = toolpath("run", pipeline_file, "--dry", "--json").json
    assert plan["steps"] == {"loud": [], "echo": ["loud"]}
    assert plan["inputs"]["times"] == {"type": "int", "required": False, "used_by": ["echo"]}


def _start(tmp_path: Path, *arguments: str) -> "subprocess.Popen[str]":
    file = tmp_path / "p.yaml"
    file.write_text(
        f"steps:\n  loud: {{function: '{HERE}:shout'}}\n  stuck: {{function: '{HERE}:hangs', timeout: 0.2}}\n"
        if "--json" in arguments
        else f"steps:\n  loud: {{function: '{HERE}:shout'}}\n  stuck: {{function: '{HERE}:hangs'}}\n",
        encoding="utf-8",
    )
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "toolpath.console.app", "run", str(file), "-i", "word=x", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "HANGING": str(tmp_path / "hanging")},
    )


def test_a_thread_that_hangs_does_not_hold_up_the_exit(tmp_path: Path) -> None:
    process = _start(tmp_path, "--json")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert json.loads(out)["steps"]["stuck"]["outcome"] == "timed_out"


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_shows_the_partial_report_and_leaves_within_a_second(tmp_path: Path) -> None:
    process = _start(tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "hanging").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)  # a real process starts in real time
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - sent < 5  # a second on an idle machine; tests must pass on a busy one
    assert process.returncode == 130
    assert "loud" in out
    assert "interrupted" in err


def talks(word: str) -> str:
    print("chatter")
    return f"\x1b[31m{word}\t\u202e"


def test_what_steps_print_does_not_spoil_the_json(toolpath: Toolpath, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(f"steps: {{a: {{function: '{HERE}:talks'}}}}", encoding="utf-8")
    done = toolpath("run", str(file), "-i", "word=x", "--json")
    assert done.json["outcome"] == "succeeded"
    assert done.err == "chatter\n"


def test_what_steps_return_cannot_steer_the_terminal(toolpath: Toolpath, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(f"steps: {{a: {{function: '{HERE}:talks'}}}}", encoding="utf-8")
    assert "\n  \\x1b[31mx " in (out := toolpath("run", str(file), "-i", "word=x").out)
    assert "\\u202e" in out


@pytest.mark.parametrize("text", ["[1]", "", "d: 2025-13-45", "{a: 1, a: 2}", "[" * 3000, "&a [*a]"])
def test_an_inputs_file_that_cannot_be_used_is_one_line(
    toolpath: Toolpath, pipeline_file: str, tmp_path: Path, text: str
) -> None:
    (tmp_path / "in.yaml").write_text(text, encoding="utf-8")
    done = toolpath("run", pipeline_file, "--inputs", str(tmp_path / "in.yaml"))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "in.yaml" in done.err


def test_a_timeout_that_is_no_number_is_refused(toolpath: Toolpath, pipeline_file: str) -> None:
    assert toolpath("run", pipeline_file, "-i", "word=x", "--timeout", "nan").code == 2
