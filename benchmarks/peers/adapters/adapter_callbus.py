"""callbus: its scorers over tools in the form that its MCP ingestion gives them.

``scorer: "bm25"`` is its BM25 alone; ``"hybrid"`` fuses a dense scorer with it by reciprocal rank fusion, with the
texts that `callbus eval --scorer dense --hybrid` uses for an embedding model that is not its own: "name: description"
for the vectors, the ingested document for BM25, requests without an instruction, which MiniLM was not trained to read.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from callbus.adapters.bm25 import BM25Scorer
from callbus.adapters.dense import DenseScorer
from callbus.adapters.hybrid import HybridScorer
from callbus.domain import Query
from callbus.ingest.mcp import tool_from_mcp
from peer_protocol import Embeddings, Find, PeerTool, serve

NO_SERVER = "tools"
"""Server of tools that have none; callbus writes one into every text."""


class ServedEncoder:
    """The runner's MiniLM as a text encoder of callbus."""

    name = "minilm"

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings

    def encode(self, texts: Sequence[str], *, kind: str = "document") -> Any:
        return np.asarray(self._embeddings(texts), np.float32)


def build(tools: Sequence[PeerTool], embeddings: Embeddings, options: dict[str, Any]) -> Find:
    scorer: Any = BM25Scorer("documentation", "plain")
    if options["scorer"] == "hybrid":
        scorer = HybridScorer(DenseScorer(ServedEncoder(embeddings), "name_desc", "plain"), scorer)
    names: dict[str, str] = {}
    ingested = []
    for tool in tools:
        record = {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}
        ingested.append(tool_from_mcp(tool.server or NO_SERVER, record))
        names[ingested[-1].id] = tool.name
    scorer.index(ingested)

    def find(request: str, k: int) -> Sequence[str]:
        [ranked] = scorer.rank([Query(id="", text=request, qrels={})], k)
        return [names[identity] for identity in ranked.tool_ids]

    return find


serve(build)
