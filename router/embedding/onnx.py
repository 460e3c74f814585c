"""The same embedder without torch: a model exported once to ONNX, run by onnxruntime."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from ...catalog.errors import MissingExtraError
from .default import default_embedder
from .onnx_cache import Export, open_export, valid_export
from .onnx_runner import Runner
from .protocol import TextKind, Vectors
from .sentence_transformer import SentenceTransformerEmbedder

EXTRA = "onnx"
EXPORT_VERSION = 1
"""Raised when an export of the same weights would come out differently: they are then made anew."""

Precision = Literal["fp32", "int8"]


class OnnxEmbedder:
    """A sentence-transformers model exported to ONNX: the same vectors, several times sooner, and no torch to load.

    The model is exported once, through the loaded `source` (so an update merged into its weights comes along), into
    the user's cache: written aside, compared with the source on texts of several lengths, and renamed. Only that needs
    torch. Later the export is found by the source's fingerprint, and its SHA-256 is checked before it is run.

    With ``precision="fp32"`` the vectors are those of the source up to rounding (the export is refused below a cosine
    of 0.999; 0.9999999 was seen with MiniLM), so the embedder has the source's fingerprint: an index that one has built
    is searched by the other. With ``"int8"`` weights and activations are rounded to 8 bits: a smaller model that
    embeds a catalog faster, whose vectors are near those of the source but not the same, under a fingerprint of their
    own. They also depend a little on the processor's instructions.

    Args:
        source: the model. Default: `default_embedder()`.
        precision: ``"fp32"`` or ``"int8"``.
        cache: folder for exports. Default: ``onnx`` in the user's cache of Toolpath.
        threads: that one run may use. Default: onnxruntime's choice, the number of cores.

    Raises:
        MissingExtraError: onnxruntime is not installed.
        ValueError: an unknown precision.

    Example:
        >>> embedder = OnnxEmbedder()
        >>> embedder.fingerprint == default_embedder().fingerprint
        True
    """

    def __init__(
        self,
        source: SentenceTransformerEmbedder | None = None,
        *,
        precision: Precision = "fp32",
        cache: str | Path | None = None,
        threads: int | None = None,
    ) -> None:
        if importlib.util.find_spec("onnxruntime") is None:
            raise MissingExtraError("running an embedder with ONNX", EXTRA)
        if precision not in ("fp32", "int8"):
            raise ValueError(f"the precision is 'fp32' or 'int8', not {precision!r}")
        self._source = source if source is not None else default_embedder()
        self._precision: Precision = precision
        self._cache = Path(cache) if cache is not None else None
        self._threads = threads
        self._lock = threading.RLock()
        self._runner: Runner | None = None

    def __repr__(self) -> str:
        return f"OnnxEmbedder({self._source!r}, precision={self._precision!r})"

    @property
    def fingerprint(self) -> str:
        """That of the source in fp32, which gives the same vectors; one of its own in int8.

        Raises:
            EmbedderError: the source's files are missing, or not the ones that it expects.
        """
        if self._precision == "fp32":
            return self._source.fingerprint
        return _digest("int8", EXPORT_VERSION, self._source.fingerprint)

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        return self._source.dimension if self._runner is None else self._runner.export.dimension

    def knows(self, language: str) -> bool:
        """Whether the source was trained on `language`."""
        return self._source.knows(language)

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Unit vectors, shape ``(len(texts), dimension)``; texts of like length are computed together.

        Raises:
            EmbedderError: the model cannot be exported or loaded, fails, or gives numbers that are not finite.
        """
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        with self._lock:
            runner = self._runner if self._runner is not None else self._loaded()
        return runner.embed(texts, kind)

    def export(self) -> Path:
        """The folder of the export, which is made when it is not there.

        Raises:
            EmbedderError: the model cannot be exported.
            MissingExtraError: the export needs onnx, which is not installed.
        """
        with self._lock:
            return self._opened().folder

    def _loaded(self) -> Runner:
        self._runner = Runner(self._opened(), self._threads)
        return self._runner

    def _opened(self) -> Export:
        folder = self._cache if self._cache is not None else _user_cache()
        key = _digest(self._precision, EXPORT_VERSION, self._source.fingerprint)
        found = valid_export(folder / key)
        if found is not None:
            return found
        from .onnx_export import write_export

        return open_export(folder / key, lambda aside: write_export(self._source, self._precision, aside))


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(["onnx", *parts]).encode()).hexdigest()[:32]


def _user_cache() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("toolpath", appauthor=False) / "onnx"
