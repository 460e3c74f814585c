"""From an exception to an error type: one table by class, one by HTTP status, and nothing hidden elsewhere."""

from __future__ import annotations

import email.message
import http.client
import socket
import sqlite3
import urllib.error
from collections.abc import Mapping

import anyio
import pydantic

from ...catalog.errors import (
    ERROR_TABLE,
    CatalogError,
    ErrorCategory,
    ErrorInfo,
    ErrorMeaning,
    MissingExtraError,
    RetryAdvice,
    ToolError,
    UnknownToolError,
)
from .redaction import redact

HTTP_STATUS: Mapping[int, str] = {
    400: "validation_error",
    401: "authentication_expired",
    403: "permission_denied",
    404: "not_found",
    405: "interface_changed",
    408: "timeout",
    409: "ambiguous",
    410: "tool_retired",
    422: "validation_error",
    425: "unavailable",
    429: "rate_limited",
    500: "unavailable",
    501: "interface_changed",
    502: "unavailable",
    503: "unavailable",
    504: "timeout",
}
"""HTTP status to error type, after the meanings in RFC 9110 and RFC 6585 (429). Any other status of 400 and more
means what the first of its class means (400, 500), as RFC 9110, section 15, asks for."""

BY_CLASS: tuple[tuple[type[BaseException], str], ...] = (
    (UnknownToolError, "unknown_tool"),
    (MissingExtraError, "dependency_missing"),
    (pydantic.ValidationError, "validation_error"),
    (TimeoutError, "timeout"),
    (ConnectionError, "unavailable"),
    (socket.gaierror, "unavailable"),
    (urllib.error.URLError, "unavailable"),
    (anyio.BrokenResourceError, "unavailable"),
    (anyio.ClosedResourceError, "unavailable"),
    (anyio.EndOfStream, "unavailable"),
    (http.client.IncompleteRead, "unavailable"),
    (http.client.BadStatusLine, "unavailable"),
    (FileNotFoundError, "not_found"),
    (PermissionError, "permission_denied"),
    (ImportError, "dependency_missing"),
)
"""Exception class to error type; the first row that matches counts."""

BY_CLASS_NAME: Mapping[str, str] = {
    "httpx.TimeoutException": "timeout",
    "httpx.TransportError": "unavailable",
    "requests.exceptions.Timeout": "timeout",
    "requests.exceptions.ConnectionError": "unavailable",
    "aiohttp.client_exceptions.ClientConnectionError": "unavailable",
    "trio.TooSlowError": "timeout",
}
"""The same for libraries that Toolpath does not import: module and class name, looked up along the bases."""

_SEMANTIC = ErrorMeaning(ErrorCategory.SEMANTIC, RetryAdvice.CORRECTED)
_MEANS_SEMANTIC = (ValueError, TypeError, LookupError, ArithmeticError, CatalogError)
_LONGEST_RETRY_AFTER = 31_536_000.0  # a year of seconds


def classify(error: BaseException) -> ErrorInfo:
    """What `error` means for the next move.

    A `ToolError` keeps what it says. An HTTP error is read by its status (and Retry-After), a known class by
    the tables. Anything else is a `tool_error`: of category semantic when the values look wrong (`ValueError`,
    `TypeError`, `LookupError`, arithmetic), else systemic. A group of one, as task groups raise it, is read as what
    is in it. Texts are redacted.
    """
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, ToolError):
        return redacted(error.info)
    error_type = _error_type(error)
    if isinstance(error, pydantic.ValidationError):
        fields = {".".join(map(str, item["loc"])) or "$": redact(item["msg"]) for item in error.errors()}
        return ErrorInfo(error_type=error_type, message="the values do not fit", fields=fields)
    message = redact(_message(error))
    if error_type == "tool_error":
        meaning = _SEMANTIC if isinstance(error, _MEANS_SEMANTIC) else ERROR_TABLE["tool_error"]
        return ErrorInfo(error_type=error_type, message=message, meaning=meaning)
    return ErrorInfo(error_type=error_type, message=message, retry_after=_retry_after(error))


def redacted(info: ErrorInfo) -> ErrorInfo:
    """`info` with its texts fit to be shown."""
    fields = {path: redact(fault) for path, fault in info.fields.items()}
    texts = {"message": redact(info.message), "suggestion": redact(info.suggestion), "fields": fields}
    return info.model_copy(update=texts)


def _error_type(error: BaseException) -> str:
    status = _http_status(error)
    if status >= 400:
        return HTTP_STATUS.get(status) or HTTP_STATUS[status // 100 * 100]
    if isinstance(error, sqlite3.OperationalError) and ("locked" in str(error) or "busy" in str(error)):
        return "unavailable"
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, TimeoutError):
        return "timeout"
    for cls, error_type in BY_CLASS:
        if isinstance(error, cls):
            return error_type
    for base in type(error).__mro__:
        error_type = BY_CLASS_NAME.get(f"{base.__module__}.{base.__qualname__}", "")
        if error_type:
            return error_type
    return "tool_error"


def _message(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001 - an exception that cannot say what it is must not bring the run down
        return name
    if not text:
        return name
    return text if isinstance(error, CatalogError | TimeoutError) else f"{name}: {text}"


def _http_status(error: BaseException) -> int:
    """The status that `error` carries, as urllib, httpx, requests and aiohttp keep it, or 0."""
    for holder in (_attribute(error, "response"), error):
        for attribute in ("status_code", "status", "code"):
            status = _attribute(holder, attribute)
            if isinstance(status, int) and 100 <= status < 600:
                return status
    return 0


def _retry_after(error: BaseException) -> float | None:
    """Seconds from a Retry-After header, when it gives seconds (its date form is left alone)."""
    for holder in (_attribute(error, "response"), error):
        headers = _attribute(holder, "headers")
        if not isinstance(headers, Mapping | email.message.Message):
            continue
        value = headers.get("Retry-After") or headers.get("retry-after")
        if isinstance(value, str) and value.strip().isdecimal():
            return min(float(value), _LONGEST_RETRY_AFTER)
    return None


def _attribute(holder: object, name: str) -> object:
    """An attribute, or None when there is none or asking for it raises (httpx's properties do)."""
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - whatever it is, there is nothing to read
        return None
