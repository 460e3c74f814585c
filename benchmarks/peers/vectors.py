"""MiniLM's vectors for everybody: computed once, kept on disk, served to the peers' processes over a loopback port."""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from toolpath.router.embedding import Embedder, SentenceTransformerEmbedder, TextKind, Vectors
from toolpath.router.embedding.minilm import default_folder

from .records import Prices

AT_ONCE = 512
"""Texts that are embedded between two commits."""

SAMPLE_REQUESTS = 30
SAMPLE_TEXTS = 256


def plain_minilm() -> SentenceTransformerEmbedder:
    """The verified MiniLM weights and nothing else, whatever Toolpath's default embedder adds to them."""
    return SentenceTransformerEmbedder(default_folder(), languages=("en",), device="cpu")


class StoredEmbedder:
    """An embedder whose vectors are kept on disk and whose time is kept apart. For several threads.

    Args:
        inner: makes the vectors.
        folder: holds one file for each embedder.
        symmetric: the embedder gives a text the same vector as a request and as a tool, as MiniLM does.

    Attributes:
        inner: as given.
        texts: texts asked for so far.
        calls: in how many calls.
        seconds: time spent on them, on vectors from the disk as well.
    """

    def __init__(self, inner: Embedder, folder: Path, *, symmetric: bool = False) -> None:
        self.inner = inner
        self._symmetric = symmetric
        self.texts = 0
        self.calls = 0
        self.seconds = 0.0
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{inner.fingerprint}.sqlite"
        self._known: dict[bytes, Vectors] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return repr(self.inner)

    @property
    def fingerprint(self) -> str:
        """The inner embedder's."""
        return self.inner.fingerprint

    @property
    def dimension(self) -> int:
        """The inner embedder's."""
        return self.inner.dimension

    def knows(self, language: str) -> bool:
        """Whether the inner embedder does."""
        return self.inner.knows(language)

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """The inner embedder's vectors."""
        started = time.perf_counter()
        with self._lock:
            keys = [self._key(text, kind) for text in texts]
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
            if missing:
                with closing(sqlite3.connect(self._path)) as file:
                    self._read_or_make(missing, kind, file)
            vectors = [self._known[key] for key in keys]
            self.texts += len(texts)
            self.calls += 1
            self.seconds += time.perf_counter() - started
        return np.stack(vectors) if vectors else np.zeros((0, self.dimension), np.float32)

    def _key(self, text: str, kind: TextKind) -> bytes:
        named = text if self._symmetric else f"{kind}\n{text}"
        return hashlib.sha256(named.encode("utf-8", "replace")).digest()

    def _read_or_make(self, missing: dict[bytes, str], kind: TextKind, file: sqlite3.Connection) -> None:
        file.execute("create table if not exists vectors (key blob primary key, vector blob) without rowid")
        for key in missing:
            row = file.execute("select vector from vectors where key = ?", (key,)).fetchone()
            if row is not None:
                self._known[key] = np.frombuffer(row[0], np.float32)
        new = sorted(((key, text) for key, text in missing.items() if key not in self._known), key=_length)
        for at in range(0, len(new), AT_ONCE):
            part = new[at : at + AT_ONCE]
            made = zip(part, self.inner.embed([text for _, text in part], kind), strict=True)
            vectors = {key: vector for (key, _), vector in made}
            file.executemany(
                "insert or ignore into vectors values (?, ?)",
                [(key, vector.tobytes()) for key, vector in vectors.items()],
            )
            file.commit()
            self._known.update(vectors)


def _length(item: tuple[bytes, str]) -> int:
    return len(item[1])


def prices_of(embedder: Embedder, requests: Sequence[str], texts: Sequence[str]) -> Prices:
    """Measures what an embedder costs on some of these requests, one by one, and of these tool texts, in one go."""
    embedder.embed(texts[:1], "tool")  # loads the model
    alone = []
    for request in requests[:SAMPLE_REQUESTS]:
        started = time.perf_counter()
        embedder.embed([request], "query")
        alone.append(time.perf_counter() - started)
    sample = texts[:SAMPLE_TEXTS]
    started = time.perf_counter()
    embedder.embed(sample, "tool")
    return Prices(statistics.median(alone), (time.perf_counter() - started) / len(sample))


class EmbeddingServer:
    """Serves an embedder on a loopback port in OpenAI's wire format, ``POST /v1/embeddings``. A context manager.

    Args:
        embedder: makes the vectors.

    Attributes:
        url: base address, ``http://127.0.0.1:PORT/v1``.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(embedder))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, name="embedding-server", daemon=True)

    def __enter__(self) -> EmbeddingServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler_for(embedder: Embedder) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # keeps the connection: a new one for every request would count as latency
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            try:
                order = json.loads(self.rfile.read(length))
                texts = [order["input"]] if isinstance(order["input"], str) else list(order["input"])
                vectors = embedder.embed(texts, "tool")
            except Exception as error:  # noqa: BLE001  the peer is told, and reports it
                self._answer(500, {"error": f"{type(error).__name__}: {error}"})
                return
            rows = [
                {"object": "embedding", "index": at, "embedding": base64.b64encode(vector.tobytes()).decode()}
                for at, vector in enumerate(vectors)
            ]
            self._answer(200, {"object": "list", "model": "minilm", "data": rows})

        def _answer(self, status: int, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Silent: a line for each request would bury the benchmark's own."""

    return Handler
