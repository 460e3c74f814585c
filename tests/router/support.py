"""A small catalog and a plain search for the router's tests: words in common, no model, no index."""

from __future__ import annotations

from collections.abc import Sequence

from toolpath.catalog import Catalog, Tool
from toolpath.router import Candidate, HashEmbedder, Intent, Retriever
from toolpath.router.retrieval.text import tokenize

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def small_tools() -> list[Tool]:
    """Four tools of three categories."""
    return [
        Tool(
            name="mail.send",
            description="Send an email to an address.",
            category="communication",
            parameters={"properties": {"to": TEXT | {"format": "email"}, "subject": TEXT}, "required": ["to"]},
        ),
        Tool(
            name="contacts.find_person",
            description="Look up a person and return email and phone.",
            category="communication",
            parameters={"properties": {"name": TEXT}, "required": ["name"]},
            returns={"type": "object", "properties": {"email": TEXT, "phone": TEXT}},
        ),
        Tool(
            name="weather.forecast",
            description="Weather forecast for a city over some days.",
            category="weather",
            parameters={"properties": {"city": TEXT, "days": WHOLE}, "required": ["city"]},
        ),
        Tool(name="disk.usage", description="How full the disks of a server are.", category="operations"),
    ]


class WordSearch:
    """Ranks tools by the number of stems that they share with the request."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def search(self, request: str, k: int, intent: Intent | None = None) -> list[Candidate]:
        """See `SearchesTools`."""
        wanted = set(tokenize(request))
        kept = [tool for tool in self.catalog if intent is None or intent.keeps(tool)]
        shared = {tool.name: len(wanted & set(tokenize(f"{tool.name} {tool.description}"))) for tool in kept}
        ranked = sorted(kept, key=lambda tool: -shared[tool.name])[:k]
        return [
            Candidate(tool, float(shared[tool.name]), {"lexical": float(shared[tool.name])}, ("words in common",))
            for tool in ranked
        ]

    def search_many(
        self, requests: Sequence[str], k: int, intents: Sequence[Intent] | None = None
    ) -> list[list[Candidate]]:
        """See `SearchesTools`."""
        each = intents if intents is not None else [None] * len(requests)
        return [self.search(request, k, intent) for request, intent in zip(requests, each, strict=True)]


def candidates(*names: str) -> list[Candidate]:
    """The named tools (all of them without names) as candidates in that order."""
    tools = {tool.name: tool for tool in small_tools()}
    chosen = [tools[name] for name in names] if names else list(tools.values())
    return [Candidate(tool, 10.0 - place) for place, tool in enumerate(chosen)]


class CountingSearch:
    """Searches by cosine without a model, and counts how often it is asked for many requests."""

    def __init__(self, catalog: Catalog) -> None:
        self._retriever = Retriever(catalog, HashEmbedder())
        self.asked = 0

    def search(self, request: str, k: int, intent: Intent | None = None) -> list[Candidate]:
        return self._retriever.search(request, k, intent)

    def search_many(
        self, requests: Sequence[str], k: int, intents: Sequence[Intent] | None = None
    ) -> list[list[Candidate]]:
        self.asked += 1
        return self._retriever.search_many(requests, k, intents)
