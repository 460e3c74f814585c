"""A tool call that somebody proposes, and the result that comes back: the two records that every part passes on."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .errors import ErrorInfo, ToolError


class ArgumentOrigin(StrEnum):
    """Who filled in the arguments of a call."""

    CALLER = "caller"
    MODEL = "model"
    EXTRACTED = "extracted"


def new_call_id() -> str:
    """A fresh id such as ``"call_3f9a1c0b7d24"``."""
    return f"call_{uuid.uuid4().hex[:12]}"


class ToolCall(BaseModel):
    """A proposal to run one tool; nothing has happened yet.

    Attributes:
        tool: the tool's name.
        arguments: argument name to JSON value.
        call_id: unique within a run; a retry of the call keeps it.
        depends_on: ids of calls in the same selection whose results this one needs first.
        origin: who filled in the arguments. `EXTRACTED` values were read from the request's text by
            their type alone and deserve a second look.
        missing: required parameters that nobody could fill.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    call_id: str = Field(default_factory=new_call_id)
    depends_on: tuple[str, ...] = ()
    origin: ArgumentOrigin = ArgumentOrigin.CALLER
    missing: tuple[str, ...] = ()


class ToolResult(BaseModel):
    """What came of one tool call: either `data` or `error`.

    Attributes:
        ok: whether the tool did what was asked.
        tool: the tool that answered.
        call_id: the call's id.
        summary: one line for a person or a model, "" when there is nothing to add to the data.
        data: the value, JSON-like where the tool allows.
        error: what went wrong, when `ok` is false.
        degraded: the answer is second-best (a fallback, a stale value).
        confidence: 1.0 for a full answer, less for a degraded one; an order, not a probability.
        note: what is second-best about it, e.g. ``"cached 14 minutes ago"``.
        metadata: elapsed_ms, truncated and whatever the tool adds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ok: bool
    tool: str
    call_id: str
    summary: str = ""
    data: Any = None
    error: ErrorInfo | None = None
    degraded: bool = False
    confidence: float = Field(default=1.0, ge=0, le=1)
    note: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _either_data_or_error(self) -> ToolResult:
        if self.ok == (self.error is not None):
            raise ValueError("a result carries an error exactly when ok is false")
        return self

    def to_model(self) -> dict[str, Any]:
        """The flat JSON object that a model is shown: no empty fields, errors as in `ErrorInfo`."""
        shown: dict[str, Any] = {"ok": self.ok, "tool": self.tool, "call_id": self.call_id}
        if self.error is not None:
            details = self.error.model_dump(mode="json")
            always = ("error_type", "category", "message", "retry", "retryable")
            return shown | {key: value for key, value in details.items() if key in always or value}
        if self.summary:
            shown["summary"] = self.summary
        shown["data"] = self.data
        if self.degraded:
            shown |= {"degraded": True, "confidence": self.confidence, "note": self.note}
        return shown | ({"metadata": self.metadata} if self.metadata else {})

    def unwrap(self) -> Any:
        """The data of a result that is ok.

        Raises:
            ToolError: the call failed.
        """
        if self.error is not None:
            raise ToolError.from_info(self.error)
        return self.data


@dataclass(frozen=True, slots=True)
class Degraded:
    """What a function or a tool returns to say that its answer is second-best.

    Attributes:
        value: the answer.
        note: what is second-best about it, e.g. ``"cached 14 minutes ago"``.
        confidence: 0 to 1; an order among answers, not a probability.
    """

    value: Any
    note: str
    confidence: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.confidence <= 1:
            raise ValueError(f"confidence must lie between 0 and 1, got {self.confidence!r}")
