"""What a tool is: a frozen description that models read and people govern, with an optional handler that runs it."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from .errors import CatalogError
from .json_values import json_fault
from .schemas import Schema, check_schema, normalise_parameters

MAX_NAME_LENGTH = 256


class Permission(StrEnum):
    """How much trust a call of the tool asks for. `None` on a tool means that nobody has said."""

    SAFE_READ = "safe_read"
    SENSITIVE_READ = "sensitive_read"
    LOW_RISK_WRITE = "low_risk_write"
    HIGH_RISK_WRITE = "high_risk_write"


class SideEffect(StrEnum):
    """What a call leaves behind. `None` on a tool means that nobody has said."""

    NONE = "none"
    WRITE = "write"
    DELETE = "delete"
    SPEND = "spend"
    COMMUNICATE = "communicate"
    COMPUTE = "compute"


class Trust(StrEnum):
    """Whether text that the tool returns may be taken at its word."""

    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"


class RateLimit(BaseModel):
    """At most `calls` calls in any window of `per` seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    calls: int = Field(ge=1)
    per: float = Field(gt=0, allow_inf_nan=False)


class Deprecation(BaseModel):
    """A tool on its way out: since when, until when, and what takes its place."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    since: dt.date | None = None
    until: dt.date | None = None
    replacement: str | None = None
    note: str = ""


class Original(BaseModel):
    """The entry of a foreign tool list as it was read, so that writing the same shape again loses nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shape: str
    entry: dict[str, Any]

    @field_validator("entry")
    @classmethod
    def _entry_is_json(cls, entry: dict[str, Any]) -> dict[str, Any]:
        return _checked_json(entry)


class Tool(BaseModel):
    """One callable tool, as the router, the model and the runtime see it.

    Attributes:
        name: unique in its catalog. A dot may separate a server's name from the tool's (``"github.list_issues"``).
        description: what it does, when to use it and when not; the model reads nothing else about it.
        parameters: JSON Schema of type object; normalised when the tool is made.
        returns: JSON Schema of the result, or None when unknown.
        examples: requests, in users' words, that this tool serves.
        category: coarse group that the intent rules narrow to.
        tags: finer labels.
        aliases: other names under which the catalog finds it.
        server: where it comes from when several servers feed one catalog.
        permission: how dangerous a call is; None: not declared.
        side_effect: what a call leaves behind; None: not declared.
        idempotent: whether the same call twice does no more than once; None: not declared.
        timeout: seconds that one attempt may take; None: the runtime's default.
        cache_ttl: seconds for which a result may be reused; None: never.
        rate_limit: calls per window; None: unlimited.
        fallbacks: names of tools that may serve instead, best first.
        depends_on: names of tools whose output this one usually needs.
        touches: names, tags, categories or servers of tools whose earlier results a call makes outdated.
        environments: where it exists (``("development",)``); empty: everywhere.
        owner: person or team that answers for it.
        version: version of the tool's interface.
        deprecation: set when it is on its way out.
        source: where the definition came from (a file, a module, a server), for error messages.
        trust: whether the text it returns may be taken at its word.
        metadata: keys of the source entry that Toolpath has no field for; kept, not used.
        original: the foreign entry as read, kept for writing back.
        handler: the function behind it (sync or async, called with the arguments by name), or None.

    Raises:
        pydantic.ValidationError: a field is unknown or ill-typed, or the name is empty, too long or unprintable.
        SchemaError: `parameters` or `returns` is not a usable JSON Schema.

    Example:
        >>> Tool(name="search_text", description="Search the project's files.",
        ...      parameters={"properties": {"query": {"type": "string"}}, "required": ["query"]}).parameters["type"]
        'object'
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    name: str
    description: str = ""
    parameters: Schema = Field(default_factory=dict, validate_default=True)
    returns: Schema | None = None
    examples: tuple[str, ...] = ()
    category: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    server: str | None = None
    permission: Permission | None = None
    side_effect: SideEffect | None = None
    idempotent: bool | None = None
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    cache_ttl: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    rate_limit: RateLimit | None = None
    fallbacks: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    owner: str | None = None
    version: str | None = None
    deprecation: Deprecation | None = None
    source: str | None = None
    trust: Trust = Trust.TRUSTED
    metadata: dict[str, Any] = Field(default_factory=dict)
    original: Original | None = Field(default=None, repr=False)
    handler: Callable[..., Any] | None = Field(default=None, exclude=True, repr=False)

    @field_validator("name")
    @classmethod
    def _name_is_printable(cls, name: str) -> str:
        return _checked_name(name)

    @field_validator("aliases")
    @classmethod
    def _aliases_are_printable(cls, aliases: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_checked_name(alias) for alias in aliases)

    @field_validator("parameters", mode="before")
    @classmethod
    def _normalise_parameters(cls, parameters: Any) -> Any:
        return normalise_parameters(parameters) if isinstance(parameters, dict) else parameters

    @field_validator("metadata")
    @classmethod
    def _metadata_is_json(cls, metadata: dict[str, Any]) -> dict[str, Any]:
        return _checked_json(metadata)

    @field_validator("returns")
    @classmethod
    def _check_returns(cls, returns: Schema | None) -> Schema | None:
        if returns is not None:
            check_schema(returns)
        return returns

    def with_handler(self, handler: Callable[..., Any]) -> Tool:
        """The same tool, run by `handler`."""
        return self.model_copy(update={"handler": handler})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the handler, so that a decorated function is still a function (a coroutine when it is async).

        Raises:
            CatalogError: the tool has no handler.
        """
        if self.handler is None:
            raise CatalogError(
                f"the tool {self.name!r} is only described, nothing runs it; give it a function with "
                "Tool.with_handler or Catalog.bind"
            )
        return self.handler(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self.name)


def _checked_name(name: str) -> str:
    if not name or name != name.strip():
        raise ValueError("must not be empty or start or end with white space")
    if len(name) > MAX_NAME_LENGTH:
        raise ValueError(f"must have at most {MAX_NAME_LENGTH} characters, has {len(name)}")
    if any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") for char in name):
        raise ValueError("must not contain control or invisible characters")
    return name


def _checked_json(value: dict[str, Any]) -> dict[str, Any]:
    fault = json_fault(value)
    if fault is not None:
        raise ValueError(f"at {fault.path!r}: {fault.reason}" if fault.path else fault.reason)
    return value
