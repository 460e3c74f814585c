"""The tools that a model is shown over the turns of one conversation: what was shown keeps its place.

Model servers keep what they have read of a prompt up to the first difference. A tool list that is ranked anew with
every turn differs near its beginning, so that all behind it is read, and paid, again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..catalog import Catalog, Tool
from ..catalog.errors import RoutingError
from .records import Candidate

DEFAULT_LIMIT = 64
"""Tools: a dozen turns with five new ones each."""


class ToolSession:
    """The tool list of one conversation. New tools are put at its end; nothing moves.

    A tool that leaves the catalog is gone at once, a changed one is shown as it is now, in its old place. Both break
    the cache once, as they must. Not for several threads: the turns of a conversation follow each other.

    Args:
        catalog: where the tools are.
        pinned: tools that always come first, in this order: names of the catalog's, or tools of your own.
        limit: when more tools than this would be shown, the list starts afresh with those of the turn, which breaks
            the cache once instead of with every turn from there on.

    Attributes:
        restarts: how often the list started afresh.

    Raises:
        UnknownToolError: a pinned name is not in the catalog.
        RoutingError: the limit is less than 1, or a pinned tool of your own has the name of one of the catalog's.

    Example:
        >>> session = ToolSession(catalog, pinned=["ask_human"])
        >>> [tool.name for tool in session.show(router.route_sync("weather in Oslo", k=1).offered)]
        ['ask_human', 'get_weather']
        >>> [tool.name for tool in session.show(router.route_sync("refund order 7", k=1).offered)]
        ['ask_human', 'get_weather', 'refund_order']
    """

    def __init__(self, catalog: Catalog, *, pinned: Sequence[str | Tool] = (), limit: int = DEFAULT_LIMIT) -> None:
        if limit < 1:
            raise RoutingError(f"a session must be allowed at least 1 tool, not {limit}")
        for one in pinned:
            if isinstance(one, Tool) and one.name in catalog:
                raise RoutingError(f"the catalog has a tool called {one.name!r} already: pin it by its name")
        self._catalog = catalog
        self._limit = limit
        self._own = {tool.name: tool for tool in pinned if isinstance(tool, Tool)}
        self._pinned = tuple(
            dict.fromkeys(one.name if isinstance(one, Tool) else catalog.get(one).name for one in pinned)
        )
        self._found: tuple[str, ...] = ()
        self.restarts = 0

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What is shown, as it is now."""
        tools = (self._own.get(name) or self._catalog.find(name) for name in self._shown())
        return tuple(tool for tool in tools if tool is not None)

    def show(self, found: Iterable[Candidate]) -> tuple[Tool, ...]:
        """Puts what a turn found behind what is there, and returns the whole list.

        Args:
            found: such as `RoutingDecision.offered`, best first; what has left the catalog since is passed over.
        """
        names = self._living(candidate.name for candidate in found)
        before = self._living(self._found)
        grown = tuple(dict.fromkeys([*before, *names]))
        if before and len(dict.fromkeys([*self._pinned, *grown])) > self._limit and len(grown) > len(before):
            grown = names
            self.restarts += 1
        self._found = grown
        return self.tools

    def _shown(self) -> tuple[str, ...]:
        return self._living(dict.fromkeys([*self._pinned, *self._found]))

    def _living(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those that are there under just this name, each once: a name may have become another tool's alias."""
        return tuple(dict.fromkeys(name for name in names if name in self._own or self._is_here(name)))

    def _is_here(self, name: str) -> bool:
        tool = self._catalog.find(name)
        return tool is not None and tool.name == name
