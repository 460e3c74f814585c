"""semantic-router: one route a tool, whose only utterance is the tool's name and description."""

from collections.abc import Sequence
from typing import Any

from peer_protocol import Embeddings, Find, PeerTool, serve
from semantic_router import IndexedRouter, Route
from semantic_router.encoders import DenseEncoder, TfidfEncoder


class ServedEncoder(DenseEncoder):
    """The runner's MiniLM as an encoder of semantic-router."""

    name: str = "minilm"
    embeddings: Any = None

    def __call__(self, docs: list[Any]) -> list[list[float]]:
        return self.embeddings(docs)


def build(tools: Sequence[PeerTool], embeddings: Embeddings, options: dict[str, Any]) -> Find:
    router = IndexedRouter(
        encoder=ServedEncoder(embeddings=embeddings),
        routes=[Route(name=tool.name, utterances=[f"{tool.name}: {tool.description}"]) for tool in tools],
        sparse_encoder=TfidfEncoder() if options.get("sparse") else None,
        # how many utterances are looked at; its default of 5 could not fill a list of 10
        top_k=max(options.get("top_k", 10), 5),
    )
    return lambda request, k: [choice.name for choice in router(request, limit=k)]


serve(build)
