"""An embedder without a model: hashed character n-grams."""

from __future__ import annotations

import unicodedata
import zlib
from collections.abc import Sequence

import numpy as np

from .protocol import TextKind, Vectors


class HashEmbedder:
    """Vectors from hashed character n-grams: no model, no meaning, but equal spellings land close together.

    For tests of code that needs a retriever, and for machines that must not load a model. It finds inflections and
    typing errors ("refunds", "refnud"), never synonyms.

    Args:
        dimension: numbers per vector, default 512.

    Raises:
        ValueError: `dimension` is not positive.

    Example:
        >>> refund, refunds, weather = HashEmbedder().embed(["refund", "refunds", "weather"], "query")
        >>> bool(refund @ refunds > refund @ weather)
        True
    """

    def __init__(self, dimension: int = 512) -> None:
        if dimension < 1:
            raise ValueError(f"a vector needs at least one number, not {dimension}")
        self._dimension = dimension

    def __repr__(self) -> str:
        return f"HashEmbedder({self._dimension})"

    @property
    def fingerprint(self) -> str:
        """Names algorithm and dimension."""
        return f"hashed character n-grams 1, {self._dimension}"

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        return self._dimension

    def knows(self, language: str) -> bool:
        """Always true: spelling is compared alike in every language."""
        return True

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Unit vectors, shape ``(len(texts), dimension)``; an empty text gets a vector too."""
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            words = unicodedata.normalize("NFKC", text).casefold().replace("_", " ").split() or [""]
            for padded in (f"<{word}>" for word in words):
                for size in (2, 3, 4):
                    for at in range(max(1, len(padded) - size + 1)):
                        number = zlib.crc32(padded[at : at + size].encode("utf-8", "surrogatepass"))
                        vector[number % self._dimension] += 1 if number & 0x8000_0000 else -1
            norm = float(np.linalg.norm(vector))
            if norm == 0:  # the signs cancelled each other out
                vector[0] = norm = 1.0
            vector /= norm
        return vectors
