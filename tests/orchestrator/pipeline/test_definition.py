"""Pipelines from YAML and JSON build and run like those from Python, and say where they are wrong."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.catalog.errors import CatalogError, CycleError, PipelineError
from toolpath.orchestrator import StepOutcome, build_definition, load_pipeline

HERE = __name__


def double(number: int) -> int:
    return 2 * number


def broken(number: int) -> int:
    raise ConnectionError("down")


def total(parts: list[int], offset: int = 0) -> int:
    return sum(parts) + offset


def build(steps: dict[str, Any], **rest: Any) -> Any:
    return build_definition({"steps": steps, **rest})


def test_references_inputs_and_values_bind_and_imply_dependencies() -> None:
    pipeline = build(
        {
            "sum": {
                "function": f"{HERE}:total",
                "with": {"parts": [{"ref": "one"}, {"ref": "two"}, 5], "offset": {"input": "offset"}},
            },
            "one": {"function": f"{HERE}:double", "with": {"number": 1}},
            "two": {"function": f"{HERE}:double", "with": {"number": {"value": 2}}},
        }
    )
    assert dict.fromkeys(pipeline.edges) == {("one", "sum"): None, ("two", "sum"): None}
    assert pipeline.run_sync({"offset": 100}).value("sum") == 111


def test_a_parameter_named_after_a_step_gets_its_output() -> None:
    pipeline = build(
        {"number": {"value": 21}, "answer": {"function": f"{HERE}:double"}},
    )
    assert pipeline.run_sync().value("answer") == 42


def test_a_path_reaches_into_an_output() -> None:
    pipeline = build(
        {
            "data": {"value": {"rows": [{"n": 3}, {"n": 4}]}},
            "answer": {"function": f"{HERE}:double", "with": {"number": {"ref": "data.rows[-1].n"}}},
        }
    )
    assert pipeline.run_sync().value("answer") == 8


def test_after_orders_steps_that_share_no_data() -> None:
    pipeline = build({"b": {"value": 1, "after": ["a"]}, "a": {"value": 2}})
    assert pipeline.edges == (("a", "b"),)


def test_a_fallback_serves_and_says_so() -> None:
    pipeline = build(
        {
            "n": {
                "function": f"{HERE}:broken",
                "with": {"number": 1},
                "fallback": [{"value": 7, "note": "a guess", "confidence": 0.3, "name": "guess"}],
            }
        }
    )
    step = pipeline.run_sync()["n"]
    assert (step.value, step.served_by, step.note, step.confidence) == (7, "guess", "a guess", 0.3)


def test_policies_are_read() -> None:
    pipeline = build(
        {
            "n": {"function": f"{HERE}:broken", "with": {"number": 1}, "policy": "continue_with_partial"},
            "after_all": {"value": "ran", "after": ["n"]},
            "skipped": {"value": "ran", "after": ["bad"]},
            "bad": {"function": f"{HERE}:broken", "with": {"number": 1}},
        },
        policy="skip_and_report",
        limit=1,
        timeout=5,
    )
    report = pipeline.run_sync()
    assert report["after_all"].outcome is StepOutcome.SUCCEEDED
    assert report["skipped"].outcome is StepOutcome.SKIPPED
    assert (pipeline.limit, pipeline.timeout) == (1, 5)


def test_tools_come_from_the_catalog_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "tools.jsonl").write_text('{"name": "db.count", "description": "Counts."}\n', encoding="utf-8")
    (tmp_path / "p.yaml").write_text("catalog: tools.jsonl\nsteps: {n: {tool: db.count}}\n", encoding="utf-8")
    report = load_pipeline(tmp_path / "p.yaml").run_sync()
    assert report["n"].error is not None
    assert report["n"].error.error_type == "dependency_missing"


def test_a_given_catalog_replaces_the_one_that_the_file_names(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(
        json.dumps({"catalog": "not-there", "steps": {"n": {"tool": "db.count"}}}), encoding="utf-8"
    )
    catalog = Catalog([Tool(name="db.count", handler=lambda: 3)])
    assert load_pipeline(tmp_path / "p.json", catalog=catalog).run_sync().value("n") == 3


def test_declared_inputs_have_types_and_are_the_only_ones() -> None:
    pipeline = build(
        {"n": {"function": f"{HERE}:double", "with": {"number": {"input": "size"}}}},
        inputs={"size": {"type": "integer", "minimum": 1}},
    )
    with pytest.raises(PipelineError, match="size.*minimum|size.*at least 1"):
        pipeline.prepare({"size": 0})
    with pytest.raises(PipelineError, match="'colour'.*no step takes it"):
        pipeline.prepare({"size": 1, "colour": "red"})
    with pytest.raises(PipelineError, match="no declared input 'sise'.*did you mean 'size'"):
        build({"n": {"function": f"{HERE}:double", "with": {"number": {"input": "sise"}}}}, inputs={"size": "integer"})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({}, "steps: Field required"),
        ({"steps": {}}, "steps: .*at least 1"),
        ([], "the file: "),
        (None, "the file: "),
        ({"steps": {"a": {"value": 1}}, "colour": 1}, "colour: Extra inputs"),
        ({"steps": {"a": {"value": 1, "retries": 3}}}, "steps.a.retries: Extra inputs"),
        (
            {"steps": {"a": {"value": 1, "tool": "x"}}},
            "steps.a: give exactly one of tool, function, pipeline, prompt and value",
        ),
        ({"steps": {"a": {}}}, "steps.a: give exactly one"),
        ({"steps": {"a.b": {"value": 1}}}, "steps.a.b"),
        ({"steps": {"a": {"value": 1, "policy": "shrug"}}}, "steps.a.policy"),
        ({"steps": {"a": {"value": 1, "retry": {"attempts": 0}}}}, "step 'a': attempts must be at least 1"),
        ({"steps": {"a": {"tool": "nowhere"}}}, "no tool is called 'nowhere'"),
        ({"steps": {"a": {"value": 1, "after": ["b"]}}}, "'a' depends on 'b', which is no step"),
        (
            {"steps": {"a": {"value": 1, "after": ["b"]}, "b": {"value": 1, "after": ["a"]}}},
            "circle: a -> b -> a|b -> a -> b",
        ),
        ({"steps": {"a": {"function": f"{HERE}:double", "with": {"number": {"ref": "x[["}}}}}, "cannot read the path"),
        ({"steps": {"a": {"function": f"{HERE}:double", "with": {"number": {"ref": 5}}}}}, "a reference must be text"),
        ({"steps": {"a": {"function": f"{HERE}:double", "with": {"nummer": 1}}}}, "no parameter 'nummer'.*'number'"),
        ({"steps": {"a": {"function": f"{HERE}:HERE"}}}, "is not a function"),
    ],
)
def test_a_wrong_definition_says_where_and_what(content: Any, says: str) -> None:
    with pytest.raises(PipelineError, match=says):
        build_definition(content, source="p.yaml")


def test_a_missing_function_or_module_is_named() -> None:
    with pytest.raises((PipelineError, CatalogError), match="dubble.*did you mean 'double'"):
        build({"a": {"function": f"{HERE}:dubble"}})
    with pytest.raises((PipelineError, CatalogError), match="no_such_module"):
        build({"a": {"function": "no_such_module:f"}})


def test_the_cause_of_a_refusal_is_kept() -> None:
    with pytest.raises(PipelineError) as caught:
        build({"a": {"value": 1, "after": ["a"]}})
    assert isinstance(caught.value.__cause__, CycleError)


@pytest.mark.parametrize("text", ["steps: [unclosed", "\x00", "a: !!python/object/apply:os.system ['true']"])
def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(PipelineError, match=r"p\.yaml is not valid YAML"):
        load_pipeline(tmp_path / "p.yaml")


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_bytes("steps: {é: {value: 1}}".encode("latin-1"))
    with pytest.raises(PipelineError, match="not valid YAML"):
        load_pipeline(tmp_path / "p.yaml")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(PipelineError, match=r"no pipeline file 'nowhere\.yaml'"):
        load_pipeline("nowhere.yaml")


built = build_definition({"steps": {"a": {"value": 1}}})


def test_a_pipeline_is_found_in_a_module() -> None:
    assert load_pipeline(f"{HERE}:built") is built
    with pytest.raises(PipelineError, match="not a Pipeline"):
        load_pipeline(f"{HERE}:double")


def test_names_may_be_in_any_language() -> None:
    report = build(
        {"订单": {"value": 4}, "n": {"function": f"{HERE}:double", "with": {"number": {"ref": "订单"}}}}
    ).run_sync()
    assert report.value("n") == 8


@pytest.mark.parametrize("declared", ["strng", {"type": "strng"}, {"minimum": "five"}])
def test_an_input_type_that_is_none_is_refused_when_building(declared: Any) -> None:
    with pytest.raises(PipelineError, match="the definition: input 'x' is neither a type, 'any' nor a JSON Schema"):
        build({"a": {"value": 1}}, inputs={"x": declared})


_LAUGHS = "\n".join(
    f"      {name}: &{name} [{', '.join([f'*{before}'] * 9)}]"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"steps:\n  s:\n    value:\n      a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n{_LAUGHS}\n", "more than 500,000 values"),
        ("steps: {s: {value: &a [*a]}}", "nested more than 128 levels"),
        ("steps: {s: {value: " + "[" * 3000 + "]" * 3000 + "}}", "nested too deeply"),
        ("steps: {s: {value: 2025-13-45}}", "month must be in 1..12"),
        ("steps: {s: {value: " + "9" * 5000 + "}}", "4300 digits"),
        ("steps:\n  s: {value: 1}\n  s: {value: 2}\n", r"the key 's' is there twice in one object \(line 3\)"),
    ],
    ids=["laughs", "circle", "deep", "no day", "huge number", "twice"],
)
def test_hostile_yaml_is_refused_in_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(PipelineError, match=rf"^p\.yaml is not valid YAML or JSON: .*{says}"):
        load_pipeline(tmp_path / "p.yaml")


def test_references_within_yaml_and_dates_are_fine(tmp_path: Path) -> None:
    text = "steps:\n  s: {value: [&a {x: 1}, {<<: *a, x: 2}, *a, 2025-03-31]}\n"
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    assert load_pipeline(tmp_path / "p.yaml").run_sync().value("s") == [
        {"x": 1},
        {"x": 2},
        {"x": 1},
        datetime.date(2025, 3, 31),
    ]


def test_json_may_be_indented_with_tabs(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{\n\t"steps": {"a": {"value": 1}}\n}', encoding="utf-8")
    assert load_pipeline(tmp_path / "p.json").run_sync().value("a") == 1


@pytest.mark.parametrize(("content", "says"), [(None, "the file: must be an object, is null"), ([], "is array")])
def test_a_definition_that_is_no_object_is_told_without_private_names(content: Any, says: str) -> None:
    with pytest.raises(PipelineError, match=says):
        build_definition(content)


def test_a_function_whose_module_ends_the_program_is_an_error_of_its_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaves_at_once.py").write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PipelineError, match=r"step 'a': .*SystemExit: 3 \(leaves_at_once\.py, line 2\)"):
        build({"a": {"function": "leaves_at_once:f"}})
