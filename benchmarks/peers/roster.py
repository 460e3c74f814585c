"""Who is compared: the rows of the table, in its order, and how each peer is set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes:
        name: unique, as the table shows it.
        peer: what ``--peers`` selects it by; for a peer, the name of its constraints file, too.
        settings: what its footnote says of the settings.
        adapter: the script that runs in the peer's environment; None: it runs in ours.
        options: what the adapter gets.
        reads_vectors: whether it uses the embedder.
    """

    name: str
    peer: str
    settings: str
    adapter: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    reads_vectors: bool = True

    @property
    def script(self) -> Path:
        """Path of the adapter."""
        return HERE / "adapters" / f"adapter_{self.adapter}.py"

    @property
    def constraints(self) -> Path:
        """Path of the exact pins of the peer's environment."""
        return HERE / f"{self.peer}.txt"


DEFAULT_ROW = "toolpath (default)"
"""The row that every other one is compared with."""

PLAIN_ROW = "toolpath (plain MiniLM)"
DENSE_ROW = "dense alone"

ROWS = (
    Row(DEFAULT_ROW, "toolpath", "`Router(catalog)` as it comes, without a language model."),
    Row(PLAIN_ROW, "toolpath", "`Router` with the weights that every peer gets, nothing tuned."),
    Row(
        "semantic-router (dense)",
        "semantic-router",
        '`IndexedRouter`, one route a tool with the one utterance "name: description"; no threshold; `top_k` '
        "(utterances looked at, 5 by default) as large as the list, or the list could not be filled.",
        "semantic_router",
    ),
    Row(
        "semantic-router (hybrid)",
        "semantic-router",
        "The same with `sparse_encoder=TfidfEncoder()` and the default `alpha` of 0.7. (Its BM25 encoder downloads a "
        "tokenizer.)",
        "semantic_router",
        {"sparse": True},
    ),
    Row(
        "langgraph-bigtool",
        "langgraph-bigtool",
        'Its default retrieval function over an `InMemoryStore` that indexes "name: description", as its README does; '
        "`limit` as large as the list.",
        "langgraph_bigtool",
    ),
    Row(
        "LlamaIndex ObjectIndex",
        "llama-index-core",
        "`ObjectIndex` of function tools that carry the tool's JSON Schema, over the default `VectorStoreIndex`; "
        "`similarity_top_k` as large as the list.",
        "llama_index",
    ),
    Row(
        "graph-tool-call (default)",
        "graph-tool-call",
        "`ToolGraph.ingest_mcp_tools` server by server, `retrieve_with_scores`; words and graph, without vectors.",
        "graph_tool_call",
        reads_vectors=False,
    ),
    Row(
        "graph-tool-call (embedding)",
        "graph-tool-call",
        "The same after `enable_embedding`, which sets its weights by itself.",
        "graph_tool_call",
        {"embedding": True},
    ),
    Row(
        "agent-tool-router (default)",
        "agent-tool-router",
        "`Router.from_descriptions`, the constructor for tools of one's own, with its default TF-IDF backend.",
        "agent_tool_router",
        reads_vectors=False,
    ),
    Row(
        "agent-tool-router (hybrid)",
        "agent-tool-router",
        '`Router.from_descriptions(backend="hybrid")` with the default `alpha` of 0.5.',
        "agent_tool_router",
        {"backend": "hybrid"},
    ),
    Row(
        "callbus (BM25)",
        "callbus",
        "Its `BM25Scorer` with its `stem` extra over the document that its MCP ingestion writes.",
        "callbus",
        {"scorer": "bm25"},
        reads_vectors=False,
    ),
    Row(
        "callbus (dense and BM25)",
        "callbus",
        "Its `HybridScorer` with the texts of `callbus eval --scorer dense --hybrid`; requests without an instruction, "
        "which MiniLM was not trained to read.",
        "callbus",
        {"scorer": "hybrid"},
    ),
    Row(
        "bm25s alone",
        "bm25s",
        "Default parameters, English stemmer and stop words as in its README; documents of the name in words, the "
        "description, and names and descriptions of the top-level parameters.",
        "bm25s",
        reads_vectors=False,
    ),
    Row(DENSE_ROW, "dense", 'Cosine of MiniLM vectors of "name: description", numpy.'),
)


def selected(names: str | None) -> list[Row]:
    """The rows of the peers in a comma-separated list; all of them without one.

    Raises:
        SystemExit: a name is no peer's.
    """
    if names is None:
        return list(ROWS)
    wanted = {name.strip() for name in names.split(",") if name.strip()}
    known = {row.peer for row in ROWS}
    if unknown := wanted - known:
        raise SystemExit(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    return [row for row in ROWS if row.peer in wanted]
