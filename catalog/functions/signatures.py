"""From a typed function to the schema of its parameters, and from JSON arguments to what its annotations want."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Optional

import pydantic_core
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PydanticSchemaGenerationError,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from ..errors import SignatureError, ToolError
from ..json_values import json_fault, json_path
from ..schemas.keywords import Schema

_UNDESCRIBABLE = (PydanticSchemaGenerationError, PydanticUserError)


class Signature:
    """The parameters of a function that a model may fill in.

    Args:
        function: what is called; a `functools.partial` hides the arguments that it binds.
        name: how messages call the function.
        namespace: names for annotations that the function's module does not know.

    Raises:
        SignatureError: the parameters cannot be described: variadic or positional-only ones, a type without a JSON
            form, an annotation that names nothing. The message names the parameter.
    """

    def __init__(self, function: Callable[..., Any], name: str, namespace: Mapping[str, Any]) -> None:
        self._name = name
        self._hints = _resolved_hints(function, name, namespace)
        self._parameters = _fillable_parameters(function, name)
        self._python_signature = inspect.signature(function)
        fields = {f"p{index}": self._field(parameter) for index, parameter in enumerate(self._parameters)}
        try:
            # Neutral field names: a parameter may be called "schema" or "_x", which pydantic keeps for itself.
            self._model: type[BaseModel] = create_model(
                name, __config__=ConfigDict(extra="forbid"), **typing.cast(Any, fields)
            )
            self.parameters = self._described()
        except _UNDESCRIBABLE as error:
            raise self._undescribable(error) from None
        self._names = [(f"p{index}", parameter.name) for index, parameter in enumerate(self._parameters)]
        # A default that is a pydantic Field is no value: what it stands for has to be passed.
        self._always = {f"p{i}" for i, p in enumerate(self._parameters) if isinstance(p.default, FieldInfo)}

    def returns(self) -> Schema | None:
        """Schema of what the function returns, or None when the annotation is missing or has no JSON form."""
        hint = self._hints.get("return", Any)
        if hint is Any:
            return None
        try:
            return _schema_of(hint, "serialization")
        except _UNDESCRIBABLE:
            return None

    def values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, each as its annotation wants it; what was not passed is left out.

        Raises:
            ToolError: of type validation_error; a value cannot be made into what the annotation wants.
            TypeError: too many positional arguments, or one given twice.
        """
        if args:
            kwargs = dict(self._python_signature.bind_partial(*args, **kwargs).arguments)
        try:
            read = self._model.__pydantic_validator__.validate_python(kwargs)
        except ValidationError as error:
            raise self._refused(error) from None
        passed, values = read.__pydantic_fields_set__ | self._always, read.__dict__
        return {name: values[field] for field, name in self._names if field in passed}

    def _field(self, parameter: inspect.Parameter) -> tuple[Any, Any]:
        hint = self._hints.get(parameter.name, Any)
        alias: dict[str, Any] = {"alias": parameter.name, "validation_alias": parameter.name}
        if isinstance(parameter.default, FieldInfo):
            return Annotated[hint, parameter.default], Field(**alias)
        if parameter.default is inspect.Parameter.empty:
            return hint, Field(**alias)
        if parameter.default is None:
            hint = _or_none(hint)
        # Never used as a value: what was not passed is left to the function's own default.
        return hint, Field(default_factory=_nothing, **alias)

    def _described(self) -> Schema:
        schema = self._model.model_json_schema(by_alias=True, schema_generator=_PlainSchema)
        schema.pop("title", None)
        properties = schema.setdefault("properties", {})
        for parameter in self._parameters:
            default = parameter.default
            if default is inspect.Parameter.empty or isinstance(default, FieldInfo):
                continue
            try:
                shown = pydantic_core.to_jsonable_python(default)
            except pydantic_core.PydanticSerializationError:
                continue  # A private marker such as UNSET: nothing that a model could send.
            if json_fault(shown) is None:
                properties[parameter.name]["default"] = shown
        return _without_class_titles(schema)

    def _undescribable(self, error: Exception) -> SignatureError:
        for parameter in self._parameters:
            hint = self._hints.get(parameter.name, Any)
            try:
                _schema_of(hint, "validation")
            except _UNDESCRIBABLE as reason:
                return SignatureError(
                    f"{self._name}: the parameter {parameter.name!r} is annotated {_shown(hint)}, which has no JSON "
                    "form, so no model could fill it in; use a type made of JSON values, or bind the argument before "
                    f"with functools.partial ({_first_sentence(reason)})"
                )
        return SignatureError(f"{self._name}: its parameters cannot be described: {_first_sentence(error)}")

    def _refused(self, error: ValidationError) -> ToolError:
        lines: dict[str, str] = {}
        for detail in error.errors(include_url=False, include_input=False, include_context=False):
            lines.setdefault(json_path(detail["loc"]) or "$", detail["msg"])
        some = "; ".join(f"{path}: {line}" for path, line in lines.items())
        return ToolError(
            f"the arguments do not fit what {self._name!r} takes: {some}", "validation_error", fields=lines
        )


class _PlainSchema(GenerateJsonSchema):
    """Schemas without a title for each field: it would only repeat the name."""

    # Defaults without a JSON form inside models: they are left out, which is what we want.
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _schema_of(hint: Any, mode: JsonSchemaMode) -> Schema:
    return _without_class_titles(TypeAdapter(hint).json_schema(mode=mode, schema_generator=_PlainSchema))


def _without_class_titles(schema: Schema) -> Schema:
    for name, body in schema.get("$defs", {}).items():
        if body.get("title") == name:
            del body["title"]
    return schema


def _fillable_parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise SignatureError(f"{name}: Python knows no signature of it ({error}); wrap it in a function") from None
    bound = set(function.keywords) if isinstance(function, functools.partial) else set()
    fillable = []
    for parameter in signature.parameters.values():
        if parameter.name in bound:
            continue
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise SignatureError(
                f"{name}: {str(parameter).split(':')[0]} takes any arguments, which cannot be described; "
                "name the parameters, or take one dict or list"
            )
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise SignatureError(
                f"{name}: the parameter {parameter.name!r} is positional-only, but tools are called by name; "
                "take the '/' out of the signature"
            )
        fillable.append(parameter)
    return fillable


def _resolved_hints(function: Callable[..., Any], name: str, namespace: Mapping[str, Any]) -> dict[str, Any]:
    while isinstance(function, functools.partial):
        function = function.func
    if not (inspect.isroutine(function) or inspect.isclass(function)):
        function = type(function).__call__
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError:
        pass  # A local class, most likely: the caller's names are the second try.
    except (TypeError, SyntaxError) as error:
        raise SignatureError(f"{name}: an annotation is not a type: {error}") from None
    try:
        return typing.get_type_hints(function, localns=dict(namespace), include_extras=True)
    except NameError as error:
        raise SignatureError(
            f"{name}: an annotation names {error.name!r}, which is not known where the function is defined; "
            "import it at run time (not only under TYPE_CHECKING)"
        ) from None


def _or_none(hint: Any) -> Any:
    """`hint`, with None allowed: ``x: int = None`` is written often, and the None is meant."""
    if typing.get_origin(hint) is Annotated:
        inner, *extras = typing.get_args(hint)
        return Annotated[(Optional[inner], *extras)]  # noqa: UP045 - built from a value, not written as a type
    return Optional[hint]  # noqa: UP045


def _nothing() -> None:
    return None


def _first_sentence(error: Exception) -> str:
    return str(error).splitlines()[0].split(". ")[0]


def _shown(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) else str(hint)
