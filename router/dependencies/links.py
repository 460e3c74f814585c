"""What tools say outright of what they need: `depends_on`, and links from a result to the tool that takes it on.

A link has the form of OpenAPI's link object, on the side of the producer, in ``metadata["links"]``::

    {"operationId": "getUser", "parameters": {"userId": "$response.body#/owner/id"}}

in a list, or in an object by name. ``"tool"`` may stand for ``"operationId"``. A reader of OpenAPI documents has only
to put the links of an operation's responses there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...catalog import Tool

LINKS = "links"
_RESPONSE = "$response.body#"


@dataclass(frozen=True, slots=True)
class Link:
    """Producer to consumer, by the names that are written there.

    Attributes:
        producer: the tool that has the link.
        consumer: the tool that the link leads to.
        parameter: the consumer's parameter, "" when the link names none.
        path: where in the result the value stands, as a reference writes it; "" when the link does not say.
    """

    producer: str
    consumer: str
    parameter: str = ""
    path: str = ""


def declared_needs(tool: Tool) -> list[tuple[str, str]]:
    """The tools that `tool` depends on and the parameter that each fills ("" when not said), in the order written.

    Native rows may give objects, ``{"tool": "validate_email", "parameter": "email_address"}``, whose names are in
    `Tool.depends_on` and which are kept in the metadata.
    """
    written = tool.metadata.get("depends_on")
    detailed = [link for link in written if isinstance(link, dict)] if isinstance(written, list) else []
    filled = {str(link.get("tool")): link.get("parameter") for link in reversed(detailed)}
    named = ((name, filled.get(name)) for name in tool.depends_on)
    return [(name, parameter if isinstance(parameter, str) else "") for name, parameter in named]


def links_of(tool: Tool) -> tuple[list[Link], list[str]]:
    """The links in the metadata of `tool`, and what is wrong with those that cannot be read."""
    written = tool.metadata.get(LINKS)
    entries = list(written.values()) if isinstance(written, dict) else written if isinstance(written, list) else []
    links: list[Link] = []
    problems: list[str] = []
    for place, entry in enumerate(entries):
        name = (entry.get("operationId") or entry.get("tool")) if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name:
            problems.append(f"link {place} names no operationId and no tool")
            continue
        links += _read(tool.name, name, entry.get("parameters"))
    return links, problems


def _read(producer: str, consumer: str, parameters: Any) -> Iterator[Link]:
    if not isinstance(parameters, dict) or not parameters:
        yield Link(producer, consumer)
        return
    for name, value in parameters.items():
        # "path.userId" says where in the request OpenAPI puts the parameter
        yield Link(producer, consumer, str(name).rpartition(".")[2], _path(value))


def _path(expression: Any) -> str:
    """``$response.body#/items/0/id`` as ``items[0].id``; "" for every other expression (a header, a constant)."""
    if not isinstance(expression, str) or not expression.startswith(f"{_RESPONSE}/"):
        return ""
    path = ""
    for step in expression[len(_RESPONSE) + 1 :].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        path += f"[{step}]" if step.isdecimal() else f".{step}" if path else step
    return path
