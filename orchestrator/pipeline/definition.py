"""Pipelines written down: the YAML or JSON form of what `PipelineBuilder` says in Python.

Example::

    name: incident
    catalog: tools.jsonl                  # a file, a folder or module:attribute
    inputs: {alert_id: string, hours: integer}
    policy: skip_and_report
    steps:
      alert:
        tool: alertdesk.get_alert
        with: {alert_id: {input: alert_id}}
      logs:
        tool: logs.search
        with: {service: {ref: alert.service}, limit: 50}
        retry: {attempts: 3, backoff: 0.5}
        fallback: [logs.search_archive, {value: [], note: no logs}]
        policy: continue_with_partial
      report:
        function: my_module:write_report
        with: {logs: {ref: logs}}
        after: [alert]

A step waits for the steps that it refers to, that its parameters are named after, and that `after` lists. In
`with`, ``{ref: …}`` and ``{input: …}`` are references and ``{value: …}`` is taken as it stands; anything else is a
plain value, in which references may be nested. A pipeline file can name Python functions: treat it as code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import pydantic
import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ...catalog import Catalog, load_catalog
from ...catalog.errors import CatalogError, PipelineError, SchemaError, ToolpathError
from ...catalog.json_values import MAX_DEPTH, MAX_VALUES, json_type
from ...catalog.schemas import check_schema
from ...catalog.sources.modules import load_object
from ...catalog.sources.text_files import parse_json
from ..runtime import Runtime
from .annotations import JsonType
from .building import compile_pipeline
from .outcomes import FallbackPolicy
from .pipeline import Pipeline
from .policies import Fallback, Level, Retry, Target, constant
from .refs import Ref, parse_path
from .steps import StepSpec


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class _Runs(_Strict):
    """What a step or a level runs: exactly one of the three."""

    tool: str | None = None
    function: str | None = None
    value: Any = None

    @model_validator(mode="after")
    def _exactly_one(self) -> _Runs:
        if len({"tool", "function", "value"} & self.model_fields_set) != 1:
            raise ValueError("give exactly one of tool, function and value")
        return self

    def target(self) -> Target:
        if self.tool is not None:
            return self.tool
        return _load_function(self.function) if self.function is not None else constant(self.value)


class _Level(_Runs):
    name: str | None = None
    confidence: float | None = Field(default=None, ge=0, le=1)
    note: str = ""


class _Retry(_Strict):
    """The numbers of a `Retry`; what is left out keeps the default there."""

    attempts: int | None = None
    backoff: float | None = None
    factor: float | None = None
    max_backoff: float | None = None
    jitter: float | None = None
    deadline: float | None = None


class _Step(_Runs):
    arguments: dict[str, Any] = Field(default_factory=dict, alias="with")
    after: list[str] = Field(default_factory=list)
    retry: _Retry | None = None
    fallback: list[str | _Level] = Field(default_factory=list)
    timeout: float | None = Field(default=None, gt=0)
    policy: FallbackPolicy | None = None


_StepName = Annotated[str, Field(pattern=r"^[\w-]+$")]  # without dots, or references could not be told apart


class _Definition(_Strict):
    name: str = "pipeline"
    catalog: str | None = None
    inputs: dict[str, str | dict[str, Any]] | None = None
    policy: FallbackPolicy = FallbackPolicy.SKIP_AND_REPORT
    timeout: float | None = Field(default=None, gt=0)
    limit: int | None = Field(default=None, ge=1)
    steps: dict[_StepName, _Step] = Field(min_length=1)


def load_pipeline(path: str | Path, *, catalog: Catalog | None = None, runtime: Runtime | None = None) -> Pipeline:
    """Reads a pipeline from a YAML or JSON file, or from ``module:attribute``.

    Args:
        path: the file (its `catalog` counts from its folder), or where a `Pipeline` is found in Python.
        catalog: used instead of the one that the file names.
        runtime: runs the tools.

    Raises:
        PipelineError: the file cannot be read, says something unknown, or does not build.
        CatalogError: its catalog cannot be loaded.
    """
    file = Path(path)
    if not file.is_file():
        if ":" in str(path):
            return _from_module(str(path))
        raise PipelineError(f"there is no pipeline file {str(path)!r}")
    return build_definition(read_document(file), source=file.name, folder=file.parent, catalog=catalog, runtime=runtime)


def read_document(file: Path) -> Any:
    """The value of a YAML or JSON file. A date that is not quoted is a date.

    Raises:
        PipelineError: it cannot be read, is neither, holds a key twice, or unfolds to something enormous.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
        content = parse_json(text) if file.suffix.lower() == ".json" else yaml.load(text, Loader=_Loader)
        _check_size(content)
    except OSError as error:
        raise PipelineError(f"{file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise PipelineError(
            f"{file.name} is not valid YAML or JSON: byte {error.start} is not UTF-8; save the file as UTF-8"
        ) from error
    except yaml.MarkedYAMLError as error:
        where = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        raise PipelineError(
            f"{file.name} is not valid YAML or JSON: {error.problem or error.context}{where}"
        ) from error
    except RecursionError as error:
        raise PipelineError(f"{file.name} is not valid YAML or JSON: nested too deeply") from error
    except (yaml.YAMLError, CatalogError, ValueError) as error:  # such as a day that does not exist
        raise PipelineError(f"{file.name} is not valid YAML or JSON: {error}") from error
    return content


class _Loader(yaml.SafeLoader):
    """Refuses a key that is there twice, where YAML would silently keep the last: a step would be lost."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    problem = f"the key {key.value!r} is there twice in one object"
                    raise yaml.composer.ComposerError(None, None, problem, key.start_mark)
                seen.add((key.tag, key.value))
        return node


def _check_size(content: Any) -> None:
    """Raises `ValueError` for what references within YAML unfold to something enormous, or to a circle."""
    waiting, seen = [(content, 1)], 0
    while waiting:
        value, depth = waiting.pop()
        seen += 1
        if seen > MAX_VALUES:
            raise ValueError(f"has more than {MAX_VALUES:,} values")
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
        if isinstance(value, dict):
            waiting += ((part, depth + 1) for part in value.values())
        elif isinstance(value, list):
            waiting += ((part, depth + 1) for part in value)


def build_definition(
    content: Any,
    *,
    source: str = "the definition",
    folder: Path | None = None,
    catalog: Catalog | None = None,
    runtime: Runtime | None = None,
) -> Pipeline:
    """Builds a pipeline from the content of a definition; see `load_pipeline`.

    Raises:
        PipelineError: it says something unknown, or does not build; the message starts with `source`.
    """
    try:
        definition = _Definition.model_validate(content)
        specs = [_spec(name, step) for name, step in definition.steps.items()]
        inputs = definition.inputs
        if catalog is None:
            catalog = _catalog(definition.catalog, folder, runtime)
        return compile_pipeline(
            definition.name,
            specs,
            catalog=catalog,
            runtime=runtime,
            declared=None if inputs is None else {name: _input_type(name, kind) for name, kind in inputs.items()},
            policy=definition.policy,
            limit=definition.limit,
            timeout=definition.timeout,
        )
    except pydantic.ValidationError as error:
        faults = "; ".join(_fault(item) for item in error.errors(include_url=False))
        raise PipelineError(f"{source}: {faults}") from error
    except (PipelineError, ValueError) as error:
        raise PipelineError(f"{source}: {error}") from error


def _fault(item: Mapping[str, Any]) -> str:
    where = ".".join(map(str, item["loc"])) or "the file"
    if item["type"] in ("model_type", "dict_type"):  # pydantic would name our private classes
        return f"{where}: must be an object, is {json_type(item['input'])}"
    return f"{where}: {str(item['msg']).removeprefix('Value error, ')}"


def _catalog(spec: str | None, folder: Path | None, runtime: Runtime | None) -> Catalog:
    if spec is None:
        return Catalog() if runtime is None else runtime.catalog
    beside = folder / spec if folder is not None else Path(spec)
    return load_catalog(str(beside) if beside.exists() else spec)


def _spec(name: str, step: _Step) -> StepSpec:
    try:
        bind = {parameter: _value(value) for parameter, value in step.arguments.items()}
        levels = [
            Level(level)
            if isinstance(level, str)
            else Level(level.target(), name=level.name, confidence=level.confidence, note=level.note)
            for level in step.fallback
        ]
        retry = None if step.retry is None else Retry(**step.retry.model_dump(exclude_none=True))
        target = step.target()
    except (ToolpathError, ValueError) as error:
        raise PipelineError(f"step {name!r}: {error}") from error
    return StepSpec(
        name=name,
        target=target,
        after=tuple(step.after),
        bind=bind,
        retry=retry,
        fallback=Fallback(*levels),
        timeout=step.timeout,
        policy=step.policy,
    )


def _value(value: Any) -> Any:
    """A value of `with`, its references made."""
    if isinstance(value, dict):
        if value.keys() == {"ref"} or value.keys() == {"input"}:
            (kind, text), *_ = value.items()
            return _reference(text, of_input=kind == "input")
        if value.keys() == {"value"}:
            return constant(value["value"])
        return {key: _value(part) for key, part in value.items()}
    return [_value(part) for part in value] if isinstance(value, list) else value


def _reference(text: Any, *, of_input: bool) -> Ref:
    if not isinstance(text, str) or not text:
        raise PipelineError(f"a reference must be text such as 'step.field[0]', got {text!r}")
    source, *path = parse_path(text)
    return Ref(str(source), tuple(path), of_input)


def _input_type(name: str, declared: str | dict[str, Any]) -> JsonType:
    if declared == "any":
        return JsonType({})
    given = JsonType({"type": declared} if isinstance(declared, str) else declared)
    try:
        check_schema(given.as_argument)
    except SchemaError as error:
        raise PipelineError(f"input {name!r} is neither a type, 'any' nor a JSON Schema: {error}") from error
    return given


def _load_function(spec: str) -> Callable[..., Any]:
    function = load_object(spec)
    if not callable(function):
        raise PipelineError(f"{spec} is not a function")
    return function  # type: ignore[no-any-return]


def _from_module(spec: str) -> Pipeline:
    found = load_object(spec)
    if not isinstance(found, Pipeline):
        raise PipelineError(f"{spec} is of type {type(found).__name__}, not a Pipeline")
    return found
