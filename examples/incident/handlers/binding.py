"""Gives the catalog's tools their handlers, after checking that each handler takes exactly what the schema says."""

from __future__ import annotations

import inspect
from typing import Any

from toolpath.catalog import Catalog, CatalogError, Tool

from ..world import World
from .alert_client import TIMEOUT_SECONDS, AlertClient
from .alerts import AlertTools
from .arguments import Handler
from .deployments import DeploymentTools
from .documents import DocumentTools
from .incidents import IncidentTools
from .logs import LogTools
from .metrics import MetricTools
from .number_tools import number_handlers
from .runbooks import RunbookTools
from .schedules import ScheduleTools
from .text_tools import TextTools
from .time_tools import TimeTools
from .traces import TraceTools


def build_handlers(world: World, alerts_url: str, *, alerts_timeout: float = TIMEOUT_SECONDS) -> dict[str, Handler]:
    """Tool name to handler, for every tool that works in `world`.

    Args:
        world: where the files and databases lie.
        alerts_url: address of the alert service; it need not be up yet.
        alerts_timeout: seconds to wait for the alert service.
    """
    client = AlertClient(alerts_url, alerts_timeout)
    groups = (
        AlertTools(client).handlers(),
        MetricTools(world).handlers(),
        LogTools(world).handlers(),
        TraceTools(world).handlers(),
        RunbookTools(world).handlers(),
        DeploymentTools(world).handlers(),
        IncidentTools(world, client).handlers(),
        ScheduleTools(world).handlers(),
        DocumentTools(world).handlers(),
        TextTools(world).handlers(),
        TimeTools(world).handlers(),
        number_handlers(),
    )
    return {name: handler for group in groups for name, handler in group.items()}


def bind_handlers(
    catalog: Catalog, world: World, alerts_url: str, *, alerts_timeout: float = TIMEOUT_SECONDS
) -> Catalog:
    """Binds every handler to the tool of its name in `catalog`, and returns the catalog.

    Tools without a handler stay as they are: the runtime answers "dependency_missing" for them.

    Raises:
        UnknownToolError: the catalog lacks one of the tools.
        CatalogError: a handler's parameters or defaults differ from its tool's schema; nothing has been bound then.
    """
    handlers = build_handlers(world, alerts_url, alerts_timeout=alerts_timeout)
    for name, handler in handlers.items():
        check_signature(catalog.get(name), handler)
    for name, handler in handlers.items():
        catalog.bind(name, handler)
    return catalog


def check_signature(tool: Tool, handler: Handler) -> None:
    """Compares names, required ones and defaults of a handler with the tool's schema.

    Raises:
        CatalogError: they differ; the message lists every difference.
    """
    parameters = inspect.signature(handler).parameters
    properties: dict[str, dict[str, Any]] = tool.parameters.get("properties", {})
    required = set(tool.parameters.get("required", ()))
    problems = [f"the schema lacks {name!r}" for name in parameters if name not in properties]
    for name, schema in properties.items():
        if name not in parameters:
            problems.append(f"the handler lacks {name!r}")
            continue
        default = parameters[name].default
        if (default is inspect.Parameter.empty) != (name in required):
            problems.append(f"{name!r} is required on one side only")
        elif name not in required and _plain(default) != schema.get("default"):
            problems.append(
                f"{name!r} has the default {default!r} in the handler, {schema.get('default')!r} in the schema"
            )
    if problems:
        raise CatalogError(f"the handler of {tool.name} does not fit its schema: {'; '.join(problems)}")


def _plain(default: Any) -> Any:
    return list(default) if isinstance(default, tuple) else default
