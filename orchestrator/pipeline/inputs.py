"""Run inputs: merging what the steps ask for, and checking what a run gives before anything starts."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import pydantic
from pydantic import ConfigDict, TypeAdapter

from ...catalog import ToolError
from ...catalog.arguments import validate_arguments
from ...catalog.errors import BindingError, InputError, did_you_mean
from .annotations import JsonType, Type, can_fit, type_text
from .steps import Input


def merge_inputs(
    asked: Mapping[str, list[tuple[str, Type, bool]]], declared: Mapping[str, Type] | None
) -> dict[str, Input]:
    """One `Input` for each name, from what every step asks for (step name to its inputs).

    Raises:
        BindingError: two steps ask for types that no value can have both of.
    """
    found: dict[str, tuple[list[Type], bool, list[str]]] = {}
    for name, declared_type in (declared or {}).items():
        found[name] = ([declared_type], False, [])
    for step, inputs in asked.items():
        for name, wanted, required in inputs:
            types, was_required, users = found.setdefault(name, ([], False, []))
            clash = next((one for one in types if not (can_fit(one, wanted) or can_fit(wanted, one))), None)
            if clash is not None:
                others = ", ".join(users) or "the declaration"
                raise BindingError(
                    f"input {name!r}: step {step!r} wants {type_text(wanted)}, {others} wants {type_text(clash)}; "
                    f"bind one of them to another input with run_input(...)"
                )
            if wanted not in types:
                types.append(wanted)
            if step not in users:
                users.append(step)
            found[name] = (types, was_required or required, users)
    return {name: Input(name, tuple(types), required, tuple(users)) for name, (types, required, users) in found.items()}


def check_inputs(inputs: Mapping[str, Input], given: Mapping[str, Any], *, declared: bool) -> tuple[str, ...]:
    """Refuses a run whose inputs are missing or ill-typed; returns the names that no step uses.

    A name that nobody uses is refused too when inputs were declared, or when it looks like a misspelt one.

    Raises:
        InputError: with every fault by name.
    """
    faults: dict[str, str] = {}
    for name, wanted in inputs.items():
        if name not in given:
            if wanted.required:
                users = f" (used by {', '.join(wanted.used_by)})" if wanted.used_by else ""
                faults[name] = f"is missing; {wanted.type} expected{users}"
            continue
        fault = next(filter(None, (_fault(name, given[name], one) for one in wanted.types)), "")
        if fault:
            faults[name] = fault
    absent = [name for name in inputs if name not in given]
    unused = tuple(name for name in given if name not in inputs)
    for name in unused:
        hint = did_you_mean(name, absent)
        if hint or declared:
            faults[name] = f"no step takes it{hint}"
    if faults:
        raise InputError(faults)
    return unused


def _fault(name: str, value: Any, wanted: Type) -> str:
    """What is wrong with `value`, "" when it is fine."""
    if isinstance(wanted, JsonType):
        try:
            validate_arguments({"type": "object", "properties": {name: dict(wanted.schema)}}, {name: value})
        except ToolError as error:
            return "; ".join(error.info.fields.values()) or error.info.message
        return ""
    adapter = _adapter(wanted)
    if adapter is None:
        return ""
    try:
        adapter.validate_python(value, strict=True)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"[{part!r}]" for part in first["loc"])
        return (
            f"{type_text(wanted)} expected, got {_short(value)} ({type(value).__name__}){': ' + where if where else ''}"
        )
    return ""


def _adapter(wanted: Type) -> TypeAdapter[Any] | None:
    try:
        return _cached_adapter(wanted)
    except TypeError:  # an annotation that cannot be hashed, such as Literal[[]]
        return _make_adapter(wanted)


def _make_adapter(wanted: Any) -> TypeAdapter[Any] | None:
    """A validator for the annotation, or None when pydantic can make nothing of it (then anything goes)."""
    try:
        return TypeAdapter(wanted, config=ConfigDict(arbitrary_types_allowed=True))
    except pydantic.errors.PydanticUserError as error:
        if error.code != "type-adapter-config-unused":
            return None
        return TypeAdapter(wanted)
    except NameError:
        return None


_cached_adapter = functools.lru_cache(maxsize=1024)(_make_adapter)


def _short(value: Any, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def input_from_text(wanted: Input, text: str) -> Any:
    """What a text typed at a command line means for an input: itself where text is wanted, else the JSON in it.

    Text that fits neither way comes back as it is, so that `check_inputs` can say what was expected.
    """
    if not any(_fault(wanted.name, text, one) for one in wanted.types):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if any(_fault(wanted.name, value, one) for one in wanted.types) else value
