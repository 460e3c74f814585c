"""JSON, JSON lines and YAML, read strictly: what two readers could understand differently is refused.

Refused are duplicate keys, NaN and Infinity, other encodings than UTF-8, and YAML tags. YAML's plain words mean what
they mean in JSON: ``on`` and ``2025-03-31`` are text.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from ..errors import ToolFormatError

SUFFIXES = (".jsonl", ".json", ".yaml", ".yml")


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, without byte order mark.

    Raises:
        ToolFormatError: the file is not UTF-8, or cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ToolFormatError(f"cannot be read: {error.strerror}", source=str(path)) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ToolFormatError(
            f"line {line} is not UTF-8 (byte {error.start}); save the file as UTF-8", source=str(path)
        ) from None


def json_lines(text: str, source: str) -> Iterator[tuple[int, Any | ToolFormatError]]:
    """Line number (from 1) and value, or what is wrong with the line; empty lines are passed over."""
    # Not splitlines(): JSON text may hold U+2028 and its like unescaped.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, parse_json(line)
            except ToolFormatError as error:
                yield number, ToolFormatError(error.reason, source=source, index=number)


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ToolFormatError: it is not JSON, a key is there twice, or a number is not finite.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}" if "\n" in text else f"column {error.colno}"
        raise ToolFormatError(f"not JSON: {error.msg} ({where})") from None
    except RecursionError:
        raise ToolFormatError("nested too deeply") from None
    except ValueError as error:  # Our own refusals below, and integers of more digits than Python reads.
        raise ToolFormatError(str(error)) from None


def parse_yaml(text: str) -> Any:
    """The value of a YAML text of one document.

    Raises:
        ToolFormatError: it is not YAML, uses tags, or a key is there twice.
    """
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.MarkedYAMLError as error:
        where = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        raise ToolFormatError(f"not usable YAML: {error.problem or error.context}{where}") from None
    except yaml.YAMLError as error:
        raise ToolFormatError(f"not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise ToolFormatError("nested too deeply") from None
    except ValueError as error:
        raise ToolFormatError(str(error)) from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice!r} is there twice in one object")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text} is too large")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_float=_finite)


class _StrictLoader(yaml.SafeLoader):
    """YAML with JSON's meaning of plain words, and without duplicate keys."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - filled below, instead of with YAML 1.1's

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be plain text", key_node.start_mark)
            if key_node.value in seen:
                problem = f"the key {key_node.value!r} is there twice in one object"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key_node.value)
        return super().construct_mapping(node, deep)


for _kind, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"-?(0|[1-9][0-9]*)", "-0123456789"),
    ("float", r"-?(0|[1-9][0-9]*)(\.[0-9]+([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)", "-0123456789"),
    ("merge", r"<<", "<"),
):
    _StrictLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(f"^(?:{_pattern})$"), list(_first))


def reads_as_text(word: str) -> bool:
    """Whether `parse_yaml` takes an unquoted `word` for text, and not for a number, a truth value or nothing."""
    resolvers = _StrictLoader.yaml_implicit_resolvers.get(word[:1], [])
    return not any(pattern.match(word) for _, pattern in resolvers)
