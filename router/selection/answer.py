"""The form in which a model answers, and reading an answer in that form, in spite of small slips."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

MAX_CALLS = 16
"""Calls in one answer; a model that wants more is going round in circles."""


MAX_ATTEMPTS = 500
"""Opening brackets of a text that are tried as the beginning of JSON."""


class AnsweredCall(BaseModel):
    """One call as the model wrote it; nothing is checked yet."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = ""
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    depends_on: tuple[str, ...] = ()


class Answer(BaseModel):
    """What the model answered."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: str = ""
    none_fits: bool = False
    calls: tuple[AnsweredCall, ...] = ()


class AnswerError(ValueError):
    """The model's text is no answer; the message says why, in words for the model."""


def answer_schema(names: Sequence[str]) -> dict[str, Any]:
    """The JSON Schema of an answer that may choose among the tools called `names`."""
    call = {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "tool": {"type": "string", "enum": list(names)},
            "arguments": {"type": "object", "additionalProperties": True},  # some servers take a bare object as empty
            "depends_on": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["id", "tool", "arguments", "depends_on"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "none_fits": {"type": "boolean"},
            "calls": {"type": "array", "items": call, "maxItems": MAX_CALLS},
        },
        "required": ["reason", "none_fits", "calls"],
        "additionalProperties": False,
    }


def read_answer(text: str) -> Answer:
    """The answer in a model's text.

    Besides the agreed object it takes what models write instead: the object inside other text or a code block, a
    single call ``{"name": ..., "arguments": ...}``, or several of them, in a list or one after the other.

    Raises:
        AnswerError: there is no such JSON in the text.
    """
    values = [found for value in json_values(text) for found in (value if isinstance(value, list) else [value])]
    objects = [value for value in values if isinstance(value, dict)]
    for value in objects:
        if "calls" in value or "none_fits" in value:
            return _validated({"reason": "", **value})
    calls = [_as_call(value) for value in objects if "name" in value or "tool" in value]
    if calls:
        return _validated({"calls": calls})
    raise AnswerError("the answer is not the JSON object that was asked for")


def _as_call(value: dict[str, Any]) -> dict[str, Any]:
    arguments = value.get("arguments", value.get("parameters", {}))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError as error:
            raise AnswerError(f"the arguments of {value.get('name')!r} are not JSON: {error}") from error
    return {"tool": value.get("tool", value.get("name")), "arguments": arguments}


def _validated(value: dict[str, Any]) -> Answer:
    value = {key: content for key, content in value.items() if content is not None}
    try:
        answer = Answer.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(step) for step in first["loc"])
        raise AnswerError(f"{place}: {first['msg']}") from error
    if len(answer.calls) > MAX_CALLS:
        raise AnswerError(f"{len(answer.calls)} calls are too many; {MAX_CALLS} are allowed")
    if answer.none_fits and answer.calls:
        raise AnswerError("none_fits is true, but there are calls; one of the two is wrong")
    if not answer.none_fits and not answer.calls:
        raise AnswerError("there are no calls, but none_fits is false; one of the two is wrong")
    return answer


def json_values(text: str) -> Iterator[Any]:
    """The JSON objects and lists in `text`, outermost ones, in order."""
    decoder = json.JSONDecoder()
    at = 0
    for _ in range(MAX_ATTEMPTS):
        starts = [place for place in (text.find("{", at), text.find("[", at)) if place >= 0]
        if not starts:
            return
        at = min(starts)
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
        else:
            yield value
