"""bm25s: words alone, with the English stemmer and stop words of its README.

It has no idea of a tool; a document is what a careful user would give it: the name with its separators as spaces, the
description, names and descriptions of the top-level parameters.
"""

import re
from collections.abc import Sequence
from typing import Any

import bm25s
import Stemmer
from peer_protocol import Embeddings, Find, PeerTool, serve


def build(tools: Sequence[PeerTool], embeddings: Embeddings, options: dict[str, Any]) -> Find:
    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: Sequence[str]) -> Any:
        return bm25s.tokenize(list(texts), stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25()
    index.index(tokens([_document(tool) for tool in tools]), show_progress=False)

    def find(request: str, k: int) -> Sequence[str]:
        places, _ = index.retrieve(tokens([request]), k=min(k, len(tools)), show_progress=False)
        return [tools[place].name for place in places[0]]

    return find


def _document(tool: PeerTool) -> str:
    words = [re.sub(r"[\W_]+", " ", tool.name), tool.description]
    for name, schema in (tool.parameters.get("properties") or {}).items():
        words += [re.sub(r"[\W_]+", " ", name), str(schema.get("description", "")) if isinstance(schema, dict) else ""]
    return " ".join(words)


serve(build)
