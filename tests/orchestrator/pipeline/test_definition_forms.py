"""Every kind of step can be written in YAML, and what is wrong is said with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from toolpath.catalog.errors import PipelineError
from toolpath.orchestrator import build_definition, load_pipeline, pipeline_schema

HERE = __name__


def double(number: int) -> int:
    return 2 * number


def odd(number: int) -> int:
    if number % 2 == 0:
        raise ConnectionError(f"{number} is even")
    return number


def down() -> None:
    raise ConnectionError("down")


def slow() -> None:
    raise TimeoutError("slow")


def is_big(number: int) -> bool:
    return number > 10


def run(text: str, **inputs: Any) -> Any:
    content = yaml.safe_load(text)
    jsonschema.validate(content, pipeline_schema())
    return build_definition(content).run_sync(inputs)


def test_a_step_goes_over_a_list() -> None:
    report = run(f"""
        steps:
          numbers: {{value: [1, 2, 3]}}
          doubled: {{function: "{HERE}:double", over: {{ref: numbers}}, each: number, limit: 2}}
          odd_ones: {{function: "{HERE}:odd", over: [1, 2], items: continue_with_partial}}
    """)
    assert report.value("doubled") == [2, 4, 6]
    assert [bool(one) for one in report.value("odd_ones")] == [True, False]


@pytest.mark.parametrize(
    ("when", "runs"),
    [
        ("number", True),
        ("{ref: number}", True),
        ("{ref: number, more_than: 10}", False),
        ("{input: wanted, equals: 5}", True),
        ("{ref: number, equals: {input: wanted}}", True),
        (f'{{function: "{HERE}:is_big"}}', False),
        (f'{{not: {{function: "{HERE}:is_big"}}}}', True),
        ("{not: {not: {ref: number, more_than: 10}}}", False),
    ],
)
def test_a_step_has_a_condition(when: str, runs: bool) -> None:
    report = run(
        f"""
        inputs: {{wanted: integer}}
        steps:
          number: {{value: 5}}
          wanted_too: {{function: "{HERE}:double", with: {{number: {{input: wanted}}}}}}
          step: {{value: done, when: {when}}}
    """,
        wanted=5,
    )
    assert (report["step"].outcome == "succeeded") is runs


@pytest.mark.parametrize(("join", "outcome"), [("all", "skipped"), ("any", "succeeded"), ("all_done", "succeeded")])
def test_a_step_joins_by_a_rule(join: str, outcome: str) -> None:
    report = run(f"""
        steps:
          good: {{value: 1}}
          bad: {{function: "{HERE}:down"}}
          end: {{value: 2, after: [good, bad], join: {join}}}
          two: {{value: 2, after: [good, bad], join: {{at_least: 2}}}}
    """)
    assert report["end"].outcome == outcome
    assert report["two"].outcome == "skipped"


def test_a_race() -> None:
    report = run(f"""
        steps:
          first: {{race: [{{function: "{HERE}:down"}}, {{value: 7}}], stagger: 0}}
    """)
    assert report.value("first") == 7
    assert not report["first"].degraded


def test_the_degradation_chain_as_people_write_it() -> None:
    report = run(f"""
        steps:
          search:
            primary: {{function: "{HERE}:down"}}
            fallback_2: {{value: [], note: nothing today}}
            fallback_1: {{function: "{HERE}:down"}}
    """)
    step = report["search"]
    assert (step.value, step.note, step.confidence) == ([], "nothing today", pytest.approx(0.64))
    assert step.attempts == 3


@pytest.mark.parametrize(
    ("fails", "on", "served"),
    [("down", "transient", True), ("slow", "timeout", True), ("down", "timeout", False), ("down", "semantic", False)],
)
def test_a_level_says_for_which_failures_it_is(fails: str, on: str, served: bool) -> None:
    report = run(f"""
        steps:
          search: {{function: "{HERE}:{fails}", fallback: [{{value: cached, errors: [{on}]}}]}}
    """)
    assert (report["search"].outcome == "succeeded") is served


def test_a_pipeline_file_as_a_step_of_another(tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(
        f"steps: {{a: {{function: '{HERE}:double', with: {{number: {{input: number}}}}}}}}"
    )
    (tmp_path / "outer.yaml").write_text("steps: {twice: {pipeline: inner.yaml, with: {number: 4}}}")
    assert load_pipeline(tmp_path / "outer.yaml").run_sync().value("twice") == 8


def test_files_that_contain_each_other_are_refused_with_the_circle(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("steps: {a: {pipeline: b.yaml}}")
    (tmp_path / "b.yaml").write_text("steps: {b: {pipeline: a.yaml}}")
    with pytest.raises(PipelineError, match=r"contain each other: a\.yaml -> b\.yaml -> a\.yaml"):
        load_pipeline(tmp_path / "a.yaml")
    (tmp_path / "c.yaml").write_text("steps: {c: {pipeline: nowhere.yaml}}")
    with pytest.raises(PipelineError, match=r"no pipeline file 'nowhere\.yaml'"):
        load_pipeline(tmp_path / "c.yaml")


@pytest.mark.parametrize("ending", ["yaml", "json"])
@pytest.mark.parametrize(
    ("step", "says"),
    [
        ('{"value": 1, "timeout": -1}', r"line 4, steps\.b\.timeout: .*greater than 0"),
        ('{"value": 1, "colour": "red"}', r"line 4, steps\.b\.colour: "),
        ('{"value": 1, "after": ["aa"]}', r", line 4: step 'b' .*'aa'"),
        ('{"value": 1, "tool": "x"}', r"line 4, steps\.b: give exactly one of"),
        ('{"value": 1, "each": "x"}', r"line 4, steps\.b: each: only of a step with over"),
        ('{"value": 1, "stagger": 1}', r"line 4, steps\.b: stagger: only of a step with race"),
        ('{"value": 1, "join": "most"}', r"line 4, steps\.b\.join"),
        ('{"value": 1, "when": {"ref": "a", "above": 1}}', r", line 4: step 'b': there is no comparison 'above'"),
        ('{"value": 1, "when": {"ref": "a", "input": "b"}}', r", line 4: step 'b': when: give ref or input"),
        ('{"primary": "x", "fallback_2": "y"}', r"line 4, steps\.b: the levels after primary .* there are fallback_2"),
        ('{"value": 1, "fallback": [{"value": 1, "errors": ["transiant"]}]}', r"line 4: step 'b': .*mean 'transient'"),
        ('{"race": []}', r"line 4, steps\.b\.race"),
        ('{"race": ["x"], "fallback": ["y"]}', r"line 4, steps\.b: a race has neither fallback nor over"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, ending: str, step: str, says: str) -> None:
    file = tmp_path / f"p.{ending}"
    file.write_text('{"steps": {\n  "a":\n    {"value": 1},\n  "b": ' + step + "\n}}")
    with pytest.raises(PipelineError, match=rf"^p\.{ending}.*{says}"):
        load_pipeline(file)


def test_a_json_file_with_tabs_is_read_although_its_lines_are_not_known(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text('{\n\t"steps": {\n\t\t"a": {"value": 1, "timeout": -1}}}')
    with pytest.raises(PipelineError, match=r"steps\.a\.timeout"):
        load_pipeline(file)


def test_the_published_schema_knows_the_chain_and_refuses_what_the_loader_refuses() -> None:
    good = {"steps": {"a": {"primary": "x", "fallback_1": "y", "fallback_2": {"value": []}}}}
    jsonschema.validate(good, pipeline_schema())
    for wrong in ({"steps": {}}, {"steps": {"a": {"tool": "x", "colour": 1}}}, {}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, pipeline_schema())
        with pytest.raises(PipelineError):
            build_definition(wrong)


def noted_undo(value: object) -> None:
    del value


def test_a_file_says_every_policy(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(
        f"""
budget: {{calls: 5, seconds: 60}}
call_limit: {{calls: 10, per: 1, concurrent: 2}}
steps:
  a:
    value: 1
    idle: 5
    timeout: 60
    undo: {__name__}:noted_undo
    process: true
    fallback: [{{prompt: "What is known about {{topic}}?", model: "openai:gpt-5-mini"}}]
"""
    )
    pipeline = load_pipeline(str(file))
    assert pipeline.budget is not None
    assert (pipeline.budget.calls, pipeline.budget.seconds) == (5, 60)
    assert pipeline.call_limit is not None
    assert (pipeline.call_limit.calls, pipeline.call_limit.concurrent) == (10, 2)
    (step,) = pipeline.steps
    assert step.timeout is not None
    assert (step.timeout.seconds, step.timeout.idle) == (60, 5)
    assert step.undo is noted_undo
    assert [level.name for level in step.levels] == ["constant", "ask_model"]
    assert "topic" in pipeline.inputs


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ("{prompt: x}", "prompt and model belong together"),
        ("{value: 1, fallback: [{stale: 60}]}", "needs a tool before it"),
        ("{value: 1, fallback: [{stale: 60, value: 2}]}", "exactly one of tool, function, pipeline, prompt, stale"),
        ("{value: 1, fallback: [{stale: 0}]}", "greater than 0"),
        ("{value: 1, undo: nowhere}", "nowhere"),
    ],
)
def test_policies_that_a_file_gets_wrong_are_told(tmp_path: Path, step: str, says: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(f"steps:\n  a: {step}\n")
    with pytest.raises(PipelineError, match=says):
        load_pipeline(str(file))


def test_a_file_inside_another_uses_the_catalog_that_it_names(tmp_path: Path) -> None:
    def catalog(name: str, description: str) -> None:
        text = json.dumps({"name": "lookup", "description": description, "parameters": {"type": "object"}})
        (tmp_path / f"{name}.jsonl").write_text(text + "\n")

    catalog("outer", "the outer one")
    catalog("inner", "the inner one")
    (tmp_path / "inner.yaml").write_text("catalog: inner.jsonl\nsteps:\n  x: {tool: lookup}\n")
    (tmp_path / "bare.yaml").write_text("steps:\n  x: {tool: lookup}\n")
    (tmp_path / "outer.yaml").write_text(
        "catalog: outer.jsonl\nsteps:\n  a: {pipeline: inner.yaml}\n  b: {pipeline: bare.yaml}\n"
    )
    pipeline = load_pipeline(str(tmp_path / "outer.yaml"))
    described = [step.levels[0].value.runtime.catalog.get("lookup").description for step in pipeline.steps]
    assert described == ["the inner one", "the outer one"]
