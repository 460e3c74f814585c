"""agent-tool-router: Router.from_descriptions, what its README advises for tools of one's own.

Its hybrid backend loads sentence-transformers by itself; a module of that name stands in, which hands over the runner's
vectors of the same model (all-MiniLM-L6-v2 is its default), so that torch need not be installed once more.
"""

import sys
import types
from collections.abc import Sequence
from typing import Any

import numpy as np
from agent_tool_router import Router
from peer_protocol import Embeddings, Find, PeerTool, serve


def build(tools: Sequence[PeerTool], embeddings: Embeddings, options: dict[str, Any]) -> Find:
    class SentenceTransformer:
        def __init__(self, name: str) -> None:
            self.name = name

        def encode(self, texts: Sequence[str], **kwargs: Any) -> Any:
            return np.asarray(embeddings(texts), np.float32)

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    sys.modules["sentence_transformers"] = module
    router = Router.from_descriptions(
        [(tool.name, tool.description) for tool in tools], backend=options.get("backend", "tfidf")
    )
    return lambda request, k: router.route(request, k=k)


serve(build)
