"""A small alert service on loopback, with real sockets: it can answer 503 by plan, go down, and come up again."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from .alert_book import AlertBook, BadRequest, NoSuchAlert

MAX_BODY = 64 * 1024
MAX_DRAINED = 1024 * 1024
IDLE_SECONDS = 2.0
"""A client that says nothing for so long is dropped, so that shutting down never waits for it longer."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The first `times` requests of paths that begin with `path` are answered with an error.

    Attributes:
        path: e.g. ``"/alerts/AL-1042"``; ``"/"`` means every request.
        times: how many requests, counted from the moment the fault is planned.
        status: 503 or 429, for instance.
        retry_after: whole seconds for the Retry-After header (RFC 9110, section 10.2.3), or None for no header.
        method: only requests of this method; "" for all.
    """

    path: str
    times: int
    status: int = 503
    retry_after: int | None = None
    method: str = ""


class AlertService:
    """Serves an `AlertBook` over HTTP on 127.0.0.1, as a context manager.

    Args:
        book: the alerts; they outlive going down.
        faults: planned errors; the first one that matches a request and has not been used up counts.

    Example:
        >>> with AlertService(AlertBook(), faults=[Fault("/alerts", times=2)]) as service:
        ...     print(service.url)                                      # doctest: +SKIP
        http://127.0.0.1:40213
    """

    def __init__(self, book: AlertBook, faults: Iterable[Fault] = ()) -> None:
        self.book = book
        self._faults: list[tuple[Fault, list[int]]] = []
        self._lock = threading.Lock()
        self._requests: list[str] = []
        self._port = 0
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        for fault in faults:
            self.plan(fault)

    def plan(self, fault: Fault) -> None:
        """Adds a fault while the service runs."""
        with self._lock:
            self._faults.append((fault, [fault.times]))

    @property
    def url(self) -> str:
        """Address without trailing slash; stays the same when the service goes down and comes up again.

        Raises:
            RuntimeError: the service has never been up.
        """
        if not self._port:
            raise RuntimeError("the alert service has no address before it is up: use it in a with statement")
        return f"http://127.0.0.1:{self._port}"

    @property
    def requests(self) -> tuple[str, ...]:
        """Every request that reached the service, e.g. ``"GET /alerts 503"``, in order of their answers."""
        with self._lock:
            return tuple(self._requests)

    def up(self) -> None:
        """Begins to listen: on a free port the first time, on the same port ever after.

        Raises:
            RuntimeError: it is up already.
            OSError: another program has taken the port in the meantime.
        """
        if self._server is not None:
            raise RuntimeError("the alert service is up already")
        self._server = _Server(("127.0.0.1", self._port), self)
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, name="alert-service"
        )
        self._thread.start()

    def down(self) -> None:
        """Closes the listening socket, so that connections are refused, and waits for its threads to end."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server = self._thread = None

    def __enter__(self) -> AlertService:
        self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    def _planned(self, method: str, path: str) -> Fault | None:
        """The fault that this request runs into, used up by one."""
        with self._lock:
            for fault, left in self._faults:
                if left[0] > 0 and path.startswith(fault.path) and fault.method in ("", method):
                    left[0] -= 1
                    return fault
        return None

    def _note(self, line: str) -> None:
        with self._lock:
            self._requests.append(line)


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close waits for the threads of running requests
    block_on_close = True
    allow_reuse_address = True
    request_queue_size = 128  # the default of 5 makes simultaneous clients wait a second for a retransmission

    def __init__(self, address: tuple[str, int], service: AlertService) -> None:
        self.service = service
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left before its answer is no error of ours; everything else is reported as usual."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = IDLE_SECONDS

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def _answer(self, method: str) -> None:
        service = self.server.service
        url = urlsplit(self.path)
        body = self._body()
        fault = service._planned(method, url.path)
        headers = {}
        if fault is not None:
            status, answer = fault.status, {"error": "the alert service is overloaded, try again"}
            if fault.retry_after is not None:
                headers["Retry-After"] = str(fault.retry_after)
        else:
            status, answer = _respond(service.book, method, url.path, dict(parse_qsl(url.query)), body)
        service._note(f"{method} {url.path} {status}")
        content = json.dumps(answer, ensure_ascii=False).encode()
        self.send_response(status)
        for name, value in (
            {"Content-Type": "application/json", "Content-Length": str(len(content))} | headers
        ).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> bytes | None:
        """The request's body, or None when its length is senseless or too large.

        A body that is too large is read and dropped up to a limit: closing a socket with unread data would
        reset the connection, and the client would never see the answer.
        """
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > MAX_DRAINED:
            return None
        body = self.rfile.read(int(length))
        return body if len(body) <= MAX_BODY else None

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on stderr: `AlertService.requests` is the record."""


def _respond(book: AlertBook, method: str, path: str, query: dict[str, str], body: bytes | None) -> tuple[int, Any]:
    """Status and JSON answer of a request that no fault stopped."""
    if body is None:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {
            "error": f"send a body of at most {MAX_BODY} bytes with its length"
        }
    try:
        match method, path.strip("/").split("/"):
            case "GET", ["health"]:
                return HTTPStatus.OK, {"status": "up"}
            case "GET", ["alerts"]:
                return HTTPStatus.OK, {"alerts": book.find(query)}
            case "GET", ["alerts", alert_id]:
                return HTTPStatus.OK, book.get(alert_id)
            case "GET", ["alerts", alert_id, "history"]:
                return HTTPStatus.OK, {"history": book.history(alert_id)}
            case "POST", ["alerts", alert_id, "acknowledge" | "silence" | "resolve" as action]:
                return HTTPStatus.OK, book.act(alert_id, action, _object(body))
    except NoSuchAlert as error:
        return HTTPStatus.NOT_FOUND, {"error": str(error)}
    except BadRequest as error:
        return HTTPStatus.UNPROCESSABLE_ENTITY, {"error": str(error)}
    return HTTPStatus.NOT_FOUND, {"error": f"nothing answers {method} {path}"}


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequest("the body must be JSON") from error
    if not isinstance(value, dict):
        raise BadRequest("the body must be a JSON object")
    return value
