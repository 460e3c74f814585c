"""Tools that a Python module holds, named as ``module:attribute``."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import traceback
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
        CatalogError: no such module or attribute, or the module fails to import; its own exception is the cause.
    """
    match = _MODULE_ATTRIBUTE.fullmatch(spec)
    if match is None:
        raise CatalogError(f"{spec!r} is not of the form module:attribute")
    return _attribute(_imported(match["module"]), match["attribute"], spec)


def load_from_module(spec: str) -> Catalog | list[Tool]:
    """The catalog or the tools that ``module:attribute`` stands for.

    Raises:
        CatalogError: no such module or attribute, the module or its function fails, or it holds no tools. What the
            module or the function raised is the cause.
    """
    found = load_object(spec)
    if inspect.iscoroutinefunction(found):
        raise CatalogError(f"{spec!r} is async; give a plain function")
    if callable(found) and not isinstance(found, (Tool, Catalog)):
        try:
            found = found()
        except (Exception, SystemExit) as error:
            raise CatalogError(f"{spec!r} cannot be called for its tools: {_failure(error)}") from error
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
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            missing = f"there is no module {error.name!r} in {here!r} or among the installed packages"
            raise CatalogError(missing) from None
        raise CatalogError(f"the module {module!r} cannot be imported: {_failure(error)}") from error
    except (Exception, SystemExit) as error:
        raise CatalogError(f"the module {module!r} cannot be imported: {_failure(error)}") from error


def _failure(error: BaseException) -> str:
    """What somebody's code raised, and where: ``ValueError: no such file (tools.py, line 12)``."""
    said = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    file, line = "", None
    if isinstance(error, SyntaxError):
        file, line = error.filename or "", error.lineno
    elif frames := traceback.extract_tb(error.__traceback__):
        file, line = frames[-1].filename, frames[-1].lineno
    return f"{said} ({Path(file).name}, line {line})" if file else said


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
