"""The records of the dependency graph: one edge from a tool to what gives it something, and one tool of a closure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class EdgeKind(StrEnum):
    """What speaks for a dependency, strongest first."""

    DECLARED = "declared"
    """The tool's own `depends_on` says so."""
    LINKED = "linked"
    """A link of the producer says so, as OpenAPI's link objects do."""
    NAMED = "named"
    """The description of a required parameter names the producer."""
    TYPED = "typed"
    """A property of the producer's result has the name and the type of a required parameter."""
    IMPLIED = "implied"
    """The producer's result is not described, but it finds or makes the things whose id is required."""


STRENGTH = {kind: place for place, kind in enumerate(reversed(EdgeKind))}
"""Kind to a number, larger for stronger evidence."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """One edge: `consumer` needs something that `producer` gives.

    Attributes:
        consumer: name of the tool that needs it.
        producer: name of the tool that gives it.
        kind: what speaks for the edge.
        parameter: the consumer's parameter that is filled, "" when nobody says which.
        path: where in the producer's result the value stands ("user.id", "items[0].id"), "" when not known.
        score: how well they match, 0 to 1; an order, not a probability. 1 for what is declared.
    """

    consumer: str
    producer: str
    kind: EdgeKind
    parameter: str = ""
    path: str = ""
    score: float = 1.0

    @property
    def why(self) -> str:
        """The edge in words, from the producer's side: "gives user_id to send_mail (id of its result)"."""
        gives = f"gives {self.parameter} to {self.consumer}" if self.parameter else f"comes before {self.consumer}"
        match self.kind:
            case EdgeKind.DECLARED:
                return f"{gives} (declared)"
            case EdgeKind.LINKED:
                return f"{gives} ({self.path} of its result, by a link)" if self.path else f"{gives} (by a link)"
            case EdgeKind.NAMED:
                return f"{gives}, whose description names it"
            case EdgeKind.TYPED:
                return f"{gives} ({self.path} of its result)"
            case EdgeKind.IMPLIED:
                return f"may give {self.parameter} to {self.consumer}, by its name"


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """A tool of a closure.

    Attributes:
        tool: its name.
        pick: the tool that was asked about, for which it is here.
        steps: edges between the two; 1 for what the pick itself needs.
        because: the edges by which tools of the closure, or picks, need it; the strongest first.
    """

    tool: str
    pick: str
    steps: int
    because: tuple[Dependency, ...]


@dataclass(frozen=True, slots=True)
class Dangling:
    """A dependency that leads to no tool of the catalog.

    Attributes:
        tool: the tool that declares it.
        names: what it names.
        problem: why it leads nowhere, for a person.
    """

    tool: str
    names: str
    problem: str
