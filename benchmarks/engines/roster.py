"""Which engines are compared, and on what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Engine:
    """One engine.

    Attributes:
        name: as the table shows it.
        adapter: its script in `adapters`.
        peer: the distribution whose environment it runs in; "": it runs in ours.
        note: what a reader should know.
    """

    name: str
    adapter: str
    peer: str = ""
    note: str = ""

    @property
    def script(self) -> Path:
        """Path of the adapter."""
        return HERE / "adapters" / f"{self.adapter}.py"

    @property
    def constraints(self) -> Path:
        """Path of the exact pins of the peer's environment."""
        return HERE / "pins" / f"{self.peer}.txt"


OURS = Engine("Toolpath", "toolpath_engine")
FLOOR = Engine("bare anyio", "bare_anyio", note="the floor: a ready list, no policies, no report")
PEERS = (
    Engine("Hamilton (async)", "hamilton_engine", "sf-hamilton"),
    Engine("pydantic-graph", "pydantic_graph_engine", "pydantic-graph", "a step waits for one other"),
    Engine("dask (threads)", "dask_engine", "dask", "synchronous functions"),
    Engine("tawazi", "tawazi_engine", "tawazi"),
    Engine("Burr", "burr_engine", "burr", "a state machine: chains only"),
    Engine("Agent Framework", "agent_framework_engine", "agent-framework-core"),
    Engine("LangGraph", "langgraph_engine", "langgraph"),
    Engine("Haystack", "haystack_engine", "haystack-ai"),
    Engine("LlamaIndex Workflows", "llama_index_engine", "llama-index-workflows"),
)
LANGGRAPH = "LangGraph"

SHAPES = (("chain", 1_000), ("wide", 1_000), ("layered", 1_000), ("lattice", 900), ("chain", 10_000), ("wide", 10_000))
"""Workloads that every engine gets, with the number of steps."""

FLATNESS = (("chain", 1_000), ("chain", 100_000), ("wide", 1_000), ("wide", 100_000))
"""Ours alone: whether a step costs the same however many there are."""
