"""The dependency graph of a catalog: which tool needs another's output, followed as tools come and go."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence

from ...catalog import Catalog, CatalogChange, Tool
from .edges import edges_of
from .index import GiftIndex
from .links import Link, declared_needs, links_of
from .order import producers_first
from .records import STRENGTH, Dangling, Dependency, Prerequisite

MAX_TOOLS = 200
"""Tools in a closure unless the caller asks for fewer: a limit for graphs in which everything leads to everything."""


class DependencyGraph:
    """Who gives what a tool needs. Follows changes of the catalog; safe in several threads.

    Edges come from what tools declare (`Tool.depends_on`, links in their metadata), from descriptions of required
    parameters that name a tool, and from the schemas: a property of one tool's result that has the name and type of
    another's required parameter. The edges of a tool are worked out when they are first asked for. A tool that itself
    requires what it gives (``get_user(user_id)`` returns ``user_id``) gives nothing new and is no producer of it.

    Args:
        catalog: the tools.
        inferred: whether schemas, names and descriptions count, or only what tools declare.

    Example:
        >>> mail = Tool(name="send_mail", parameters={"properties": {"contact_id": {"type": "string"}},
        ...                                           "required": ["contact_id"]})
        >>> find = Tool(name="find_contact", returns={"properties": {"contact_id": {"type": "string"}}})
        >>> [edge.why for edge in DependencyGraph(Catalog([mail, find])).needs("send_mail")]
        ['gives contact_id to send_mail (contact_id of its result)']
    """

    def __init__(self, catalog: Catalog, *, inferred: bool = True) -> None:
        self._catalog = catalog
        self._inferred = inferred
        self._lock = threading.RLock()
        self._index = GiftIndex()
        self._links: dict[str, list[Link]] = {}
        self._linking: dict[str, tuple[Link, ...]] = {}
        self._edges: dict[str, tuple[Dependency, ...]] = {}
        self._unread: dict[str, None] = {}
        self._unindexed: dict[str, None] = {}
        _follow(catalog, self)
        with self._lock:
            for tool in list(catalog):
                self._note(tool)

    def needs(self, name: str) -> tuple[Dependency, ...]:
        """The edges of one tool, the strongest first; declared ones in the order they are written.

        Raises:
            UnknownToolError: no tool has that name or alias.
        """
        return self._edges_of(self._catalog.get(name))

    def _edges_of(self, tool: Tool) -> tuple[Dependency, ...]:
        with self._lock:
            known = self._edges.get(tool.name)
            if known is None:
                self._read_links()
                edges = edges_of(tool, self._catalog, self._linked_to(tool), self._current if self._inferred else None)
                known = self._edges[tool.name] = tuple(edges)
            return known

    def closure(
        self,
        picks: Sequence[str | Tool],
        *,
        depth: int | None = None,
        limit: int = MAX_TOOLS,
        allowed: Callable[[str], bool] | None = None,
    ) -> list[Prerequisite]:
        """All that some tools need, and what that needs in turn, producers before consumers.

        What the first of them needs is complete before anything of the second is taken, near tools before far ones,
        so a limit cuts off what matters least. In a cycle the walk's last tool comes first: some tool has to.

        Args:
            picks: the tools or their names, best first; none of them is in the closure.
            depth: edges from a pick at most; None: as many as there are.
            limit: tools at most.
            allowed: whether a tool may be in the closure; what only a forbidden tool needs is left out, too.

        Raises:
            UnknownToolError: a name is unknown.
        """
        tools = [pick if isinstance(pick, Tool) else self._catalog.get(pick) for pick in picks]
        with self._lock:
            found = self._reach([tool.name for tool in tools], depth, limit, allowed)
            consumers = list(dict.fromkeys([*(tool.name for tool in tools), *found]))
            because: dict[str, list[Dependency]] = {name: [] for name in found}
            for consumer in consumers:
                for edge in self._edges_from(consumer):
                    if edge.producer in because:
                        because[edge.producer].append(edge)
        for edges in because.values():
            edges.sort(key=lambda edge: (-STRENGTH[edge.kind], -edge.score))
        return [
            Prerequisite(name, *found[name], tuple(because[name]))
            for name in producers_first(consumers, because)
            if name in found
        ]

    def dangling(self) -> list[Dangling]:
        """What tools declare about others that are not there, or cannot be understood; looks at every tool."""
        found: list[Dangling] = []
        for tool in self._catalog:
            for name, _ in declared_needs(tool):
                if name not in self._catalog:
                    found.append(Dangling(tool.name, name, "depends_on names a tool that the catalog does not have"))
            links, problems = links_of(tool)
            for link in links:
                if link.consumer not in self._catalog:
                    found.append(
                        Dangling(tool.name, link.consumer, "a link leads to a tool that is not in the catalog")
                    )
            found += [Dangling(tool.name, "", problem) for problem in problems]
        return found

    def _reach(
        self, picks: Sequence[str], depth: int | None, limit: int, allowed: Callable[[str], bool] | None
    ) -> dict[str, tuple[str, int]]:
        """Tool to the pick that needs it and the number of edges between them, in the order they were taken."""
        found: dict[str, tuple[str, int]] = {}
        for pick in picks:
            waiting = deque([(pick, 0)])
            while waiting and len(found) < limit:
                name, steps = waiting.popleft()
                if depth is not None and steps >= depth:
                    continue
                for edge in self._edges_from(name):
                    other = edge.producer
                    if other in found or other in picks or (allowed is not None and not allowed(other)):
                        continue
                    if len(found) >= limit:
                        break
                    found[other] = (pick, steps + 1)
                    waiting.append((other, steps + 1))
        return found

    def _edges_from(self, name: str) -> tuple[Dependency, ...]:
        """The edges of a tool that may have left the catalog a moment ago."""
        tool = self._catalog.find(name)
        return () if tool is None else self._edges_of(tool)

    def _changed(self, change: CatalogChange) -> None:
        with self._lock:
            for tool in (change.before, change.after):
                if tool is not None:
                    self._note(tool)
            self._edges.clear()  # a newcomer may be any tool's producer; they are worked out again when asked for

    def _note(self, tool: Tool) -> None:
        """Marks a tool as one to look at, each time for the first who asks; under the lock."""
        self._unindexed[tool.name] = None
        if tool.metadata or tool.name in self._linking:
            self._unread[tool.name] = None

    def _read_links(self) -> None:
        """Brings the links up to date with the catalog; under the lock."""
        while self._unread:
            name, _ = self._unread.popitem()
            for link in self._linking.pop(name, ()):
                self._links[link.consumer].remove(link)
            tool = self._catalog.find(name)
            if tool is not None and tool.name == name and (links := links_of(tool)[0]):
                self._linking[name] = tuple(links)
                for link in links:
                    self._links.setdefault(link.consumer, []).append(link)

    def _current(self) -> GiftIndex:
        """The index, up to date with the catalog; under the lock. Only suggestions need it, and it costs a pass."""
        while self._unindexed:
            name, _ = self._unindexed.popitem()
            tool = self._catalog.find(name)
            if tool is None or tool.name != name:
                self._index.remove(name)
            else:
                self._index.put(tool)
        return self._index

    def _linked_to(self, tool: Tool) -> list[Link]:
        return [link for name in (tool.name, *tool.aliases) for link in self._links.get(name, ())]


def _follow(catalog: Catalog, graph: DependencyGraph) -> None:
    """Subscribes without keeping the graph alive: a catalog may outlive many of them."""
    listener = weakref.WeakMethod(graph._changed)

    def on_change(change: CatalogChange) -> None:
        if (method := listener()) is not None:
            method(change)

    weakref.finalize(graph, catalog.subscribe(on_change))
