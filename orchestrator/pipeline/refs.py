"""References that say where a parameter's value comes from: a part of a step's output, or a run input."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...catalog import ToolError
from ...catalog.errors import BindingError
from .outcomes import Missing

PathPart = str | int


@dataclass(frozen=True, slots=True)
class Ref:
    """A part of what a step puts out, or of a run input.

    Attributes:
        source: name of the step or the input.
        path: fields (str) and positions (int) to follow from there.
        of_input: whether `source` names a run input.
    """

    source: str
    path: tuple[PathPart, ...] = ()
    of_input: bool = False

    def field(self, name: str) -> Ref:
        """The field (of an object) or key (of a mapping) called `name`."""
        return Ref(self.source, (*self.path, name), self.of_input)

    def __getitem__(self, position: int | str) -> Ref:
        """The element at `position`; negative positions count from the end. A string is the same as `field`."""
        return Ref(self.source, (*self.path, position), self.of_input)

    def __iter__(self) -> Any:
        raise TypeError(f"{self} stands for a value that does not exist yet; it cannot be iterated over")

    def __str__(self) -> str:
        return ("inputs." if self.of_input else "") + self.source + _path_text(self.path)


def ref(step: object) -> Ref:
    """Refers to what `step` (its name, function or tool) puts out.

    Example:
        >>> str(ref("search_flights").field("items")[0])
        'search_flights.items[0]'

    Raises:
        BindingError: `step` has no name.
    """
    name = step if isinstance(step, str) else getattr(step, "name", None) or getattr(step, "__name__", None)
    if not isinstance(name, str):
        raise BindingError(f"cannot refer to {step!r}: give the step's name, its function or its tool")
    return Ref(name)


def run_input(name: str) -> Ref:
    """Refers to the run input called `name`, for a parameter that has another name."""
    return Ref(name, of_input=True)


_PART = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+)\]|\[['\"]([^'\"]+)['\"]\]")


def parse_path(text: str) -> tuple[PathPart, ...]:
    """Reads ``"items[0].price"`` into ``("items", 0, "price")``.

    Raises:
        BindingError: the text is not a path.
    """
    parts: list[PathPart] = []
    position = 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None:
            raise BindingError(f"cannot read the path {text!r} from position {position}")
        name, index, quoted = match.groups()
        parts.append(int(index) if index is not None else name or quoted)
        position = match.end()
    return tuple(parts)


def follow(value: Any, reference: Ref) -> Any:
    """The part of `value` that `reference` points to. A `Missing` stays what it is.

    Raises:
        ToolError: "not_found"; the message says how far the path led.
    """
    for depth, part in enumerate(reference.path):
        if isinstance(value, Missing):
            return value
        try:
            value = _step_into(value, part)
        except (LookupError, TypeError, AttributeError) as error:
            so_far = f"{reference.source}{_path_text(reference.path[:depth])}"
            raise ToolError(f"{so_far} has no {_part_text(part)!s}: {_describe(value)}", "not_found") from error
    return value


def _step_into(value: Any, part: PathPart) -> Any:
    if isinstance(part, int):
        if isinstance(value, str | Mapping):
            raise TypeError("not a list")
        return value[part]
    if isinstance(value, Mapping):
        return value[part]
    if part.startswith("_"):
        raise AttributeError(part)
    return getattr(value, part)


def _describe(value: Any) -> str:
    if isinstance(value, Mapping):
        keys = ", ".join(map(str, list(value)[:8]))
        return f"it has the keys {keys}" if keys else "it is an empty object"
    if isinstance(value, list | tuple):
        return f"it is a list of {len(value)}"
    return f"it is of type {type(value).__name__}"


def _part_text(part: PathPart) -> str:
    return f"[{part}]" if isinstance(part, int) else f"field {part!r}"


def _path_text(path: tuple[PathPart, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
