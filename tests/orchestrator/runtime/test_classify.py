"""From exceptions to error types: every row of the tables, and errors as other libraries raise them."""

from __future__ import annotations

import email.message
import http.client
import io
import json
import socket
import sqlite3
import ssl
import urllib.error
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import anyio
import httpx
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import ERROR_TABLE, ErrorInfo, ToolError, UnknownToolError
from toolpath.catalog.errors import InputError, MissingExtraError, SchemaError
from toolpath.orchestrator.runtime import classify
from toolpath.orchestrator.runtime.classify import BY_CLASS_NAME, HTTP_STATUS


def named(qualified: str, base: type[Exception] = Exception) -> type[Exception]:
    """A class that looks as if it came from another library."""
    module, _, name = qualified.rpartition(".")
    return type(name, (base,), {"__module__": module})


class Model(pydantic.BaseModel):
    limit: int
    items: list[int] = []


def pydantic_error(**data: Any) -> pydantic.ValidationError:
    with pytest.raises(pydantic.ValidationError) as caught:
        Model.model_validate(data)
    return caught.value


@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        (UnknownToolError("x"), "unknown_tool"),
        (MissingExtraError("x", "llm"), "dependency_missing"),
        (pydantic_error(limit="x"), "validation_error"),
        (TimeoutError(), "timeout"),
        (TimeoutError(), "timeout"),
        (ConnectionRefusedError("x"), "unavailable"),
        (ConnectionResetError("x"), "unavailable"),
        (BrokenPipeError("x"), "unavailable"),
        (socket.gaierror(8, "unknown host"), "unavailable"),
        (urllib.error.URLError(ConnectionRefusedError("x")), "unavailable"),
        (urllib.error.URLError(TimeoutError("x")), "timeout"),
        (http.client.RemoteDisconnected("x"), "unavailable"),
        (http.client.IncompleteRead(b"x"), "unavailable"),
        (anyio.BrokenResourceError(), "unavailable"),
        (anyio.ClosedResourceError(), "unavailable"),
        (anyio.EndOfStream(), "unavailable"),
        (FileNotFoundError("x"), "not_found"),
        (PermissionError("x"), "permission_denied"),
        (ModuleNotFoundError("x"), "dependency_missing"),
        (sqlite3.OperationalError("database is locked"), "unavailable"),
        (sqlite3.OperationalError("no such table: x"), "tool_error"),
        (RuntimeError("x"), "tool_error"),
        (OSError(28, "no space left"), "tool_error"),
        (MemoryError(), "tool_error"),
        (ssl.SSLError("x"), "tool_error"),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_known_classes(error: Exception, error_type: str) -> None:
    assert classify(error).error_type == error_type


@pytest.mark.parametrize(
    ("error", "category", "retry"),
    [
        (ValueError("x"), "semantic", "corrected"),
        (TypeError("x"), "semantic", "corrected"),
        (KeyError("x"), "semantic", "corrected"),
        (IndexError("x"), "semantic", "corrected"),
        (ZeroDivisionError("x"), "semantic", "corrected"),
        (json.JSONDecodeError("x", "y", 0), "semantic", "corrected"),
        (SchemaError("x"), "semantic", "corrected"),
        (RuntimeError("x"), "systemic", "no"),
        (AssertionError("x"), "systemic", "no"),
        (RecursionError("x"), "systemic", "no"),
        (InputError({"x": "is missing"}), "systemic", "no"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_left_is_read_by_whether_the_values_look_wrong(error: Exception, category: str, retry: str) -> None:
    info = classify(error)
    assert (info.error_type, info.category, info.retry) == ("tool_error", category, retry)


@pytest.mark.parametrize("status", HTTP_STATUS)
def test_an_http_status_is_read_wherever_a_library_keeps_it(status: int) -> None:
    expected = HTTP_STATUS[status]
    request = httpx.Request("GET", "http://x")
    response = httpx.Response(status, headers={"retry-after": "7"}, request=request)
    aiohttp_like = named("aiohttp.client_exceptions.ClientResponseError")("x")
    aiohttp_like.status = HTTPStatus(status)  # type: ignore[attr-defined]
    requests_like = named("requests.exceptions.HTTPError", OSError)("x")
    requests_like.response = response  # type: ignore[attr-defined]
    headers = email.message.Message()
    headers["Retry-After"] = "7"
    urllibs = urllib.error.HTTPError("http://x", status, "x", headers, io.BytesIO())
    httpxs = httpx.HTTPStatusError("x", request=request, response=response)
    for error in (aiohttp_like, requests_like, urllibs, httpxs):
        assert classify(error).error_type == expected
        if error is not aiohttp_like:
            assert classify(error).retry_after == 7.0


@pytest.mark.parametrize(
    ("status", "error_type"),
    [
        (418, "validation_error"),
        (451, "validation_error"),
        (507, "unavailable"),
        (520, "unavailable"),
        (599, "unavailable"),
    ],
)
def test_a_status_that_is_not_in_the_table_means_what_its_class_means(status: int, error_type: str) -> None:
    error = urllib.error.HTTPError("http://x", status, "x", email.message.Message(), None)
    assert classify(error).error_type == error_type


@pytest.mark.parametrize("status", [0, 42, 200, 302, 1006, 99999, "503", None, 5.03])
def test_what_is_no_error_status_is_not_taken_for_one(status: Any) -> None:
    error = RuntimeError("x")
    error.code = status  # type: ignore[attr-defined]
    assert classify(error).error_type == "tool_error"


@pytest.mark.parametrize(("name", "error_type"), BY_CLASS_NAME.items())
def test_libraries_that_are_not_imported_are_known_by_name(name: str, error_type: str) -> None:
    cls = named(name)
    assert classify(cls("x")).error_type == error_type
    assert classify(type("Derived", (cls,), {})("x")).error_type == error_type


@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        (httpx.ConnectTimeout("x"), "timeout"),
        (httpx.ReadTimeout("x"), "timeout"),
        (httpx.ConnectError("x"), "unavailable"),
        (httpx.RemoteProtocolError("x"), "unavailable"),
        (httpx.InvalidURL("x"), "tool_error"),
    ],
)
def test_httpx_itself(error: Exception, error_type: str) -> None:
    assert classify(error).error_type == error_type


@pytest.mark.parametrize("value", ["0", "12", " 5 "])
def test_retry_after_is_read_in_seconds(value: str) -> None:
    assert classify(_busy({"Retry-After": value})).retry_after == float(value)


@pytest.mark.parametrize("value", ["", "soon", "-1", "1.5", "²", "Wed, 21 Oct 2026 07:28:00 GMT", None, 5, b"5"])
def test_other_forms_of_retry_after_are_left_alone(value: Any) -> None:
    assert classify(_busy({"Retry-After": value})).retry_after is None


def test_an_absurd_retry_after_stays_a_number_that_json_knows() -> None:
    info = classify(_busy({"retry-after": "9" * 5000}))
    json.dumps(info.model_dump(mode="json"), allow_nan=False)


def _busy(headers: Mapping[str, Any]) -> Exception:
    error = RuntimeError("busy")
    error.status_code, error.headers = 429, headers  # type: ignore[attr-defined]
    return error


def test_pydantic_errors_name_their_fields() -> None:
    info = classify(pydantic_error(limit="x", items=[1, "y"]))
    assert set(info.fields) == {"limit", "items.1"}
    assert info.retry == "corrected"


def test_a_tool_error_keeps_everything_but_its_secrets() -> None:
    error = ToolError(
        "cannot open /home/ann/x.txt",
        "not_found",
        fields={"path": "no /srv/data/y.txt"},
        suggestion="use password=hunter2",
        retry_after=4,
    )
    info = classify(error)
    assert info.message == "cannot open …/x.txt"
    assert info.fields == {"path": "no …/y.txt"}
    assert info.suggestion == "use password=[redacted]"
    assert info.retry_after == 4
    assert info.error_type == "not_found"


def test_a_group_of_one_is_read_as_what_is_in_it() -> None:
    group = ExceptionGroup("unhandled errors in a TaskGroup", [ExceptionGroup("inner", [ConnectionError("refused")])])
    assert classify(group) == classify(ConnectionError("refused"))
    several = ExceptionGroup("two", [ConnectionError("x"), ValueError("y")])
    assert classify(several).error_type == "tool_error"


def test_the_message_names_the_class_unless_the_text_says_enough() -> None:
    assert classify(KeyError("x")).message == "KeyError: 'x'"
    assert classify(RuntimeError()).message == "RuntimeError"
    assert classify(RuntimeError("  ")).message == "RuntimeError"
    assert classify(TimeoutError("took 5 s")).message == "took 5 s"


class HostileError(Exception):
    """Raises at every touch."""

    def __str__(self) -> str:
        raise RuntimeError("str")

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return super().__getattribute__(name)
        raise RuntimeError(name)


def test_an_exception_that_raises_at_every_touch_is_still_classified() -> None:
    assert classify(HostileError()).message == "HostileError"


@given(st.text(), st.sampled_from([ValueError, RuntimeError, OSError, TimeoutError, KeyError]))
def test_any_exception_becomes_a_row_of_the_table_and_strict_json(text: str, cls: type[Exception]) -> None:
    info = classify(cls(text))
    assert info.error_type in ERROR_TABLE
    assert isinstance(info, ErrorInfo)
    json.dumps(info.model_dump(mode="json"), allow_nan=False)
    assert len(info.message) <= 700
