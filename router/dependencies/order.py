"""Producers before consumers, where that is possible: one pure function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .records import Dependency


def producers_first(names: Sequence[str], because: Mapping[str, Sequence[Dependency]]) -> list[str]:
    """The names in an order in which every producer stands before its consumers, unless they form a cycle.

    A depth-first walk from consumers to producers that names a tool when all its producers are named. Two tools that
    do not depend on each other in a circle come out right whatever cycles there are elsewhere: only an edge that closes
    a circle is passed over (Tarjan 1976, "Edge-disjoint spanning trees and depth-first search").

    Args:
        names: where the walk begins, in this order; tools that are not among them are not named.
        because: producer to the edges by which it is needed.
    """
    producers: dict[str, list[str]] = {name: [] for name in names}
    for producer, edges in because.items():
        for edge in edges:
            if edge.consumer in producers and producer in producers:
                producers[edge.consumer].append(producer)
    done: dict[str, None] = {}
    for start in names:
        _walk(start, producers, done)
    return list(done)


def _walk(start: str, producers: Mapping[str, Iterable[str]], done: dict[str, None]) -> None:
    if start in done:
        return
    entered = {start}
    path = [(start, iter(producers[start]))]
    while path:
        name, rest = path[-1]
        following = next((other for other in rest if other not in entered and other not in done), None)
        if following is None:
            done[name] = None
            path.pop()
        else:
            entered.add(following)
            path.append((following, iter(producers[following])))
