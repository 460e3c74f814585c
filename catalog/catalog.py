"""The catalog: tools by name, in a stable order, with a digest and a way to hear of changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .digest import digest_of
from .errors import CatalogError, DuplicateToolError, ToolFormatError, UnknownToolError, did_you_mean
from .tool import MAX_NAME_LENGTH, Tool


@dataclass(frozen=True, slots=True)
class CatalogChange:
    """One change of a catalog: `before` is None for an added tool, `after` for a removed one."""

    before: Tool | None
    after: Tool | None


Subscriber = Callable[[CatalogChange], None]


class Catalog:
    """Tools by name, in the order they were added.

    Reading and changing are safe from several threads; readers see the catalog before or after a change,
    never in between.

    Args:
        tools: the first tools.

    Attributes:
        left_out: what a lenient `load_catalog` could not use, one error per entry.

    Raises:
        DuplicateToolError: two tools share a name or an alias.

    Example:
        >>> catalog = Catalog([Tool(name="mail.send", aliases=("send_mail",), category="mail")])
        >>> catalog.get("send_mail").name
        'mail.send'
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._lock = threading.RLock()
        self._tools: dict[str, Tool] = {}
        self._aliases: dict[str, str] = {}
        self._subscribers: list[Subscriber] = []
        self._digest: str | None = None
        self.left_out: tuple[ToolFormatError, ...] = ()
        self.add(*tools)

    def add(self, *tools: Tool) -> None:
        """Adds tools, all or none of them.

        Raises:
            CatalogError: something else than a `Tool` is given.
            DuplicateToolError: a name or alias is taken; the message names both sources.
        """
        for tool in tools:
            if not isinstance(tool, Tool):
                hint = "; make a tool of it with @tool" if callable(tool) else ""
                raise CatalogError(f"{tool!r} is not a Tool{hint}")
        with self._lock:
            grown, aliases = dict(self._tools), dict(self._aliases)
            for tool in tools:
                claim_names(tool, grown, aliases)
            self._commit(grown, aliases, [CatalogChange(None, tool) for tool in tools])

    def replace(self, tool: Tool) -> None:
        """Puts `tool` in the place of the one with its name, or at the end when there is none.

        Raises:
            DuplicateToolError: one of its aliases belongs to another tool.
        """
        with self._lock:
            before = self._tools.get(tool.name)
            others = {name: other for name, other in self._tools.items() if name != tool.name}
            aliases = {alias: name for alias, name in self._aliases.items() if name != tool.name}
            claim_names(tool, others, aliases)
            grown = {name: (tool if name == tool.name else other) for name, other in self._tools.items()}
            grown.setdefault(tool.name, tool)
            self._commit(grown, aliases, [CatalogChange(before, tool)])

    def remove(self, name: str) -> Tool:
        """Takes the tool out and returns it.

        Raises:
            UnknownToolError: no tool has that name or alias.
        """
        with self._lock:
            gone = self.get(name)
            grown = {other: tool for other, tool in self._tools.items() if other != gone.name}
            aliases = {alias: other for alias, other in self._aliases.items() if other != gone.name}
            self._commit(grown, aliases, [CatalogChange(gone, None)])
            return gone

    def bind(self, name: str, handler: Callable[..., Any]) -> Tool:
        """Gives the tool called `name` the function that runs it, and returns the bound tool.

        Raises:
            UnknownToolError: no tool has that name or alias.
        """
        with self._lock:
            bound = self.get(name).with_handler(handler)
            self.replace(bound)
            return bound

    def get(self, name: str) -> Tool:
        """The tool with that name or alias.

        Raises:
            UnknownToolError: there is none; the message lists near names.
        """
        tool = self.find(name)
        if tool is None:
            known = [*self._tools, *self._aliases]
            shown = name if len(name) <= MAX_NAME_LENGTH else f"{name[:MAX_NAME_LENGTH]}…"
            raise UnknownToolError(f"no tool is called {shown!r}{did_you_mean(name, known)}")
        return tool

    def find(self, name: str) -> Tool | None:
        """The tool with that name or alias, or None."""
        return self._tools.get(name) or self._tools.get(self._aliases.get(name, ""))

    def filter(self, *, category: str | None = None, tag: str | None = None, environment: str | None = None) -> Catalog:
        """A new catalog with the tools that match all the given conditions.

        Args:
            category: exact category.
            tag: a tag that the tool must have.
            environment: where the tool must exist; a tool without environments exists everywhere.
        """
        return Catalog(
            tool
            for tool in self
            if (category is None or tool.category == category)
            and (tag is None or tag in tool.tags)
            and (environment is None or not tool.environments or environment in tool.environments)
        )

    @property
    def categories(self) -> tuple[str, ...]:
        """All categories in use, in order of first appearance."""
        return tuple(dict.fromkeys(tool.category for tool in self if tool.category is not None))

    @property
    def digest(self) -> str:
        """Hex SHA-256 of all definitions, whatever the order of adding and the place of reading."""
        with self._lock:
            if self._digest is None:
                definitions = [
                    self._tools[name].model_dump(mode="json", exclude={"source", "original"})
                    for name in sorted(self._tools)
                ]
                self._digest = digest_of(definitions)
            return self._digest

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Calls `subscriber` after each change, in the thread that makes it; returns a function that ends this.

        A subscriber that raises ends the change call with its exception; the change itself stands.
        """
        with self._lock:
            self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            with self._lock:
                if subscriber in self._subscribers:
                    self._subscribers.remove(subscriber)

        return unsubscribe

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools or name in self._aliases

    def __repr__(self) -> str:
        return f"Catalog({len(self)} tools, {len(self.categories)} categories)"

    def _commit(self, tools: dict[str, Tool], aliases: dict[str, str], changes: list[CatalogChange]) -> None:
        self._tools, self._aliases, self._digest = tools, aliases, None
        for change in changes:
            for subscriber in tuple(self._subscribers):
                subscriber(change)


def claim_names(tool: Tool, tools: dict[str, Tool], aliases: dict[str, str]) -> None:
    """Enters `tool` under its name and its aliases, all or none of them.

    Args:
        tool: the newcomer.
        tools: name to tool; changed in place.
        aliases: alias to name; changed in place.

    Raises:
        DuplicateToolError: one of them is taken; the message names both sources.
    """
    for name in (tool.name, *tool.aliases):
        holder = tools.get(name) or tools.get(aliases.get(name, ""))
        if holder is not None:
            raise DuplicateToolError(
                f"{name!r} is taken: {holder.name!r} from {holder.source or 'an unnamed source'} has it, "
                f"and {tool.name!r} from {tool.source or 'an unnamed source'} wants it; "
                "rename one of them or give it a server prefix"
            )
    tools[tool.name] = tool
    aliases.update({alias: tool.name for alias in tool.aliases if alias != tool.name})
