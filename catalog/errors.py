"""Every error of Toolpath: the tree of exceptions, and the table that says what each error type means.

The tree::

    ToolpathError
    ├── CatalogError                 a catalog or a tool definition is wrong
    │   ├── DuplicateToolError       two tools claim one name or alias
    │   ├── UnknownToolError         no tool has that name (says which names are near)
    │   ├── ToolFormatError          an entry of a tool list cannot be read (file, index, field)
    │   ├── SchemaError              a JSON Schema cannot be used
    │   └── SignatureError           @tool cannot describe a function (names the parameter)
    ├── RoutingError                 a request cannot be routed
    │   ├── EmbedderError            the embedding model is missing, altered or of another size
    │   ├── IndexMismatchError       a saved index belongs to another model, catalog or version
    │   ├── ModelError               the language model cannot be reached or answers nonsense
    │   ├── RuleError                a user's intent rule cannot be used
    │   ├── FeedbackError            recorded outcomes cannot be kept or read (in router.feedback)
    │   └── QueryError               a labelled request cannot be used (in router.evaluation)
    ├── PipelineError                a pipeline cannot be built or started
    │   ├── CycleError               names the path of the cycle
    │   ├── DuplicateStepError       two steps have one name
    │   ├── UnknownStepError         a dependency or reference names no step
    │   ├── BindingError             a parameter cannot get its value, or the types cannot fit
    │   ├── InputError               a run input is missing, unknown or ill-typed
    │   └── CheckpointError          a run cannot be kept or resumed
    ├── ToolError                    one tool call failed; carries what a model is told
    └── MissingExtraError            an optional dependency is not installed (names the extra)

An exception is for the programmer. What goes back to a model is data: `ErrorInfo`, made from a
`ToolError` and never holding a stack trace.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, computed_field


class ToolpathError(Exception):
    """Base of every exception that Toolpath raises on purpose."""


class CatalogError(ToolpathError):
    """A catalog or a tool definition is wrong."""


class DuplicateToolError(CatalogError):
    """Raised when a tool is added whose name or alias another tool already has; names both sources."""


class UnknownToolError(CatalogError):
    """Raised when no tool has the name or alias asked for; the message lists near names."""


class ToolFormatError(CatalogError):
    """Raised when an entry of a tool list cannot be read.

    Attributes:
        source: the file, folder or format it came from.
        index: position in the list (0-based), or the line number (1-based) of a JSON-lines file.
        field: dotted path of the offending field, or "" when the whole entry is wrong.
    """

    def __init__(self, message: str, *, source: str = "", index: int | None = None, field: str = "") -> None:
        self.source, self.index, self.field, self.reason = source, index, field, message
        unit = "line" if source.endswith(".jsonl") else "entry"
        parts = (source, "" if index is None else f"{unit} {index}", f"field {field!r}" if field else "")
        where = ", ".join(part for part in parts if part)
        super().__init__(f"{where}: {message}" if where else message)


class SchemaError(CatalogError):
    """Raised when a JSON Schema is not valid, refers outside itself, or cannot be satisfied."""


class SignatureError(CatalogError):
    """Raised when `@tool` cannot make a tool from a function; names the parameter and the way out."""


class RoutingError(ToolpathError):
    """A request cannot be routed."""


class EmbedderError(RoutingError):
    """Raised when the embedding model is missing, does not match its checksum, or gives unusable vectors."""


class IndexMismatchError(RoutingError):
    """Raised when a saved index is corrupt or was made by another model or version."""


class ModelError(RoutingError):
    """Raised when the language model cannot be reached, refuses, or answers outside the agreed form."""


class RuleError(RoutingError):
    """Raised when a user's intent rule cannot be used; names the rule."""


class PipelineError(ToolpathError):
    """A pipeline cannot be built or started."""


class CycleError(PipelineError):
    """Raised by `build()` when steps depend on each other in a circle.

    Attributes:
        path: step names along the circle; the first name is repeated at the end.
    """

    def __init__(self, path: Iterable[str]) -> None:
        self.path = tuple(path)
        super().__init__("the steps depend on each other in a circle: " + " -> ".join(self.path))


class DuplicateStepError(PipelineError):
    """Raised by `build()` when two steps have the same name."""


class UnknownStepError(PipelineError):
    """Raised by `build()` when a dependency or a reference names no step."""


class BindingError(PipelineError):
    """Raised by `build()` when a parameter cannot get a value, or a value of that type can never fit."""


class InputError(PipelineError):
    """Raised by `run()`, before any step starts, when run inputs are missing, unknown or ill-typed.

    Attributes:
        fields: input name to what is wrong with it.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        self.fields = dict(fields)
        super().__init__("; ".join(f"input {name!r}: {what}" for name, what in self.fields.items()))


class CheckpointError(PipelineError):
    """Raised when a run or an output cannot be kept, read again or resumed; says which step and type."""


class MissingExtraError(ToolpathError, ImportError):
    """Raised when a feature needs an optional dependency that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{feature} needs an optional dependency: pip install 'toolpath[{extra}]'")


class ErrorCategory(StrEnum):
    """Why a call failed, as far as the next move is concerned."""

    SEMANTIC = "semantic"
    TRANSIENT = "transient"
    PERMISSION = "permission"
    SYSTEMIC = "systemic"
    GUARD = "guard"


class RetryAdvice(StrEnum):
    """What another attempt would need: the same call later, a corrected call, or nothing helps."""

    SAME = "same"
    CORRECTED = "corrected"
    NO = "no"


class ErrorMeaning(NamedTuple):
    """One row of `ERROR_TABLE`."""

    category: ErrorCategory
    retry: RetryAdvice


_SEMANTIC = ErrorMeaning(ErrorCategory.SEMANTIC, RetryAdvice.CORRECTED)
_TRANSIENT = ErrorMeaning(ErrorCategory.TRANSIENT, RetryAdvice.SAME)
_PERMISSION = ErrorMeaning(ErrorCategory.PERMISSION, RetryAdvice.NO)
_SYSTEMIC = ErrorMeaning(ErrorCategory.SYSTEMIC, RetryAdvice.NO)
_GUARD = ErrorMeaning(ErrorCategory.GUARD, RetryAdvice.NO)

ERROR_TABLE: Mapping[str, ErrorMeaning] = {
    "unknown_tool": _SEMANTIC,
    "validation_error": _SEMANTIC,
    "not_found": _SEMANTIC,
    "ambiguous": _SEMANTIC,
    "timeout": _TRANSIENT,
    "rate_limited": _TRANSIENT,
    "unavailable": _TRANSIENT,
    "permission_denied": _PERMISSION,
    "authentication_expired": _PERMISSION,
    "side_effect_blocked": _PERMISSION,
    "approval_denied": _PERMISSION,
    "approval_expired": _PERMISSION,
    "interface_changed": _SYSTEMIC,
    "tool_retired": _SYSTEMIC,
    "dependency_missing": _SYSTEMIC,
    "loop_detected": _GUARD,
    "depth_exceeded": _GUARD,
    "budget_exceeded": _GUARD,
    "tool_error": _SYSTEMIC,
}
"""Error type to its category and retry advice. `tool_error` is what is left when nothing more is known."""


class ErrorInfo(BaseModel):
    """A failed call as data: the only form in which an error reaches a model.

    Attributes:
        error_type: a key of `ERROR_TABLE`.
        message: one or two sentences without stack trace, secret or host path.
        fields: argument path to what is wrong with it, for `validation_error`.
        suggestion: what to do instead, "" when nothing is known.
        alternatives: names of tools that could serve.
        progress: where in a run it happened, e.g. ``{"step": "logs", "stack": ["agent", "logs"]}``.
        retry_after: seconds that the other side asked us to wait, if it did.
        meaning: overrides the table's row; only for `tool_error` whose cause was classified.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    error_type: str
    message: str
    fields: dict[str, str] = Field(default_factory=dict)
    suggestion: str = ""
    alternatives: tuple[str, ...] = ()
    progress: dict[str, Any] = Field(default_factory=dict)
    retry_after: float | None = None
    meaning: ErrorMeaning | None = Field(default=None, exclude=True, repr=False)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def category(self) -> ErrorCategory:
        """The row's category."""
        return (self.meaning or ERROR_TABLE[self.error_type]).category

    @computed_field  # type: ignore[prop-decorator]
    @property
    def retry(self) -> RetryAdvice:
        """The row's retry advice."""
        return (self.meaning or ERROR_TABLE[self.error_type]).retry

    @computed_field  # type: ignore[prop-decorator]
    @property
    def retryable(self) -> bool:
        """Whether any further attempt makes sense: ``retry != "no"``."""
        return self.retry is not RetryAdvice.NO

    def model_post_init(self, _context: Any) -> None:
        if self.error_type not in ERROR_TABLE:
            raise ValueError(f"unknown error_type {self.error_type!r}; known: {', '.join(ERROR_TABLE)}")


class ToolError(ToolpathError):
    """One tool call failed. Tools raise it to say precisely how.

    Args:
        message: what went wrong, fit for a model to read.
        error_type: a key of `ERROR_TABLE`.
        **details: any other field of `ErrorInfo`.

    Raises:
        ValueError: the error type is not in the table.

    Example:
        >>> raise ToolError("no order has that number", "not_found", fields={"order_id": "unknown"})
        Traceback (most recent call last):
        ...
        toolpath.catalog.errors.ToolError: no order has that number
    """

    def __init__(self, message: str, error_type: str = "tool_error", **details: Any) -> None:
        self.info = ErrorInfo(error_type=error_type, message=message, **details)
        super().__init__(message)

    @property
    def error_type(self) -> str:
        """Shorthand for ``info.error_type``."""
        return self.info.error_type

    @classmethod
    def from_info(cls, info: ErrorInfo) -> ToolError:
        """The exception that carries `info` unchanged."""
        error = cls.__new__(cls)
        Exception.__init__(error, info.message)
        error.info = info
        return error


def did_you_mean(name: str, known: Iterable[str], limit: int = 3) -> str:
    """A hint with the nearest known names, such as ``" (did you mean 'logs'?)"``, or "" when none is near.

    Near is a similarity of at least 0.6 (Ratcliff and Obershelp). That comparison is slow, so among many names only
    the likeliest are compared: those of about the same length that share most letters and, where the name is long
    enough for a mistake to spare a part of it, a third of it as it stands.
    """
    name, likely = name[:_COMPARED], list(known)
    if len(likely) > _COMPARED_CLOSELY:
        shortest, longest = len(name) // 2, 2 * len(name) + 2
        third = len(name) // 3
        if third < _TELLING:
            likely = [other for other in likely if shortest <= len(other) <= longest]
        else:
            start, middle, end = name[:third], name[third : 2 * third], name[-third:]
            likely = [
                other
                for other in likely
                if shortest <= len(other) <= longest and (start in other or middle in other or end in other)
            ]
        letters = frozenset(name)
        scored = [(2 * len(letters.intersection(other)) - abs(len(other) - len(name)), other) for other in likely]
        likely = [other for _, other in heapq.nlargest(_COMPARED_CLOSELY, scored)]
    near = difflib.get_close_matches(name, list(dict.fromkeys(likely)), n=limit, cutoff=0.6)
    return f" (did you mean {' or '.join(repr(n) for n in near)}?)" if near else ""


_COMPARED = 120
"""Characters of a name that are compared."""

_COMPARED_CLOSELY = 50
"""Names that are compared by similarity."""

_TELLING = 3
"""Characters that are rare enough together to sort most names out."""
