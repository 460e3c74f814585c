"""What the dense arm asks of whatever turns texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]

TextKind = Literal["query", "tool"]


class Embedder(Protocol):
    """Whatever turns texts into vectors for the dense arm. `embed` may be called from several threads."""

    @property
    def fingerprint(self) -> str:
        """Names the vectors this embedder makes: a saved index of another fingerprint is never searched."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        ...

    def knows(self, language: str) -> bool:
        """Whether texts in this language (ISO 639-1, ``"und"`` for none) get vectors that mean something."""
        ...

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Unit vectors, shape ``(len(texts), dimension)``, float32.

        Raises:
            EmbedderError: the model is missing, altered, cannot be reached, or gives unusable vectors.
        """
        ...
