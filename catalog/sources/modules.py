"""Tools that a Python module holds, named as ``module:attribute``."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..catalog import Catalog
from ..errors import CatalogError, did_you_mean
from ..json_values import json_type
from ..tool import Tool

_MODULE_ATTRIBUTE = re.compile(r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<attribute>[^\W\d]\w*(\.[^\W\d]\w*)*)")


def is_module_attribute(spec: str) -> bool:
    """Whether `spec` has the form ``package.module:attribute``."""
    return _MODULE_ATTRIBUTE.fullmatch(spec) is not None


def load_object(spec: str) -> Any:
    """What ``module:attribute`` stands for. The current directory is put on ``sys.path``.

    Raises:
        CatalogError: no such module or attribute. What the module itself raises on import passes through.
    """
    match = _MODULE_ATTRIBUTE.fullmatch(spec)
    if match is None:
        raise CatalogError(f"{spec!r} is not of the form module:attribute")
    return _attribute(_imported(match["module"]), match["attribute"], spec)


def load_from_module(spec: str) -> Catalog | list[Tool]:
    """The catalog or the tools that ``module:attribute`` stands for.

    Raises:
        CatalogError: no such module or attribute, or it holds no tools. What the module itself raises on import
            passes through.
    """
    found = load_object(spec)
    if inspect.iscoroutinefunction(found):
        raise CatalogError(f"{spec!r} is async; give a plain function")
    if callable(found) and not isinstance(found, (Tool, Catalog)):
        found = found()
    if isinstance(found, Catalog):
        return found
    if isinstance(found, Tool):
        return [found]
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        raise CatalogError(f"{spec!r} gives {_kind(found)}; expected a Catalog or an iterable of Tools")
    tools = list(found)
    for index, tool in enumerate(tools):
        if not isinstance(tool, Tool):
            raise CatalogError(
                f"{spec!r} gives {_kind(tool)} at index {index}; expected a Tool (use @tool or read_tools)"
            )
    return tools


def _imported(module: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # The module is there; something that it imports is not.
        raise CatalogError(f"there is no module {error.name!r} in {here!r} or among the installed packages") from None


def _attribute(module: Any, path: str, spec: str) -> Any:
    found = module
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise CatalogError(f"{spec!r}: there is no {name!r}{did_you_mean(name, dir(found))}") from None
    return found


def _kind(value: Any) -> str:
    return f"a value of type {json_type(value)}"
