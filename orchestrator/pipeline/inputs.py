"""Run inputs: merging what the steps ask for, and checking what a run gives before anything starts."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, is_typeddict

import pydantic
from pydantic import ConfigDict, InstanceOf, TypeAdapter

from ...catalog import ToolError
from ...catalog.arguments import validate_arguments
from ...catalog.errors import BindingError, InputError, did_you_mean
from ..runtime.shaping import to_json_like
from .annotations import JsonType, Type, can_fit, type_text
from .steps import Input


def merge_inputs(
    asked: Mapping[str, list[tuple[str, Type, bool]]], declared: Mapping[str, Type] | None
) -> dict[str, Input]:
    """One `Input` for each name, from what every step asks for (step name to its inputs).

    Raises:
        BindingError: two steps ask for types that no value can have both of.
    """
    found: dict[str, _Merged] = {}
    for name, declared_type in (declared or {}).items():
        found[name] = _Merged([(declared_type, "the declaration")])
    for step, inputs in asked.items():
        for name, wanted, required in inputs:
            merged = found.setdefault(name, _Merged())
            for known, who in merged.types:
                if not (can_fit(known, wanted) or can_fit(wanted, known)):
                    raise BindingError(
                        f"input {name!r}: step {step!r} wants {type_text(wanted)}, {who} wants {type_text(known)}; "
                        f"bind one of them to another input with run_input(...)"
                    )
            if all(known != wanted for known, _ in merged.types):
                merged.types.append((wanted, step))
            if step not in merged.users:
                merged.users.append(step)
            merged.required |= required
    return {
        name: Input(name, tuple(one for one, _ in merged.types), merged.required, tuple(merged.users))
        for name, merged in found.items()
    }


@dataclass(slots=True)
class _Merged:
    """What has been asked of one input so far; each type with who asked first."""

    types: list[tuple[Type, str]] = field(default_factory=list)
    required: bool = False
    users: list[str] = field(default_factory=list)


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
        fault = next(filter(None, (value_fault(given[name], one) for one in wanted.types)), "")
        if fault:
            faults[name] = fault
    absent = [name for name in inputs if name not in given]
    unused = tuple(name for name in given if name not in inputs)
    for name in unused:
        if not isinstance(name, str):
            faults[repr(name)] = "is no name: names are text"
            continue
        hint = did_you_mean(name, absent)
        if hint or declared:
            faults[name] = f"no step takes it{hint}"
    if faults:
        raise InputError(faults)
    return unused


def value_fault(value: Any, wanted: Type) -> str:
    """What is wrong with `value` where `wanted` is asked for, "" when it is fine.

    Python types are checked strictly ("5" is no int). A schema is held against the value's JSON form, which is what
    a tool will get.
    """
    if isinstance(wanted, JsonType):
        try:
            validate_arguments(wanted.as_argument, {"value": to_json_like(value, what="the value")})
        except ToolError as error:
            faults = error.info.fields.items()
            return "; ".join(_placed(path, fault) for path, fault in faults) or error.info.message
        return ""
    if inspect.isclass(wanted) and issubclass(wanted, pydantic.BaseModel) and not isinstance(value, wanted):
        return f"{type_text(wanted)} expected, got {_short(value)} ({type(value).__name__})"  # pydantic takes a dict
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


def _placed(path: str, fault: str) -> str:
    """A fault of an argument called "value", with the place inside it."""
    inside = path.removeprefix("value").removeprefix(".")
    return f"{inside}: {fault}" if inside else fault


def _adapter(wanted: Type) -> TypeAdapter[Any] | None:
    try:
        return _cached_adapter(wanted)
    except TypeError:  # an annotation that cannot be hashed, such as Literal[[]]
        return _make_adapter(wanted)


def _make_adapter(wanted: Any) -> TypeAdapter[Any] | None:
    """A validator for the annotation; of a class that pydantic cannot look into, for being an instance of it.

    None when pydantic can make nothing of the annotation at all: then anything goes.
    """
    with contextlib.suppress(pydantic.errors.PydanticUserError, NameError):
        return TypeAdapter(wanted, config=ConfigDict(arbitrary_types_allowed=True))
    with contextlib.suppress(pydantic.errors.PydanticUserError, NameError):
        return TypeAdapter(wanted)  # records have a config of their own and refuse another
    if inspect.isclass(wanted):
        cls: Any = dict if is_typeddict(wanted) else wanted
        return TypeAdapter(InstanceOf[cls])
    return None


_cached_adapter = functools.lru_cache(maxsize=1024)(_make_adapter)


def _short(value: Any, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def input_from_text(wanted: Input, text: str) -> Any:
    """What a text typed at a command line means for an input: itself where text is wanted, else what it spells.

    That is the JSON in it, or a date, a path, a number and the like in the usual notation of its type. Text that fits
    in no way comes back as it is, so that `check_inputs` can say what was expected.
    """
    for reading in _readings(wanted, text):
        if not any(value_fault(reading, one) for one in wanted.types):
            return reading
    return text


def _readings(wanted: Input, text: str) -> Iterator[Any]:
    """What the text could stand for, most literal first."""
    yield text
    with contextlib.suppress(ValueError):
        yield json.loads(text)
    for one in wanted.types:
        adapter = None if isinstance(one, JsonType) else _adapter(one)
        if adapter is not None:
            with contextlib.suppress(pydantic.ValidationError):
                yield adapter.validate_strings(text)
