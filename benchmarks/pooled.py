"""Large catalogs for the speed benchmarks: the tools of several data folders in one, topped up with variants.

The public sets hold some 17,000 different tools. Beyond that, variants are made of them: the same schema under another
name, with a sentence about a region and a tenant behind the description, as a company has that runs one service many
times. Variants are look-alikes, which is the hard case for a ranking and the ordinary one for its speed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from toolpath.catalog import Catalog, Tool, load_catalog
from toolpath.catalog.digest import digest_of_text
from toolpath.router.embedding import Embedder, TextKind, Vectors
from toolpath.router.evaluation import load_queries
from toolpath.router.retrieval.text import tool_text

REGIONS = ("north", "south", "east", "west", "central", "coastal", "alpine", "island", "polar", "inland")

NOISE = 0.35
"""Length of the noise on a variant's vector before it is brought to unit length: a cosine of 0.94 to the original,
about what two look-alike tools of one server have with MiniLM."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Tools of several folders.

    Attributes:
        tools: real ones first, then variants.
        real: how many are real.
        originals: the embedder's text of each variant to that of the tool it was made of.
    """

    tools: tuple[Tool, ...]
    real: int
    originals: dict[str, str]


def folders_in(data: Path) -> list[Path]:
    """The folders below `data` that hold a catalog, by name.

    Raises:
        SystemExit: there is none.
    """
    found = sorted(path.parent for path in data.glob("*/tools.jsonl"))
    if not found:
        raise SystemExit(f"{data} holds no folder with a tools.jsonl")
    return found


def pooled(data: Path, size: int, seed: int = 0) -> Pool:
    """`size` tools: all that fit of the folders below `data`, in a seeded order, then variants of them.

    A name that an earlier folder has taken is written ``folder/name``; a tool without a category gets its server, or
    its folder, as one, so that stage 1 has categories to think about.
    """
    tools: dict[str, Tool] = {}
    for folder in folders_in(data):
        for tool in load_catalog(folder, strict=False):
            name = tool.name if tool.name not in tools else f"{folder.name}/{tool.name}"
            category = tool.category or tool.server or folder.name
            tools.setdefault(name, tool.model_copy(update={"name": name, "category": category, "aliases": ()}))
    real = sorted(tools.values(), key=lambda tool: digest_of_text(f"{seed} {tool.name}"))[:size]
    chosen, originals = list(real), dict[str, str]()
    taken = {tool.name for tool in real}
    number = 0
    while len(chosen) < size:
        original = real[number % len(real)]
        variant = _variant(original, number // len(real), number)
        number += 1
        if variant.name not in taken:
            taken.add(variant.name)
            chosen.append(variant)
            originals[tool_text(variant)] = tool_text(original)
    return Pool(tuple(chosen), len(real), originals)


def requests_of(data: Path, count: int, seed: int = 0) -> list[str]:
    """A seeded sample of the English requests of at most 400 characters in the folders' ``queries.jsonl``."""
    found = [
        query.query
        for folder in folders_in(data)
        if (folder / "queries.jsonl").is_file() and (folder / "queries.jsonl").stat().st_size
        for query in load_queries(folder)
        if query.query.isascii() and len(query.query) <= 400
    ]
    if not found:
        raise SystemExit(f"{data} holds no requests in English")
    return random.Random(seed).sample(found, min(count, len(found)))


def _variant(tool: Tool, generation: int, number: int) -> Tool:
    region = REGIONS[number % len(REGIONS)]
    return tool.model_copy(
        update={
            "name": f"{tool.name}_{region}_{generation + 1}",
            "description": f"{tool.description} For the {region} region, tenant {generation + 1}.",
        }
    )


class NearbyEmbedder:
    """Embeds real texts for real and gives a variant's text a vector near that of its original.

    Embedding 100,000 texts would take most of an hour; neither a search nor an update can tell the difference.

    Args:
        inner: the embedder.
        originals: as in `Pool`.

    Attributes:
        texts: all that was embedded so far.
    """

    def __init__(self, inner: Embedder, originals: dict[str, str]) -> None:
        self.inner, self.originals = inner, originals
        self.texts: list[str] = []
        self._known: dict[str, Vectors] = {}

    fingerprint = property(lambda self: f"{self.inner.fingerprint} and variants")
    dimension = property(lambda self: self.inner.dimension)

    def knows(self, language: str) -> bool:
        return self.inner.knows(language)

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        self.texts.extend(texts)
        if kind == "query":
            return self.inner.embed(texts, kind)
        sources = [self.originals.get(text, text) for text in texts]
        missing = list(dict.fromkeys(source for source in sources if source not in self._known))
        if missing:
            self._known.update(zip(missing, self.inner.embed(missing, kind), strict=True))
        vectors = np.stack([self._known[source] for source in sources]) if texts else np.zeros((0, self.dimension))
        for at, (text, source) in enumerate(zip(texts, sources, strict=True)):
            if text != source:
                vectors[at] = _near(vectors[at], text)
        return np.asarray(vectors, np.float32)


def _near(vector: Vectors, text: str) -> Vectors:
    generator = np.random.default_rng(int(digest_of_text(text)[:8], 16))
    moved = vector + NOISE * generator.standard_normal(len(vector), np.float32) / np.sqrt(len(vector))
    return np.asarray(moved / np.linalg.norm(moved), np.float32)


def catalog_of(pool: Pool) -> Catalog:
    """A fresh catalog of the pool's tools."""
    return Catalog(pool.tools)
