"""graph-tool-call: a ToolGraph filled with MCP tools, server by server, searched as its README searches it."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from graph_tool_call import ToolGraph
from peer_protocol import Embeddings, Find, PeerTool, serve


def build(tools: Sequence[PeerTool], embeddings: Embeddings, options: dict[str, Any]) -> Find:
    graph = ToolGraph()
    for server, group in groupby(sorted(tools, key=lambda tool: tool.server), key=lambda tool: tool.server):
        graph.ingest_mcp_tools(
            [{"name": tool.name, "description": tool.description, "inputSchema": tool.parameters} for tool in group],
            server_name=server or None,
        )
    if options.get("embedding"):
        graph.enable_embedding(lambda texts: embeddings(texts))
    return lambda request, k: [result.tool.name for result in graph.retrieve_with_scores(request, top_k=k)]


serve(build)
