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
      hosts: {tool: hosts.check, over: {ref: alert.hosts}, each: host, limit: 5}
      search: {primary: google_search, fallback_1: bing_search, fallback_2: {value: [], note: no search today}}
      page:
        tool: pager.page
        when: {ref: alert.severity, at_least: 3}
      status: {race: [status.primary, status.mirror], stagger: 0.5}
      checks: {pipeline: checks.yaml, join: all_done, after: [logs, status]}
      report:
        function: my_module:write_report
        with: {logs: {ref: logs}}
        after: [alert]

A step waits for the steps that it refers to, that its parameters are named after, and that `after` lists. In
`with`, ``{ref: …}`` and ``{input: …}`` are references and ``{value: …}`` is taken as it stands; anything else is a
plain value, in which references may be nested. A pipeline file can name Python functions: treat it as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pydantic

from ...catalog import Catalog, ErrorCategory, ErrorInfo, load_catalog
from ...catalog.errors import ERROR_TABLE, PipelineError, SchemaError, ToolpathError, did_you_mean
from ...catalog.json_values import json_type
from ...catalog.schemas import check_schema
from ...catalog.sources.modules import load_object
from ..runtime import Budget, Limit, Runtime
from .annotations import JsonType
from .building import compile_pipeline
from .conditions import OPERATORS, Comparison, Otherwise, When
from .definition_schema import AtLeast, Definition, LevelModel, Runs, StepModel
from .documents import Document, read_document
from .model_knowledge import ask_model
from .outcomes import as_join, at_least
from .pipeline import Pipeline
from .policies import Fallback, Level, Retry, Target, Timeout, constant, may_fall_back, stale
from .refs import Ref, parse_path
from .steps import Form, Items, StepSpec


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
    return _load_file(file, catalog, runtime, ())


def _load_file(
    file: Path,
    catalog: Catalog | None,
    runtime: Runtime | None,
    within: tuple[Path, ...],
    around: Catalog | None = None,
) -> Pipeline:
    """Loads a file that the files `within` have led to, outermost first.

    Tools are looked up in `catalog`; without it in the one that the file names; without that in the one `around` it.
    """
    here = file.resolve()
    if here in within:
        circle = " -> ".join(path.name for path in (*within[within.index(here) :], here))
        raise PipelineError(f"pipeline files contain each other: {circle}")
    document = read_document(file)
    return _Builder(file.name, file.parent, catalog, runtime, (*within, here), around).build(document)


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
    return _Builder(source, folder, catalog, runtime, ()).build(Document(content))


class _Builder:
    """Turns one definition into a pipeline, and every complaint into one that says where."""

    def __init__(
        self,
        source: str,
        folder: Path | None,
        catalog: Catalog | None,
        runtime: Runtime | None,
        within: tuple[Path, ...],
        around: Catalog | None = None,
    ) -> None:
        self._source = source
        self._folder = folder
        self._catalog = catalog
        self._runtime = runtime
        self._within = within
        self._around = around

    def build(self, document: Document) -> Pipeline:
        try:
            definition = Definition.model_validate(document.content)
            if self._catalog is None:
                named = definition.catalog is not None or self._around is None
                self._around = _catalog(definition.catalog, self._folder, self._runtime) if named else self._around
            catalog = self._catalog if self._catalog is not None else self._around
            assert catalog is not None  # one of the two was given, or loaded just now
            specs = [self._spec(name, step) for name, step in definition.steps.items()]
            inputs = definition.inputs
            return compile_pipeline(
                definition.name,
                specs,
                catalog=catalog,
                runtime=self._runtime,
                declared=None if inputs is None else {name: _input_type(name, kind) for name, kind in inputs.items()},
                policy=definition.policy,
                limit=definition.limit,
                timeout=definition.timeout,
                budget=None if definition.budget is None else Budget(**definition.budget.model_dump()),
                call_limit=None if definition.call_limit is None else Limit(**definition.call_limit.model_dump()),
            )
        except pydantic.ValidationError as error:
            faults = "; ".join(_fault(item, document) for item in error.errors(include_url=False))
            raise PipelineError(f"{self._source}: {faults}") from error
        except (PipelineError, ValueError) as error:
            raise PipelineError(f"{self._source}{_line_of_step(str(error), document)}: {error}") from error

    def _spec(self, name: str, step: StepModel) -> StepSpec:
        try:
            if step.race is not None:
                target, *levels = (self._level(level) for level in step.race)
            else:
                target, levels = Level(self._target(step)), [self._level(level) for level in step.fallback]
            return StepSpec(
                name=name,
                target=target.target,
                after=tuple(step.after),
                bind={parameter: _value(value) for parameter, value in step.arguments.items()},
                retry=None if step.retry is None else Retry(**step.retry.model_dump(exclude_none=True)),
                fallback=Fallback(*levels),
                timeout=Timeout(step.timeout, step.idle) if step.timeout or step.idle else None,
                policy=step.policy,
                form=Form.RACE if step.race is not None else Form.MAP if _goes_over(step) else Form.CHAIN,
                join=at_least(step.join.at_least) if isinstance(step.join, AtLeast) else as_join(step.join),
                when=None if step.when is None else _condition(step.when),
                items=Items(_value(step.over), step.each, step.limit, step.items) if _goes_over(step) else None,
                stagger=step.stagger,
                undo=None if step.undo is None else _load_function(step.undo),
                process=step.process,
            )
        except (ToolpathError, ValueError) as error:
            raise PipelineError(f"step {name!r}: {error}") from error

    def _level(self, level: str | LevelModel) -> Level:
        if isinstance(level, str):
            return Level(level)
        accepts = may_fall_back if level.errors is None else _one_of(level.errors)
        target = self._target(level) if level.stale is None else stale(level.stale)
        return Level(target, name=level.name, confidence=level.confidence, note=level.note, on=accepts)

    def _target(self, runs: Runs) -> Target:
        if runs.tool is not None:
            return runs.tool
        if runs.function is not None:
            return _load_function(runs.function)
        if runs.prompt is not None and runs.model is not None:
            return ask_model(runs.model, runs.prompt)
        return self._pipeline(runs.pipeline) if runs.pipeline is not None else constant(runs.value)

    def _pipeline(self, spec: str) -> Pipeline:
        file = Path(spec) if self._folder is None else self._folder / spec
        if file.is_file():
            return _load_file(file, self._catalog, self._runtime, self._within, self._around)
        if ":" in spec:
            return _from_module(spec)
        raise PipelineError(f"there is no pipeline file {spec!r}")


def _goes_over(step: StepModel) -> bool:
    return "over" in step.model_fields_set


_STEP_OF_MESSAGE = re.compile(r"step '([\w-]+)'")


def _line_of_step(message: str, document: Document) -> str:
    """Where the step that a message names stands in the file."""
    named = _STEP_OF_MESSAGE.search(message)
    line = document.line(("steps", named[1])) if named is not None else None
    return "" if line is None else f", line {line}"


def _fault(item: Mapping[str, Any], document: Document) -> str:
    place = ".".join(map(str, item["loc"])) or "the file"
    line = document.line(item["loc"])
    where = place if line is None else f"line {line}, {place}"
    if item["type"] in ("model_type", "dict_type"):  # pydantic would name our private classes
        return f"{where}: must be an object, is {json_type(item['input'])}"
    return f"{where}: {str(item['msg']).removeprefix('Value error, ')}"


def _catalog(spec: str | None, folder: Path | None, runtime: Runtime | None) -> Catalog:
    if spec is None:
        return Catalog() if runtime is None else runtime.catalog
    beside = folder / spec if folder is not None else Path(spec)
    return load_catalog(str(beside) if beside.exists() else spec)


def _one_of(names: list[ErrorCategory | str]) -> Callable[[ErrorInfo], bool]:
    """Whether a failure is of one of these categories or types.

    Raises:
        PipelineError: there is no such category or type.
    """
    known = [*ErrorCategory, *ERROR_TABLE]
    wanted = frozenset(map(str, names))
    for name in sorted(wanted - frozenset(map(str, known))):
        raise PipelineError(f"errors: there is no kind of failure {name!r}{did_you_mean(name, map(str, known))}")
    return lambda info: str(info.category) in wanted or info.error_type in wanted


def _condition(written: str | dict[str, Any]) -> When:
    if isinstance(written, str):
        return _reference(written, of_input=False)
    if written.keys() == {"not"}:
        inner = _condition(written["not"])
        return inner.condition if isinstance(inner, Otherwise) else Otherwise(inner)
    if written.keys() == {"function"}:
        return _load_function(written["function"])
    source = [key for key in ("ref", "input") if key in written]
    rest = [key for key in written if key not in ("ref", "input")]
    if len(source) != 1 or len(rest) > 1:
        raise PipelineError(
            f"when: give ref or input and at most one of {', '.join(OPERATORS)}; or function; or not; got {written!r}"
        )
    looked_at = _reference(written[source[0]], of_input=source == ["input"])
    return Comparison(looked_at, rest[0], _value(written[rest[0]])) if rest else looked_at


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
