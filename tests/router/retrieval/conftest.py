"""A small catalog, and an embedder that counts what it is asked."""

from collections.abc import Sequence

import numpy as np
import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.catalog.errors import EmbedderError
from toolpath.router.embedding import HashEmbedder, TextKind


class RecordingEmbedder(HashEmbedder):
    """Hashes like its parent; remembers every text, and fails, or knows only English, when told to."""

    def __init__(self, dimension: int = 64, *, languages: Sequence[str] = ()) -> None:
        super().__init__(dimension)
        self.tools: list[str] = []
        self.queries: list[str] = []
        self.failure: EmbedderError | None = None
        self._languages = languages

    def knows(self, language: str) -> bool:
        return not self._languages or language in self._languages

    def embed(self, texts: Sequence[str], kind: TextKind) -> np.ndarray:
        if self.failure is not None:
            raise self.failure
        (self.queries if kind == "query" else self.tools).extend(texts)
        return super().embed(texts, kind)


def order_parameters() -> dict[str, object]:
    return {
        "properties": {"order_id": {"type": "string", "description": "Number of the order"}},
        "required": ["order_id"],
    }


@pytest.fixture
def embedder() -> RecordingEmbedder:
    return RecordingEmbedder()


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(
        [
            Tool(
                name="refund_order",
                description="Pays a customer's money back.",
                category="shop",
                parameters=order_parameters(),
                aliases=("give_back",),
            ),
            Tool(
                name="track_parcel",
                description="Says where a parcel is on its way.",
                category="shop",
                parameters=order_parameters(),
            ),
            Tool(
                name="get_weather",
                description="Weather forecast for a city.",
                category="weather",
                parameters={"properties": {"city": {"type": "string", "description": "Where"}}},
            ),
            Tool(name="查询天气", description="查询某个城市的天气预报。", category="weather"),
            Tool(name="send_mail", description="Sends an e-mail to somebody."),
        ]
    )
