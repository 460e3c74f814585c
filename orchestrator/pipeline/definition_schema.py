"""What a pipeline file may say: one model for each kind of object in it, and the JSON Schema that is published."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ...catalog import ErrorCategory
from .conditions import OPERATORS
from .outcomes import FallbackPolicy


class Strict(BaseModel):
    """Says no to what it does not know."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Runs(Strict):
    """What a step or a level runs: exactly one of these."""

    tool: str | None = Field(default=None, description="the name of a tool in the catalog")
    function: str | None = Field(default=None, description="a Python function, module:name")
    value: Any = Field(default=None, description="a fixed answer")
    pipeline: str | None = Field(default=None, description="another pipeline: a file beside this one, or module:name")
    prompt: str | None = Field(
        default=None, description="what a language model is asked; names in braces are parameters, as of a function"
    )
    model: str | None = Field(default=None, description="of a prompt, such as openai:gpt-5-mini")

    @model_validator(mode="after")
    def _exactly_one(self) -> Runs:
        if (
            len({"tool", "function", "value", "pipeline", "prompt"} & self.model_fields_set) + self.runs_otherwise()
            != 1
        ):
            raise ValueError(f"give exactly one of {self.choices()}")
        if ("prompt" in self.model_fields_set) != ("model" in self.model_fields_set):
            raise ValueError("prompt and model belong together")
        return self

    def choices(self) -> str:
        """What may be given, in words."""
        return "tool, function, pipeline, prompt and value"

    def runs_otherwise(self) -> int:
        """How many other things say what it runs."""
        return 0


class LevelModel(Runs):
    """One level of a fallback chain. (`errors` is `Level.on`: to YAML, a bare ``on`` is the value true.)"""

    stale: float | None = Field(
        default=None, gt=0, description="a kept result of the step's tool that is not older than so many seconds"
    )
    name: str | None = None
    confidence: float | None = Field(default=None, ge=0, le=1)
    note: str = ""
    errors: list[ErrorCategory | str] | None = Field(
        default=None,
        description="which failures of the level before may come here: categories or error types; "
        "by default all but missing permissions and tripped guards",
    )

    def runs_otherwise(self) -> int:
        """A kept result is a way to say it, too."""
        return int(self.stale is not None)

    def choices(self) -> str:
        """What may be given, in words."""
        return "tool, function, pipeline, prompt, stale and value"


class RetryModel(Strict):
    """The numbers of a `Retry`; what is left out keeps the default there."""

    attempts: int | None = None
    backoff: float | None = None
    factor: float | None = None
    max_backoff: float | None = None
    jitter: float | None = None
    deadline: float | None = None


class AtLeast(Strict):
    """A join that needs so many."""

    at_least: int = Field(ge=1)


class StepModel(Runs):
    """One step."""

    arguments: dict[str, Any] = Field(default_factory=dict, alias="with")
    after: list[str] = Field(default_factory=list)
    retry: RetryModel | None = None
    fallback: list[str | LevelModel] = Field(default_factory=list)
    timeout: float | None = Field(default=None, gt=0, description="seconds for one attempt")
    idle: float | None = Field(default=None, gt=0, description="seconds that an attempt may give no sign of life")
    policy: FallbackPolicy | None = None
    when: str | dict[str, Any] | None = Field(
        default=None,
        description="a step whose output must be something; {ref: …} or {input: …}, alone or with one comparison "
        f"({', '.join(OPERATORS)}); {{function: module:name}}; or {{not: …}} around one of these",
    )
    join: Literal["all", "any", "all_done"] | AtLeast = "all"
    over: Any = Field(default=None, description="a list, or {ref: …} or {input: …}: the step runs for each item")
    each: str | None = Field(default=None, description="the parameter that gets the item")
    limit: int | None = Field(default=None, ge=1, description="items at the same time")
    items: FallbackPolicy = FallbackPolicy.SKIP_AND_REPORT
    race: list[str | LevelModel] | None = Field(default=None, min_length=1)
    stagger: float = Field(default=0, ge=0, description="seconds between the starts of a race")
    undo: str | None = Field(
        default=None,
        description="a function, module:name, that takes back what the step has done, if the run is abandoned",
    )
    process: bool = Field(default=False, description="run synchronous functions in a process of their own")

    def runs_otherwise(self) -> int:
        """A race is a way to say it, too."""
        return int(self.race is not None)

    @model_validator(mode="before")
    @classmethod
    def _chain(cls, given: Any) -> Any:
        """The degradation chain in the form ``{primary: …, fallback_1: …, fallback_2: …}``."""
        if not isinstance(given, dict) or "primary" not in given:
            return given
        numbered = {int(found[1]): key for key in given if (found := re.fullmatch(r"fallback_(\d+)", str(key)))}
        if [*sorted(numbered)] != [*range(1, len(numbered) + 1)]:
            there = ", ".join(numbered[number] for number in sorted(numbered))
            raise ValueError(f"the levels after primary are fallback_1, fallback_2 and so on; there are {there}")
        primary, levels = given["primary"], [given[numbered[number]] for number in sorted(numbered)]
        if levels and "fallback" in given:
            raise ValueError("give either fallback or fallback_1, fallback_2 and so on")
        rest = {key: value for key, value in given.items() if key != "primary" and key not in numbered.values()}
        rest |= {"tool": primary} if isinstance(primary, str) else dict(primary) if isinstance(primary, dict) else {}
        return rest | ({"fallback": levels} if levels else {})

    @model_validator(mode="after")
    def _options_of_its_kind(self) -> StepModel:
        """What belongs to one kind of step is refused at the others, where it would do nothing."""
        given = self.model_fields_set
        if "over" not in given and given & {"each", "limit", "items"}:
            raise ValueError(f"{', '.join(sorted(given & {'each', 'limit', 'items'}))}: only of a step with over")
        if self.race is None and "stagger" in given:
            raise ValueError("stagger: only of a step with race")
        if self.race is not None and given & {"fallback", "over"}:
            raise ValueError("a race has neither fallback nor over: all of them are its targets")
        return self


class BudgetModel(Strict):
    """What the tool calls of a run may spend."""

    calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    money: float | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)


class LimitModel(Strict):
    """How often a run calls tools."""

    calls: int | None = Field(default=None, ge=1)
    per: float = Field(default=1.0, gt=0, description="seconds")
    concurrent: int | None = Field(default=None, ge=1)


StepName = Annotated[str, Field(pattern=r"^[\w-]+$")]  # without dots, or references could not be told apart


class Definition(Strict):
    """A pipeline file."""

    name: str = "pipeline"
    catalog: str | None = Field(default=None, description="a file, a folder or module:attribute")
    inputs: dict[str, str | dict[str, Any]] | None = None
    policy: FallbackPolicy = FallbackPolicy.SKIP_AND_REPORT
    timeout: float | None = Field(default=None, gt=0)
    limit: int | None = Field(default=None, ge=1)
    budget: BudgetModel | None = None
    call_limit: LimitModel | None = None
    steps: dict[StepName, StepModel] = Field(min_length=1)


def pipeline_schema() -> dict[str, Any]:
    """The JSON Schema of pipeline files, for editors and for models that write them.

    Example:
        >>> pipeline_schema()["title"]
        'Toolpath pipeline'
    """
    schema = Definition.model_json_schema()
    step = schema["$defs"]["StepModel"]
    level = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/LevelModel"}]}
    step["properties"]["primary"] = level | {"description": "what serves first; fallback_1, fallback_2, … follow"}
    step["patternProperties"] = {r"^fallback_[1-9]\d*$": level}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema | {"title": "Toolpath pipeline"}
