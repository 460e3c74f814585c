"""What the runner and an adapter say to each other: JSON lines over standard input and output.

Runs inside every peer's environment, where nothing but the peer is installed: standard library only.

The runner writes the catalog first, then one request a line, and reads one line for each. The time that a peer spends
waiting for vectors is taken out of its own and reported as texts embedded, so that the same price of embedding can be
added to every peer: whether a vector came from a cache must not make anybody faster.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import sys
import threading
import time
import traceback
import urllib.parse
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

BATCH = 256
"""Texts in one call of the embedding server."""

Find = Callable[[str, int], Sequence[str]]
"""Names of the best tools for a request, at most so many, best first."""


@dataclass(frozen=True)
class PeerTool:
    """A tool as every peer gets it; `parameters` is a JSON Schema object, `server` and `category` may be empty."""

    name: str
    description: str
    parameters: dict[str, Any]
    server: str
    category: str


class Embeddings:
    """Vectors from the runner's server, which speaks OpenAI's wire format. May be called from several threads.

    Attributes:
        url: base of the server, for peers that bring their own client.
        texts: texts embedded so far.
        calls: in how many calls.
        seconds: time spent waiting for them.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.texts = 0
        self.calls = 0
        self.seconds = 0.0
        parts = urllib.parse.urlsplit(url)
        self._path = f"{parts.path}/embeddings"
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=600)
        self._lock = threading.Lock()

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector a text."""
        started = time.perf_counter()
        with self._lock:
            vectors = [vector for at in range(0, len(texts), BATCH) for vector in self._ask(texts[at : at + BATCH])]
            self.texts += len(texts)
            self.calls += 1
            self.seconds += time.perf_counter() - started
        return vectors

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        body = json.dumps({"model": "minilm", "input": list(texts), "encoding_format": "base64"})
        self._connection.request("POST", self._path, body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"the embedding server refused: {answer}")
        return [array("f", base64.b64decode(row["embedding"])).tolist() for row in answer["data"]]


def serve(build: Callable[[Sequence[PeerTool], Embeddings, dict[str, Any]], Find]) -> None:
    """Answers the runner until it closes the line. A request that makes the peer raise is answered with the error.

    Args:
        build: makes the peer's index of the tools and returns how to search it. Gets the tools, the embedder and the
            options of the row.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the peer prints must not stand between the answers
    order = json.loads(sys.stdin.readline())
    embeddings = Embeddings(order["embeddings"])
    tools = [PeerTool(**tool) for tool in order["tools"]]

    def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
        texts, calls, waited, started = embeddings.texts, embeddings.calls, embeddings.seconds, time.perf_counter()
        result = work()
        own = time.perf_counter() - started - (embeddings.seconds - waited)
        embedded, called = embeddings.texts - texts, embeddings.calls - calls
        return result, {"seconds": max(own, 0.0), "embedded": embedded, "calls": called}

    def answer(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    find, took = timed(lambda: build(tools, embeddings, order["options"]))
    answer(took)
    for line in sys.stdin:
        request = json.loads(line)["request"]
        try:
            names, took = timed(lambda request=request: list(find(request, order["k"])))
        except Exception as error:  # noqa: BLE001  one request that a peer cannot take must not cost it the others
            traceback.print_exc()
            answer({"error": f"{type(error).__name__}: {error}"})
        else:
            answer({"names": [str(name) for name in names], **took})
