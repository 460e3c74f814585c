"""The benchmark of stage 3: three arms over the same requests, a run that goes on where it stopped, and its table."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llm_stage
import measuring
import pytest
from llm_stage_state import Answer, State
from llm_stage_table import differences_of, is_exact, is_right, lines_of
from toolpath.router.evaluation import Query

from tests.support.scripted_model import Reply, ScriptedModel, completion, http_error, json_answer

WORDS = ["weather", "refund", "mail", "hotel", "flight", "music"]
WORDS += ["recipe", "invoice", "calendar", "map", "stock", "news"]
TOOLS = [f"tool_{word}" for word in WORDS]
SIZE = 3

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A set of twelve tools, a request for each of three, and one that none of them serves."""
    folder = tmp_path / "dozen"
    folder.mkdir()
    tools = [{"name": f"tool_{word}", "description": f"Does {word} things.", "parameters": {}} for word in WORDS]
    rows: list[dict[str, Any]] = [
        {"id": word, "query": f"please do {word} things", "tools": [f"tool_{word}"]} for word in WORDS[:SIZE]
    ]
    rows.append({"id": "song", "query": "sing", "tools": [], "expect_none": True})
    for name, lines in (("tools", tools), ("queries", rows)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return folder


@pytest.fixture
def run(data: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the benchmark; its report. What it noted on standard error is in the report under "noted"."""

    def started(model: ScriptedModel, *more: str) -> dict[str, Any]:
        options = [*options_of(data), "--base-url", model.base_url, *more]
        llm_stage.main([*options, "--json"])
        said = capsys.readouterr()
        report: dict[str, Any] = json.loads(said.out)
        return {**report, "noted": said.err}

    return started


def options_of(data: Path) -> list[str]:
    beside = data.parent
    fixed = ["--model", "scripted", "--embedder", "hash", "--k", "3", "--deadline", "20"]
    return ["--data", str(data), *fixed, "--state", str(beside / "state.jsonl"), "--out", str(beside / "results")]


def wanted(request: dict[str, Any]) -> str:
    """The word of the request that the model was sent."""
    found = re.search(r"please do (\w+) things", str(request["messages"]))
    assert found is not None
    return found[1]


def shown(request: dict[str, Any]) -> list[str]:
    """The tools in a prompt, in order."""
    return re.findall(r'"name":"(tool_\w+)"', "".join(message["content"] for message in request["messages"]))


def right(request: dict[str, Any]) -> Reply:
    """A model that is always right."""
    return json_answer((f"tool_{wanted(request)}", {}))


def arm_of(report: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in report["arms"] if one["name"] == name)


def rows_of(data: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (data.parent / "state.jsonl").read_text().splitlines()]


def test_each_arm_shows_the_model_what_its_name_says(run: Run) -> None:
    with ScriptedModel(right) as model:
        report = run(model)
    of_three, of_all = model.requests[:SIZE], model.requests[SIZE:]
    assert all(len(shown(request)) == 3 for request in of_three)
    assert [shown(request) for request in of_all] == [TOOLS] * SIZE
    assert len({request["messages"][0]["content"] for request in of_all}) == 1  # what a server's cache can keep
    assert report["requests"] == report["common"] == SIZE and report["tools"] == len(TOOLS)
    assert [one["name"] for one in report["arms"]] == [
        "retrieval",
        "retrieval, or none",
        "three",
        "three, no vote",
        "all",
    ]
    assert all(one["finished"] == SIZE for one in report["arms"])
    assert arm_of(report, "all")["accuracy"] == arm_of(report, "three, no vote")["accuracy"] == 1.0
    assert arm_of(report, "all")["input_tokens"] == 100 and arm_of(report, "all")["output_tokens"] == 20
    assert arm_of(report, "retrieval")["input_tokens"] == 0


def test_a_model_that_is_wrong_loses_to_the_ranking_by_as_much_as_the_table_says(run: Run, data: Path) -> None:
    def wrong(request: dict[str, Any]) -> Reply:
        if wanted(request) == "mail":
            return json_answer(none_fits=True)
        return json_answer((next(name for name in shown(request) if name != f"tool_{wanted(request)}"), {}))

    with ScriptedModel(wrong) as model:
        report = run(model)
    alone, ranked = arm_of(report, "three, no vote"), arm_of(report, "retrieval")
    assert (alone["accuracy"], alone["none"], alone["failures"]) == (0.0, 1, 0)
    assert ranked["accuracy"] == 1.0 and report["shortlisted"] == 1.0
    apart = next(one for one in report["differences"] if (one["of"], one["from"]) == ("three, no vote", "retrieval"))
    assert apart["difference"] == -1.0 and apart["interval"] == [-1.0, -1.0]
    assert (apart["only_first"], apart["only_second"]) == (0, SIZE)
    voted = arm_of(report, "three")
    assert voted["accuracy"] == voted["overruled"] / SIZE > 0  # the ranking is right wherever it overrules
    page = (data.parent / "results" / "llm_stage.md").read_text()
    assert f"| three, no vote | {SIZE} of {SIZE} | 0.000 | 0.000 to 0.000 | 0.000 | 1 | 0 | 0 | 100 | 20 |" in page
    assert f"| three, no vote − retrieval | accuracy | -1.000 | -1.000 to -1.000 | 0 | {SIZE} |" in page
    kept = json.loads((data.parent / "results" / "llm_stage.json").read_text())
    assert kept["arms"] == report["arms"] and kept["machine"]["python"]


def test_a_run_that_was_stopped_asks_only_what_is_missing(run: Run, data: Path) -> None:
    with ScriptedModel(right) as model:
        whole = run(model)
    state = data.parent / "state.jsonl"
    lines = state.read_text().splitlines(keepends=True)
    missing = [row for row in rows_of(data) if row["arm"] == "all"][-2:]
    state.write_text("".join(lines[:-2]) + lines[-2][:40])  # killed in the middle of a line
    with ScriptedModel(right) as model:
        again = run(model)
    assert [wanted(request) for request in model.requests] == [row["id"] for row in missing]
    assert all(shown(request) == TOOLS for request in model.requests)
    assert "1 rows ignored: cannot be read" in again["noted"]
    assert [one["accuracy"] for one in again["arms"]] == [one["accuracy"] for one in whole["arms"]]
    with ScriptedModel([]) as silent:
        assert run(silent)["arms"] == again["arms"]
    assert silent.requests == []


def test_arms_are_compared_on_the_requests_that_all_have_answered() -> None:
    queries = [Query(name, f"do {name}", tools=(name,)) for name in "abc"]
    three = {name: Answer("three", name, (name,), input_tokens=100, seconds=2.0) for name in "abc"}
    everything = {"b": Answer("all", "b", ("a",), input_tokens=900, seconds=5.0)}
    first, second = lines_of({"three": three, "all": everything}, queries)
    assert (first.finished, second.finished) == (3, 1)
    assert first.right.tolist() == [1.0] and second.right.tolist() == [0.0]
    assert (second.input_tokens, second.seconds, second.median) == (900, 5.0, 5.0)
    by_measure = {one["measure"]: one for one in differences_of([first, second])}
    assert by_measure.keys() == {"accuracy", "exact"}
    assert all((one["of"], one["from"], one["difference"]) == ("three", "all", 1.0) for one in by_measure.values())


def test_a_model_that_picks_everything_is_accurate_but_never_exact() -> None:
    queries = [Query("a", "do a", tools=("a",))]
    (line,) = lines_of({"three": {"a": Answer("three", "a", ("a", "b", "c"))}}, queries)
    assert (line.to_dict()["accuracy"], line.to_dict()["exact"]) == (1.0, 0.0)


def test_without_a_common_request_there_are_no_figures() -> None:
    queries = [Query("a", "do a", tools=("a",))]
    lines = lines_of({"three": {"a": Answer("three", "a", ("a",))}, "all": {}}, queries)
    assert [(line.finished, line.to_dict()["accuracy"]) for line in lines] == [(1, None), (0, None)]
    assert differences_of(lines) == []


def test_rows_of_another_model_are_ignored_and_another_k_leaves_the_arm_of_all_tools_alone(
    run: Run, data: Path
) -> None:
    with ScriptedModel(right) as model:
        run(model)
    with ScriptedModel(right) as model:
        other = run(model, "--model", "another")
    assert len(model.requests) == 2 * SIZE
    assert f"{2 * SIZE} rows ignored: another model" in other["noted"]
    with ScriptedModel(right) as model:
        wider = run(model, "--k", "4")
    assert len(model.requests) == SIZE and all(len(shown(request)) == 4 for request in model.requests)
    assert "rows ignored: another k" in wider["noted"]


def test_an_answer_about_other_tools_is_not_taken_for_this_one(tmp_path: Path) -> None:
    settings = {"set": "s", "catalog": "c", "embedder": "e", "k": 3, "model": "m", "prompt": "p"}
    State(tmp_path / "state.jsonl", settings).add(Answer("three", "1", ("a",), shown="these"))
    again = State(tmp_path / "state.jsonl", settings)
    assert again.get("three", "1", "those") is None
    kept = again.get("three", "1", "these")
    assert kept is not None and kept.calls == ("a",) and not again.ignored


def test_a_failing_answer_is_counted_as_wrong_and_asked_again_on_demand(run: Run, data: Path) -> None:
    def failing(request: dict[str, Any]) -> Reply:
        if wanted(request) == "refund":
            return http_error(500)
        return completion("no idea") if wanted(request) == "mail" else right(request)

    with ScriptedModel(failing) as model:
        report = run(model)
    for name in ("three", "three, no vote", "all"):
        assert (arm_of(report, name)["failures"], arm_of(report, name)["none"]) == (2, 0)
        assert arm_of(report, name)["accuracy"] == pytest.approx(1 - 2 / SIZE, abs=1e-4)
        assert arm_of(report, name)["input_tokens"] == 100  # failures would pull it down
    assert report["failures"]["three: the model's server answered with HTTP 500"] == 1
    assert "HTTP 500 (1)" in (data.parent / "results" / "llm_stage.md").read_text()
    with ScriptedModel(right) as model:
        again = run(model, "--retry-failed")
    assert len(model.requests) == 4 and arm_of(again, "all")["accuracy"] == 1.0


def test_a_server_that_goes_away_stops_the_run_and_leaves_no_failure_behind(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModel(lambda request: http_error(500)) as model:
        probes = iter([None, llm_stage.NoServerError("gone")])

        def probe(base_url: str) -> None:
            if (error := next(probes)) is not None:
                raise error

        monkeypatch.setattr(llm_stage, "check_server", probe)
        with pytest.raises(SystemExit, match="gone"):
            llm_stage.main([*options_of(data), "--base-url", model.base_url])
    assert {row["arm"] for row in rows_of(data)} == {"retrieval"}


def test_without_a_server_the_run_says_how_to_start_one(data: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(SystemExit, match=re.escape(f"no server answers at {url}") + ".*Start an OpenAI-compatible"):
            llm_stage.main([*options_of(data), "--base-url", url])
    assert not (data.parent / "state.jsonl").exists()


def test_retrieval_alone_needs_no_model(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    beside = ["--state", str(data.parent / "state.jsonl"), "--out", str(data.parent / "results")]
    llm_stage.main(["--data", str(data), "--embedder", "hash", "--arms", "retrieval", *beside])
    assert f"| retrieval | {SIZE} of {SIZE} | 1.000 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [(["--arms", "both"], "the arms are retrieval, three, all"), (["--k", "0"], "at least 1"), ([], "need a model")],
)
def test_options_that_cannot_be_used_are_refused(
    data: Path, more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        llm_stage.main(["--data", str(data), *more])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("calls", "failure", "right", "exact"),
    [
        (("a", "b"), "", True, True),
        (("a2", "b"), "", True, True),
        (("a",), "", True, False),
        (("a", "b", "c"), "", True, False),
        (("c", "a"), "", False, False),
        ((), "", False, False),
        (("a", "b"), "the server is on fire", False, False),
    ],
)
def test_the_first_tool_decides_what_is_right_and_all_of_them_what_is_exact(
    calls: tuple[str, ...], failure: str, right: bool, exact: bool
) -> None:
    query = Query("1", "a and b", tools=("a", "b"), alternatives=(("a2",), ()))
    answer = Answer("three", "1", calls, failure=failure)
    assert (is_right(query, answer), is_exact(query, answer)) == (right, exact)


def test_a_page_names_no_absolute_path_of_the_machine_that_made_it(tmp_path: Path) -> None:
    line = measuring.command_line("benchmarks/x.py", ["--data", str(tmp_path / "sets"), "--k", "10"])
    assert line.startswith("python benchmarks/x.py --data ")
    assert " /" not in line
    assert line.endswith("sets --k 10")
