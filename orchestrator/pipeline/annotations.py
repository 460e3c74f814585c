"""What types say about a binding: the type a reference points to, and whether a value of it can ever fit.

The rule is conservative: a binding is refused only when no value of the one type can be a value of the other (empty
containers apart, and a float never counts as an int).
"""

from __future__ import annotations

import collections.abc
import contextlib
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union, get_args

from pydantic import BaseModel, RootModel

from ...catalog import Degraded
from ...catalog.errors import BindingError, did_you_mean
from .outcomes import Missing
from .refs import PathPart


@dataclasses.dataclass(frozen=True, slots=True)
class JsonType:
    """A type given as a JSON Schema, for tools that are described rather than annotated.

    Attributes:
        schema: the schema, with the ``$defs`` that it refers to.
        as_argument: the schema of arguments whose only one, "value", has this type; made once, so that it is
            compiled once.
    """

    schema: Mapping[str, Any]
    as_argument: dict[str, Any] = dataclasses.field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        own = {key: part for key, part in self.schema.items() if key != "$defs"}
        whole = {"type": "object", "properties": {"value": own}}
        object.__setattr__(self, "as_argument", whole | {k: v for k, v in self.schema.items() if k == "$defs"})


Type = Any
"""A Python annotation or a `JsonType`; `Any` when nothing is known."""

_JSON_TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}
_NUMERIC_TOWER = ((int, float), (int, complex), (float, complex))
_CONTAINERS = (list, set, frozenset, dict, collections.abc.Sequence, collections.abc.Set, collections.abc.Mapping)
_PLAIN = ("builtins", "collections")
_UNIONS = (Union, types.UnionType)


def _origin(annotation: Any) -> Any:
    """`typing.get_origin`, typed as what it is: anything."""
    return typing.get_origin(annotation)


def parameters_of(function: Callable[..., Any]) -> tuple[dict[str, inspect.Parameter], dict[str, Type], Type]:
    """A function's parameters, the types of those that say one, and its return type.

    Raises:
        BindingError: the function has no readable signature, or takes ``*args``.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise BindingError(f"cannot read the signature of {function!r}: wrap it in a function of your own") from error
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            raise BindingError(f"{signature_name(function)} takes *{parameter.name}: values are bound by name")
    hints = _hints_of(function)
    return dict(signature.parameters), hints, hints.get("return", Any)


def signature_name(function: Callable[..., Any]) -> str:
    """How messages call a function."""
    return getattr(function, "__qualname__", None) or repr(function)


def _hints_of(function: Any) -> dict[str, Any]:
    """Type hints as far as they resolve; a name that only a type checker sees leaves its parameter untyped."""
    while hasattr(function, "func"):
        function = function.func
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError, AttributeError):
        pass
    hints: dict[str, Any] = {}
    with contextlib.suppress(NameError, TypeError, AttributeError):  # what has no annotations, or none that can be read
        names = getattr(inspect.unwrap(target), "__globals__", {})
        for name, annotation in target.__annotations__.items():
            alone = types.SimpleNamespace(__annotations__={name: annotation})
            with contextlib.suppress(NameError, TypeError, AttributeError):
                hints |= typing.get_type_hints(alone, globalns=names, include_extras=True)
    return hints


def output_type(returned: Type, *, awaited: bool) -> Type:
    """What a step puts out whose function is annotated to return `returned`.

    Args:
        returned: the annotation.
        awaited: whether an awaitable that the function returns is awaited.
    """
    returned = _strip(returned)
    members = get_args(returned) if _origin(returned) in _UNIONS else (returned,)
    if any(_strip(member) is Degraded for member in members):
        return Any  # the step puts out what is in it
    cls = _origin(returned)
    if awaited and isinstance(cls, type) and issubclass(cls, collections.abc.Awaitable):
        return get_args(returned)[-1] if get_args(returned) else Any
    return Any if awaited and returned is collections.abc.Awaitable else returned


def follow_type(produced: Type, path: tuple[PathPart, ...], what: str) -> Type:
    """The type at `path` inside `produced`, `Any` when it cannot be told.

    Raises:
        BindingError: the type is known and has no such part; `what` names the reference in the message.
    """
    for part in path:
        produced = _type_at(_strip(produced), part, what)
    return produced


def _type_at(produced: Type, part: PathPart, what: str) -> Type:
    if isinstance(produced, JsonType):
        return _schema_at(produced.schema, part, what)
    origin, arguments = _origin(produced), get_args(produced)
    if origin in _UNIONS or produced is Any:
        return Any
    cls = origin or produced
    if not isinstance(cls, type):
        return Any
    if isinstance(part, int):
        if issubclass(cls, str | bytes | int | float | Mapping) or issubclass(cls, BaseModel):
            raise BindingError(f"{what}: {_type_name(produced)} has no position {part}")
        if issubclass(cls, tuple) and arguments and Ellipsis not in arguments:
            if not -len(arguments) <= part < len(arguments):
                raise BindingError(f"{what}: {_type_name(produced)} has no position {part}")
            return arguments[part]
        return arguments[0] if len(arguments) >= 1 and issubclass(cls, collections.abc.Iterable) else Any
    fields = _fields_of(cls)
    if fields is not None:
        if part not in fields and not _may_have(cls, part):
            raise BindingError(f"{what}: {_type_name(cls)} has no field {part!r}{did_you_mean(part, fields)}")
        return fields.get(part, Any)
    if issubclass(cls, Mapping):
        return arguments[1] if len(arguments) == 2 else Any
    if issubclass(cls, str | bytes | int | float | list | tuple | set):
        raise BindingError(f"{what}: {_type_name(produced)} has no field {part!r}")
    return Any


def _may_have(record: type, attribute: str) -> bool:
    """Whether instances of a record type may have an attribute that is none of its fields."""
    if typing.is_typeddict(record):
        return False
    if issubclass(record, BaseModel):
        return hasattr(record, attribute) or record.model_config.get("extra") == "allow"
    return hasattr(record, attribute) or hasattr(record, "__getattr__")


def _fields_of(cls: type) -> dict[str, Type] | None:
    """Fields of a record type with their types, or None when `cls` is no record."""
    if issubclass(cls, BaseModel):
        return {name: field.annotation for name, field in cls.model_fields.items()}
    if dataclasses.is_dataclass(cls) or typing.is_typeddict(cls) or hasattr(cls, "_fields"):
        return _class_hints(cls)
    return None


def _class_hints(cls: type) -> dict[str, Type]:
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except (NameError, TypeError):
        return dict.fromkeys(getattr(cls, "__annotations__", {}), Any)


def _schema_at(schema: Mapping[str, Any], part: PathPart, what: str) -> Type:
    if isinstance(part, int):
        if schema.get("type") not in (None, "array") and not isinstance(schema.get("type"), list):
            raise BindingError(f"{what}: a value of type {schema['type']} has no position {part}")
        items = schema.get("items") if "prefixItems" not in schema else None
        return JsonType(items) if isinstance(items, Mapping) else Any
    if schema.get("type") not in (None, "object") and not isinstance(schema.get("type"), list):
        raise BindingError(f"{what}: a value of type {schema['type']} has no field {part!r}")
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return Any
    if part not in properties:
        if schema.get("additionalProperties") is False and not schema.get("patternProperties"):
            raise BindingError(f"{what}: there is no field {part!r}{did_you_mean(part, properties)}")
        return Any
    return JsonType(properties[part]) if isinstance(properties[part], Mapping) else Any


def can_fit(produced: Type, wanted: Type) -> bool:
    """Whether some value of type `produced` is acceptable where `wanted` is asked for."""
    if isinstance(wanted, JsonType):
        as_json = _json_form(produced)
        return can_fit(as_json, _python_form(wanted)) and not (as_json is bool and _is_numeric(wanted))
    produced, wanted = _strip(_python_form(produced)), _strip(wanted)
    if Any in (produced, wanted) or object in (produced, wanted) or Missing in (produced, wanted):
        return True
    if _origin(produced) in _UNIONS:
        return any(can_fit(member, wanted) for member in get_args(produced))
    if _origin(wanted) in _UNIONS:
        return any(can_fit(produced, member) for member in get_args(wanted))
    if _origin(produced) is Literal:
        return any(_value_fits(value, wanted) for value in get_args(produced))
    if _origin(wanted) is Literal:
        return any(_value_fits(value, produced) for value in get_args(wanted))
    return _classes_fit(produced, wanted)


def _is_numeric(wanted: JsonType) -> bool:
    return wanted.schema.get("type") in ("integer", "number")


def _value_fits(value: Any, wanted: Type) -> bool:
    if _origin(wanted) is Literal:
        return value in get_args(wanted)
    return can_fit(type(value), wanted)


def _classes_fit(produced: Type, wanted: Type) -> bool:
    one, other = _origin(produced) or produced, _origin(wanted) or wanted
    if typing.is_typeddict(one):
        one = dict
    if typing.is_typeddict(other):
        other = dict
    if not isinstance(one, type) or not isinstance(other, type):
        return True
    if _stands_for_others(one) or _stands_for_others(other):
        return True
    if any(issubclass(one, narrow) and other is wide for narrow, wide in _NUMERIC_TOWER):
        return True
    if inspect.isabstract(one) and inspect.isabstract(other):
        return True
    try:
        related = issubclass(one, other) or issubclass(other, one)
    except TypeError:
        return True
    return related and _arguments_fit(get_args(produced), get_args(wanted), one, other)


def _stands_for_others(cls: type) -> bool:
    """Whether `cls` describes values that need not be its instances: protocols, `typing.IO`, pydantic's `EmailStr`."""
    if getattr(cls, "_is_protocol", False) or cls.__module__ == "typing":
        return True
    return cls.__module__.startswith("pydantic.") and not issubclass(cls, BaseModel)


def _arguments_fit(produced: tuple[Type, ...], wanted: tuple[Type, ...], one: type, other: type) -> bool:
    """Whether element types agree, for the plain containers whose arguments mean their elements."""
    if not produced or len(produced) != len(wanted):
        return True
    for cls in (one, other):  # a class of the author's own may give its arguments any meaning
        if not issubclass(cls, _CONTAINERS) or issubclass(cls, tuple) or cls.__module__.split(".")[0] not in _PLAIN:
            return True
    return all(can_fit(left, right) for left, right in zip(produced, wanted, strict=True))


def _strip(annotation: Type) -> Type:
    """The annotation without wrappers that do not change what values are."""
    while True:
        if _origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif isinstance(annotation, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
            annotation = annotation.__value__
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif annotation is None:
            return type(None)
        elif annotation is inspect.Parameter.empty or isinstance(annotation, typing.TypeVar | str):
            return Any
        else:
            return annotation


def _python_form(given: Type) -> Type:
    """A JSON Schema as the Python type of the values it allows."""
    if not isinstance(given, JsonType):
        return given
    schema = given.schema
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        values = schema["enum"]
        return Literal[tuple(values)] if all(isinstance(value, str | int | bool) for value in values) else Any
    kind = schema.get("type")
    if isinstance(kind, list):
        return Union[tuple(_python_form(JsonType({**schema, "type": one})) for one in kind)] if kind else Any  # noqa: UP007
    python = _JSON_TYPES.get(kind) if isinstance(kind, str) else None
    if python is list and isinstance(schema.get("items"), Mapping):
        element = _python_form(JsonType(schema["items"]))
        return list[element]  # type: ignore[valid-type]
    return Any if python is None else python


def _json_form(annotation: Type) -> Type:
    """The type of `annotation`'s values once they are turned into JSON for a tool."""
    annotation = _strip(_python_form(annotation))
    origin, arguments = _origin(annotation), get_args(annotation)
    if origin in _UNIONS:
        return Union[tuple(_json_form(member) for member in arguments)]  # noqa: UP007
    cls = origin or annotation
    if not isinstance(cls, type) or cls is object or issubclass(cls, enum.Enum | RootModel | bytes | bytearray):
        return annotation if origin is Literal else Any
    if typing.is_typeddict(cls) or dataclasses.is_dataclass(cls) or issubclass(cls, Mapping | BaseModel):
        return dict
    if issubclass(cls, str | bool | int | float | type(None)):
        return annotation
    if issubclass(cls, list | tuple | set | frozenset | collections.abc.Sequence):
        homogeneous = len(arguments) == 1 or (len(arguments) == 2 and arguments[1] is Ellipsis)
        return list[_json_form(arguments[0])] if homogeneous else list  # type: ignore[misc]
    return Any


def _type_name(annotation: Type) -> str:
    return getattr(annotation, "__name__", None) or str(annotation)


def type_text(given: Type) -> str:
    """A type as a person would write it."""
    if isinstance(given, JsonType):
        return type_text(_python_form(given))
    given = _strip(given)
    if _origin(given) is None and isinstance(given, type):
        return given.__name__
    return str(given).replace("typing.", "")
