"""Embedders by the name that a user gives on a command line or in a configuration."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from .centring import LanguageCentredEmbedder
from .default import default_embedder
from .hashing import HashEmbedder
from .multilingual import MultilingualEmbedder
from .onnx import OnnxEmbedder
from .protocol import Embedder
from .sentence_transformer import SentenceTransformerEmbedder

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "default": default_embedder,
    "hash": HashEmbedder,
    "minilm": SentenceTransformerEmbedder,
    "multilingual": MultilingualEmbedder,
    "onnx": OnnxEmbedder,
    "onnx-int8": lambda: OnnxEmbedder(precision="int8"),
}
"""Embedders that have a short name of their own, "minilm" being the default without its tuning; every other name is a
model of sentence-transformers."""

_E5 = re.compile(r"intfloat/(?P<multilingual>multilingual-)?e5-(?:small|base|large)(?:-v2)?")
E5_PREFIXES = ("query: ", "passage: ")
"""What must stand before a request and before a tool text for E5, according to the models' cards: without it they lose
accuracy, and nothing would tell the user why. Their files do not name these prompts themselves."""


def embedder_named(name: str) -> Embedder:
    """The embedder called `name`.

    Args:
        name: one of `EMBEDDERS`; the path of a ``.safetensors`` file that `toolpath tune` made; or a model of
            sentence-transformers by its name on a hub or by its folder. A folder whose path ends with a model's name
            ("…/intfloat/multilingual-e5-small") is taken for that model. The E5 models of intfloat get the prefixes
            that they were trained with, the multilingual ones also centring by language.

    Raises:
        MissingExtraError: the embedder needs an extra that is not installed.
        ValueError: `name` is blank.

    Example:
        >>> embedder_named("hash"), embedder_named("intfloat/multilingual-e5-small").knows("zh")
        (HashEmbedder(512), True)
    """
    if not name.strip():
        raise ValueError(f"an embedder needs a name: one of {', '.join(EMBEDDERS)}, or a model by name or folder")
    if name in EMBEDDERS:
        return EMBEDDERS[name]()
    if name.endswith(".safetensors"):
        return SentenceTransformerEmbedder(update=name)
    e5 = _E5.fullmatch("/".join(Path(name).parts[-2:]))
    if e5 is None:
        return SentenceTransformerEmbedder(name)
    query_prefix, tool_prefix = E5_PREFIXES
    multilingual = e5["multilingual"] is not None
    model = SentenceTransformerEmbedder(
        name, query_prefix=query_prefix, tool_prefix=tool_prefix, languages=None if multilingual else ("en",)
    )
    return LanguageCentredEmbedder(model) if multilingual else model
