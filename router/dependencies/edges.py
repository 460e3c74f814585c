"""The edges of one tool: what it declares, what links to it, and what schemas, descriptions and names suggest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from ...catalog import Catalog, Tool
from .fields import Gift, Need, needs_of
from .index import GiftIndex
from .links import Link, declared_needs
from .matching import MIN_SCORE, match
from .records import STRENGTH, Dependency, EdgeKind
from .words import FINDERS, IDENTIFIERS, Naming, is_reference, naming_of

PRODUCERS_PER_PARAMETER = 3
"""Of the producers that are suggested for one parameter, the best so many are edges."""
TOO_MANY = 24
"""A parameter that more tools than this could fill is one that all tools pass around (a tenant, a session): being able
to fill it is no sign of being needed, so nothing is suggested for it."""
MAX_LOOKED_AT = 500
"""Properties of results that are compared with one parameter; with more, there are too many of them anyway."""
NAMED_SCORE = 0.9
FINDER_SCORE, MAKER_SCORE = 0.5, 0.4
"""Of implied edges: who wants to act on a thing more often means one that is there than one to be made."""


def edges_of(
    tool: Tool, catalog: Catalog, links: Iterable[Link], index: Callable[[], GiftIndex] | None
) -> list[Dependency]:
    """The edges of `tool`, one per producer, the strongest first; declared ones in the order they are written.

    Who declares anything is taken at their word: nothing is suggested beside it. Names that the catalog does not have
    are left out.

    Args:
        tool: the consumer.
        catalog: the tools.
        links: those that lead to the tool.
        index: makes the index of the same catalog, when something may be suggested; None: nothing is.
    """
    edges = list(_declared(tool, catalog))
    if edges:
        index = None
    edges += [
        Dependency(tool.name, link.producer, EdgeKind.LINKED, link.parameter, link.path)
        for link in links
        if link.producer in catalog
    ]
    if index is not None:
        filled = {edge.parameter for edge in edges}
        naming = naming_of(tool)
        for need in needs_of(tool, naming):
            if need.parameter not in filled:
                edges += _suggested(tool, need, naming, index())
    best: dict[str, Dependency] = {}
    for edge in sorted(edges, key=lambda edge: (-STRENGTH[edge.kind], -edge.score)):
        if edge.producer != tool.name:
            best.setdefault(edge.producer, edge)
    return list(best.values())


def _declared(tool: Tool, catalog: Catalog) -> Iterator[Dependency]:
    for name, parameter in declared_needs(tool):
        producer = catalog.find(name)
        if producer is not None:
            yield Dependency(tool.name, producer.name, EdgeKind.DECLARED, parameter)


def _suggested(tool: Tool, need: Need, naming: Naming, index: GiftIndex) -> list[Dependency]:
    """The best producers for one parameter, or none where too many would do."""
    typed = _typed(tool, need, naming, index)
    named = [name for name in index.named_in(need.description) if name != tool.name]
    if named:
        nearest = [name for name in named if index.naming(name).server == naming.server] or named
        if len(nearest) > PRODUCERS_PER_PARAMETER:
            return []
        return [
            Dependency(
                tool.name,
                name,
                EdgeKind.NAMED,
                need.parameter,
                typed[name][1].path if name in typed else "",
                NAMED_SCORE,
            )
            for name in nearest
        ]
    if typed:
        edges = [
            Dependency(tool.name, name, EdgeKind.TYPED, need.parameter, gift.path, round(score, 4))
            for name, (score, gift) in typed.items()
        ]
    else:
        edges = [
            Dependency(tool.name, name, EdgeKind.IMPLIED, need.parameter, "", score)
            for name, score in _implied(tool, need, naming, index)
        ]
    if len(edges) > TOO_MANY:
        return []
    edges.sort(key=lambda edge: (-edge.score, len(index.required(edge.producer))))
    return edges[:PRODUCERS_PER_PARAMETER]


def _typed(tool: Tool, need: Need, naming: Naming, index: GiftIndex) -> dict[str, tuple[float, Gift]]:
    """Producer to the score and the property that fits best."""
    best: dict[str, tuple[float, Gift]] = {}
    for name, gift in islice(index.giving(need.key), MAX_LOOKED_AT):
        if name == tool.name:
            continue
        score = match(need, gift, naming, index.naming(name))
        if score >= MIN_SCORE and score > best.get(name, (0.0,))[0] and not _asks_itself(name, need, gift, index):
            best[name] = (score, gift)
    return best


def _implied(tool: Tool, need: Need, naming: Naming, index: GiftIndex) -> list[tuple[str, float]]:
    if not is_reference(need.key) or need.key[-1] not in IDENTIFIERS:
        return []
    return [
        (name, FINDER_SCORE if index.naming(name).verbs & FINDERS else MAKER_SCORE)
        for name in index.leading_to(need.key[:-1])
        if name != tool.name and index.naming(name).server == naming.server and need.key not in index.required(name)
    ]


def _asks_itself(name: str, need: Need, gift: Gift, index: GiftIndex) -> bool:
    """Whether the producer requires what it gives, so that whoever could ask it has the value already."""
    required = index.required(name)
    return need.key in required or any(key in required for key in gift.keys)
