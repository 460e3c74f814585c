"""A language model that says what a test tells it to, behind a real OpenAI-compatible HTTP server on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What the server answers to one request.

    Attributes:
        body: the response's text.
        status: the HTTP status.
        wait_for: when set, the answer is held back until the event is set (or the server is closed).
    """

    body: str
    status: int = 200
    wait_for: threading.Event | None = None


def completion(
    text: str | None = None, calls: Sequence[tuple[str, Any]] = (), tokens: tuple[int, int] = (100, 20)
) -> Reply:
    """A chat completion with a text or with native calls ``(name, arguments)``; text arguments go out as is."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{place}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
                },
            }
            for place, (name, arguments) in enumerate(calls)
        ]
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
    }
    return Reply(json.dumps(body, ensure_ascii=False))


def json_answer(
    *calls: tuple[str, dict[str, Any]], reason: str = "because", none_fits: bool = False, **fields: Any
) -> Reply:
    """A completion whose text is an answer in Toolpath's JSON form, with calls c1, c2, … that depend on nothing."""
    shaped = [
        {"id": f"c{place}", "tool": tool, "arguments": arguments, "depends_on": []}
        for place, (tool, arguments) in enumerate(calls, start=1)
    ]
    return completion(json.dumps({"reason": reason, "none_fits": none_fits, "calls": shaped, **fields}))


def http_error(status: int, message: str = "scripted failure") -> Reply:
    """An error as OpenAI-compatible servers write it."""
    return Reply(json.dumps({"error": {"message": message, "type": "error", "code": status}}), status)


Script = Iterable[Reply] | Callable[[dict[str, Any]], Reply]


@dataclass
class ScriptedModel:
    """The server. Use it as a context manager; requests beyond the script are answered with HTTP 500.

    Attributes:
        script: the replies in order, or a function from the request's JSON to a reply.
        requests: the JSON bodies that came in, in order.
    """

    script: Script
    requests: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> ScriptedModel:
        replies = None if callable(self.script) else iter(self.script)
        owner, lock, self._closed = self, threading.Lock(), threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    owner.requests.append(request)
                    if callable(owner.script):
                        reply = owner.script(request)
                    else:
                        reply = next(replies or iter(()), http_error(500, "the script is at its end"))
                while reply.wait_for is not None and not reply.wait_for.wait(0.01) and not owner._closed.is_set():
                    pass
                body = reply.body.encode()
                try:
                    self.send_response(reply.status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.send_header("retry-after-ms", "1")
                    self.end_headers()
                    self.wfile.write(body)
                except ConnectionError:
                    self.close_connection = True  # the client gave up; a test wanted that

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: a test's output is its own."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def base_url(self) -> str:
        """What `LLMSelector` takes as `base_url`."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def prompt(self, number: int = -1) -> str:
        """The texts of all messages of one request, one after the other."""
        return "\n".join(str(message.get("content")) for message in self.requests[number]["messages"])
