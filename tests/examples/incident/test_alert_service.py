"""The alert service over real sockets: its answers, its planned faults, going down and coming up."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from examples.incident.alert_book import AlertBook, BadRequest
from examples.incident.alert_service import AlertService, Fault


def ask(service: AlertService, method: str, path: str, body: bytes | None = None) -> tuple[int, dict[str, str], Any]:
    connection = http.client.HTTPConnection(urlsplit(service.url).netloc, timeout=5)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), json.loads(response.read())
    finally:
        connection.close()


def post(service: AlertService, path: str, **details: object) -> tuple[int, Any]:
    status, _, answer = ask(service, "POST", path, json.dumps(details).encode())
    return status, answer


def test_it_lists_what_fires_newest_first(service: AlertService) -> None:
    status, _, answer = ask(service, "GET", "/alerts?severity=critical")
    assert status == 200
    assert [alert["id"] for alert in answer["alerts"]] == ["AL-1044", "AL-1043", "AL-1042"]


def test_an_acknowledged_alert_stops_firing_and_keeps_its_history(service: AlertService) -> None:
    status, alert = post(service, "/alerts/AL-1042/acknowledge", engineer="mei.chen", note="看一下")
    assert (status, alert["status"]) == (200, "acknowledged")
    post(service, "/alerts/AL-1042/acknowledge", engineer="mei.chen", note="看一下")
    _, _, answer = ask(service, "GET", "/alerts/AL-1042/history")
    assert [event["event"] for event in answer["history"]] == ["fired", "acknowledged"]  # the repeat left no trace
    _, _, listed = ask(service, "GET", "/alerts")
    assert "AL-1042" not in [alert["id"] for alert in listed["alerts"]]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/health", None, 200),
        ("GET", "/alerts/AL-9", None, 404),
        ("GET", "/", None, 404),
        ("GET", "/alerts?status=loud", None, 422),
        ("GET", "/alerts?limit=-1", None, 422),
        ("GET", "/alerts?colour=red", None, 422),
        ("POST", "/alerts/AL-1042/acknowledge", b"", 422),
        ("POST", "/alerts/AL-1042/acknowledge", b"[1]", 422),
        ("POST", "/alerts/AL-1042/acknowledge", b"[" * 50_000, 422),
        ("POST", "/alerts/AL-1042/silence", b'{"minutes": 0, "reason": "x"}', 422),
        ("POST", "/alerts/AL-1039/silence", b'{"minutes": 5, "reason": "x"}', 422),
        ("POST", "/alerts/AL-1042/silence", b"x" * 70_000, 413),
        ("POST", "/alerts/AL-1042/delete", b"{}", 404),
    ],
)
def test_senseless_requests_get_a_clear_status(
    service: AlertService, method: str, path: str, body: bytes | None, status: int
) -> None:
    got, _, answer = ask(service, method, path, body)
    assert got == status
    assert answer


def test_a_fault_answers_the_first_requests_and_then_lets_through() -> None:
    faults = [Fault("/alerts/AL-1042", times=2, retry_after=3), Fault("/alerts", times=1, status=429, method="POST")]
    with AlertService(AlertBook(), faults) as service:
        answers = [ask(service, "GET", "/alerts/AL-1042") for _ in range(3)]
        assert [status for status, _, _ in answers] == [503, 503, 200]
        assert [headers.get("Retry-After") for _, headers, _ in answers] == ["3", "3", None]
        assert ask(service, "GET", "/alerts")[0] == 200
        assert [post(service, "/alerts/AL-1043/resolve", resolution="done")[0] for _ in range(2)] == [429, 200]
        assert service.requests[:3] == ("GET /alerts/AL-1042 503", "GET /alerts/AL-1042 503", "GET /alerts/AL-1042 200")


def test_down_means_refused_and_up_again_means_the_same_address_and_memory(service: AlertService) -> None:
    address = service.url
    post(service, "/alerts/AL-1042/acknowledge", engineer="tom.okafor")
    service.down()
    service.down()  # being down twice is no different
    with pytest.raises(ConnectionRefusedError):
        ask(service, "GET", "/health")
    service.up()
    assert service.url == address
    assert ask(service, "GET", "/alerts/AL-1042")[2]["status"] == "acknowledged"
    with pytest.raises(RuntimeError, match="up already"):
        service.up()


def test_no_thread_is_left_behind_even_by_a_silent_client() -> None:
    before = set(threading.enumerate())
    with AlertService(AlertBook()) as service:
        host, port = urlsplit(service.url).hostname, urlsplit(service.url).port
        with socket.create_connection((host, port)):  # says nothing, then leaves
            assert ask(service, "GET", "/health")[0] == 200
    assert set(threading.enumerate()) <= before


def test_many_clients_at_once_use_a_fault_up_exactly() -> None:
    with AlertService(AlertBook(), [Fault("/", times=7)]) as service, ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(lambda _: ask(service, "GET", "/alerts")[0], range(40)))
    assert sorted(statuses) == [200] * 33 + [503] * 7


def test_it_has_no_address_before_it_is_up() -> None:
    with pytest.raises(RuntimeError, match="with statement"):
        _ = AlertService(AlertBook()).url


def test_a_book_refuses_a_silence_without_end() -> None:
    with pytest.raises(BadRequest):
        AlertBook().act("AL-1042", "silence", {"minutes": 10**9, "reason": "for ever"})
