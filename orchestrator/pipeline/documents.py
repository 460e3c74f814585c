"""Reading YAML and JSON files of pipelines: their content, and the line of everything in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from ...catalog.errors import CatalogError, PipelineError
from ...catalog.json_values import MAX_DEPTH, MAX_VALUES
from ...catalog.sources.text_files import parse_json

Place = tuple[str | int, ...]
"""Keys and positions that lead from the top of a document to a part of it."""


@dataclass(frozen=True)
class Document:
    """What a file says, and where.

    Attributes:
        content: its value.
        text: what it was read from; "" when it comes from elsewhere.
    """

    content: Any
    text: str = field(default="", repr=False)

    @cached_property
    def _lines(self) -> Mapping[Place, int]:
        """The line, from 1, of each key and list item; asked for only when something is wrong."""
        return _lines_of(self.text)

    def line(self, place: Iterable[str | int]) -> int | None:
        """The line of a part, or of the nearest thing around it that has one."""
        path = tuple(place)
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path)


def read_document(file: Path) -> Document:
    """Reads a YAML or JSON file. A date that is not quoted is a date.

    Raises:
        PipelineError: it cannot be read, is neither, holds a key twice, or unfolds to something enormous.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
        content = parse_json(text) if file.suffix.lower() == ".json" else yaml.load(text, Loader=_Loader)
        _check_size(content)
        return Document(content, text)
    except OSError as error:
        raise PipelineError(f"{file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise PipelineError(
            f"{file.name} is not valid YAML or JSON: byte {error.start} is not UTF-8; save the file as UTF-8"
        ) from error
    except yaml.MarkedYAMLError as error:
        where = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        raise PipelineError(
            f"{file.name} is not valid YAML or JSON: {error.problem or error.context}{where}"
        ) from error
    except RecursionError as error:
        raise PipelineError(f"{file.name} is not valid YAML or JSON: nested too deeply") from error
    except (yaml.YAMLError, CatalogError, ValueError) as error:  # such as a day that does not exist
        raise PipelineError(f"{file.name} is not valid YAML or JSON: {error}") from error


class _Loader(yaml.SafeLoader):
    """Refuses a key that is there twice, where YAML would silently keep the last: a step would be lost."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    problem = f"the key {key.value!r} is there twice in one object"
                    raise yaml.composer.ComposerError(None, None, problem, key.start_mark)
                seen.add((key.tag, key.value))
        return node


def _lines_of(text: str) -> dict[Place, int]:
    """The line of each part. JSON is read as the YAML that it nearly always is; of what is not, no line is known."""
    try:
        top = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:  # JSON with tabs, for one; it has been read, only the lines are missing
        return {}
    found: dict[Place, int] = {}
    waiting: list[tuple[Place, Any]] = [((), top)]
    while waiting:
        place, node = waiting.pop()
        for key, mark, part in _parts_of(node):
            found[*place, key] = mark.line + 1
            if len(found) <= MAX_VALUES and len(place) < MAX_DEPTH:
                waiting.append(((*place, key), part))
    return found


def _parts_of(node: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """Key or position, where it begins, and what is there."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield key.value, key.start_mark, value
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield position, item.start_mark, item


def _check_size(content: Any) -> None:
    """Raises `ValueError` for what references within YAML unfold to something enormous, or to a circle."""
    waiting, seen = [(content, 1)], 0
    while waiting:
        value, depth = waiting.pop()
        seen += 1
        if seen > MAX_VALUES:
            raise ValueError(f"has more than {MAX_VALUES:,} values")
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
        if isinstance(value, dict):
            waiting += ((part, depth + 1) for part in value.values())
        elif isinstance(value, list):
            waiting += ((part, depth + 1) for part in value)
