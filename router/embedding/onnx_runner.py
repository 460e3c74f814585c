"""Runs an exported model: tokenizers and onnxruntime, and nothing of torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...catalog.errors import EmbedderError
from .batching import length_batches
from .onnx_cache import Export
from .protocol import TextKind, Vectors

BATCH_TEXTS = 64
"""What one run of the model takes at most: bounds its memory, and fills two cores long before."""
PADDING = 32
"""Word pieces of padding that cost about what a run of its own costs. With 96 public requests of 25 pieces on average,
16 at a time, 25 to 100 took 6.7 ms a text on a busy machine; without a limit it took 16 ms, one by one 8.7 ms."""


class Runner:
    """An export that is loaded. May be used by several threads.

    Args:
        export: what to load.
        threads: that one run may use; None: onnxruntime's choice.

    Raises:
        EmbedderError: the files cannot be loaded.
    """

    def __init__(self, export: Export, threads: int | None) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.export = export
        options: Any = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # the export did it
        options.add_session_config_entry("session.force_spinning_stop", "1")  # two cores are needed for other things
        if threads is not None:
            options.intra_op_num_threads = threads
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(export.model), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer: Any = Tokenizer.from_file(str(export.tokenizer))
        except Exception as error:
            raise EmbedderError(
                f"the ONNX export in {export.folder} cannot be loaded ({error}); remove the folder and it is made anew"
            ) from error
        self._tokenizer.enable_truncation(export.max_tokens)
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Unit vectors, shape ``(len(texts), dimension)``, computed in batches of texts of like length.

        Raises:
            EmbedderError: the model fails, or gives numbers that are not finite.
        """
        prefix = self.export.prefixes[kind]
        clean = [(prefix + text).encode("utf-8", "replace").decode() for text in texts]  # no lone surrogates
        pieces = [encoding.ids for encoding in self._tokenizer.encode_batch(clean)]
        vectors = np.empty((len(texts), self.export.dimension), np.float32)
        for batch in length_batches([len(of_text) for of_text in pieces], PADDING, BATCH_TEXTS):
            vectors[batch] = self._run([pieces[at] for at in batch])
        if not np.isfinite(vectors).all():
            raise EmbedderError("the ONNX export gave numbers that are not finite; its weights may be damaged")
        return vectors

    def _run(self, pieces: Sequence[Sequence[int]]) -> Vectors:
        longest = max(map(len, pieces))
        ids = np.full((len(pieces), longest), self.export.padding, np.int64)
        mask = np.zeros((len(pieces), longest), np.int64)
        for row, of_text in enumerate(pieces):
            ids[row, : len(of_text)] = of_text
            mask[row, : len(of_text)] = 1
        try:
            vectors: Vectors = self._session.run(None, {"ids": ids, "mask": mask})[0]
        except Exception as error:
            raise EmbedderError(f"the ONNX export failed to embed {len(pieces)} texts: {error}") from error
        return vectors
