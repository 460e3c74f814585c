"""LlamaIndex: an ObjectIndex of function tools over the default VectorStoreIndex."""

from collections.abc import Sequence
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.objects import ObjectIndex
from llama_index.core.tools import FunctionTool
from peer_protocol import Embeddings, Find, PeerTool, serve
from pydantic import BaseModel


class ServedEmbedding(BaseEmbedding):
    """The runner's MiniLM as an embedding model of LlamaIndex."""

    embeddings: Any = None

    def _get_text_embedding(self, text: str) -> list[float]:
        return self.embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self.embeddings(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def build(tools: Sequence[PeerTool], embeddings: Embeddings, options: dict[str, Any]) -> Find:
    index = ObjectIndex.from_objects(
        [_function_tool(tool) for tool in tools],
        index_cls=VectorStoreIndex,
        embed_model=ServedEmbedding(embeddings=embeddings, embed_batch_size=256),
    )

    def find(request: str, k: int) -> Sequence[str]:
        return [tool.metadata.name for tool in index.as_retriever(similarity_top_k=k).retrieve(request)]

    return find


def _function_tool(tool: PeerTool) -> FunctionTool:
    """LlamaIndex embeds name, description and the JSON Schema of a pydantic model: this one has the tool's own."""

    class Arguments(BaseModel):
        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
            return tool.parameters

    return FunctionTool.from_defaults(
        fn=lambda **arguments: None, name=tool.name, description=tool.description, fn_schema=Arguments
    )


serve(build)
