"""langgraph-bigtool: its default retrieval function over an InMemoryStore that is filled as its README fills it."""

from collections.abc import Sequence
from typing import Any

from langgraph.store.memory import InMemoryStore
from langgraph_bigtool.tools import get_default_retrieval_tool
from peer_protocol import Embeddings, Find, PeerTool, serve

NAMESPACE = ("tools",)
DIMENSIONS = 384


def build(tools: Sequence[PeerTool], embeddings: Embeddings, options: dict[str, Any]) -> Find:
    store = InMemoryStore(
        index={"embed": lambda texts: embeddings(texts), "dims": DIMENSIONS, "fields": ["description"]}
    )
    for tool in tools:
        store.put(NAMESPACE, tool.name, {"description": f"{tool.name}: {tool.description}"})

    def find(request: str, k: int) -> Sequence[str]:
        retrieve, _ = get_default_retrieval_tool(NAMESPACE, limit=k)
        return retrieve(request, store=store)

    return find


serve(build)
