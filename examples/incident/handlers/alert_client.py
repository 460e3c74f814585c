"""Speaks HTTP with the alert service, and says in Toolpath's error types what went wrong."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from toolpath.catalog import ToolError

TIMEOUT_SECONDS = 3.0
MAX_ANSWER = 1_000_000

_ERROR_TYPES = {
    400: "validation_error",
    404: "not_found",
    422: "validation_error",
    429: "rate_limited",
    503: "unavailable",
}


@dataclass(frozen=True, slots=True)
class AlertClient:
    """A client of one alert service.

    Attributes:
        url: e.g. ``"http://127.0.0.1:8080"``.
        timeout: seconds for connecting, and for each wait for the answer.
    """

    url: str
    timeout: float = TIMEOUT_SECONDS

    def get(self, *path: str, query: Mapping[str, Any] | None = None) -> Any:
        """The JSON answer of a GET request.

        Raises:
            ToolError: "unavailable" (503 or another error of the server, a refused or broken connection),
                "rate_limited" (429), "timeout", "not_found" (404), "validation_error" (400, 422), and
                "interface_changed" for an answer that cannot be read.
        """
        target = _target(path)
        return self._send("GET", f"{target}?{urlencode(query)}" if query else target, None)

    def post(self, *path: str, body: Mapping[str, Any]) -> Any:
        """The JSON answer of a POST request.

        Raises:
            ToolError: as `get`.
        """
        return self._send("POST", _target(path), json.dumps(body).encode())

    def _send(self, method: str, target: str, body: bytes | None) -> Any:
        host = urlsplit(self.url).netloc
        try:
            with closing(http.client.HTTPConnection(host, timeout=self.timeout)) as connection:
                connection.request(method, target, body, {"Content-Type": "application/json"} if body else {})
                response = connection.getresponse()
                status, content = response.status, response.read(MAX_ANSWER)
                wait = response.getheader("Retry-After", "")
                cut_short = bool(response.length)  # bytes that were announced and not read
        except TimeoutError as error:
            raise ToolError(f"the alert service did not answer within {self.timeout:g} s", "timeout") from error
        except (OSError, http.client.HTTPException) as error:
            reason = "refuses connections" if isinstance(error, ConnectionRefusedError) else "broke the connection"
            raise ToolError(f"the alert service {reason}", "unavailable") from error
        if len(content) == MAX_ANSWER:
            raise ToolError(f"the alert service answered with {MAX_ANSWER} bytes or more", "interface_changed")
        if cut_short:
            raise ToolError("the alert service broke the connection", "unavailable")
        answer = _read(content, status)
        if status < 300:
            return answer
        message = answer.get("error", "no reason given") if isinstance(answer, dict) else "no reason given"
        error_type = _ERROR_TYPES.get(status, "unavailable" if status >= 500 else "interface_changed")
        raise ToolError(
            f"the alert service answered {status}: {message}",
            error_type,
            retry_after=float(wait) if wait.isdecimal() else None,
        )


def _target(path: tuple[str, ...]) -> str:
    return "/" + "/".join(quote(part, safe="") for part in path)


def _read(content: bytes, status: int) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        error_type = "unavailable" if status >= 500 else "interface_changed"
        raise ToolError(f"the alert service answered {status} with something that is not JSON", error_type) from error
