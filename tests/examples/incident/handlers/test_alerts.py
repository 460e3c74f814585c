"""Alert tools against the real service: what they return, and how trouble on the wire is told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from toolpath.catalog import ToolError

from examples.incident.alert_book import AlertBook
from examples.incident.alert_service import AlertService, Fault
from examples.incident.handlers.alert_client import AlertClient
from examples.incident.handlers.alerts import AlertTools


@pytest.fixture
def tools(service: AlertService) -> AlertTools:
    return AlertTools(AlertClient(service.url))


@contextmanager
def answering(reply: bytes | None) -> Iterator[str]:
    """A server that sends one raw reply, or none at all."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = threading.Event()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                if reply is None:
                    done.wait(5)
                else:
                    connection.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            done.set()
            thread.join()


def failing(call: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        call()
    return caught.value


def test_alerts_are_filtered(tools: AlertTools) -> None:
    answer = tools.list_alerts(service="checkout", limit=1)
    assert [alert["id"] for alert in answer["alerts"]] == ["AL-1044"]
    assert tools.list_alerts(status="any", severity="warning")["count"] == 3


def test_an_alert_can_be_taken_on_silenced_and_closed(tools: AlertTools) -> None:
    assert tools.acknowledge_alert("AL-1042", "mei.chen")["status"] == "acknowledged"
    silenced = tools.silence_alert("AL-1042", 30, "rolling back")
    assert silenced["changed"]["until"] == "2025-11-18T15:40:00+00:00"
    assert tools.resolve_alert("AL-1042", "rolled back")["status"] == "resolved"
    events = [event["event"] for event in tools.get_alert_history("AL-1042")["history"]]
    assert events == ["fired", "acknowledged", "silenced", "resolved"]


def test_an_unknown_alert_is_not_found(tools: AlertTools) -> None:
    error = failing(lambda: tools.get_alert("AL-1"))
    assert (error.error_type, str(error)) == (
        "not_found",
        "the alert service answered 404: there is no alert 'AL-1'",
    )


def test_a_hostile_number_stays_one_part_of_the_path(tools: AlertTools, service: AlertService) -> None:
    assert failing(lambda: tools.get_alert("../health?x=1\r\nX: y")).error_type == "not_found"
    assert service.requests == ("GET /alerts/..%2Fhealth%3Fx%3D1%0D%0AX%3A%20y 404",)


@pytest.mark.parametrize(
    ("status", "wait", "error_type"), [(503, 2, "unavailable"), (429, 1, "rate_limited"), (500, None, "unavailable")]
)
def test_an_overloaded_service_says_when_to_come_back(status: int, wait: int | None, error_type: str) -> None:
    with AlertService(AlertBook(), [Fault("/alerts", 1, status=status, retry_after=wait)]) as service:
        tools = AlertTools(AlertClient(service.url))
        error = failing(lambda: tools.get_alert("AL-1042"))
        assert (error.error_type, error.info.retry_after, error.info.retry) == (error_type, wait, "same")
        assert tools.get_alert("AL-1042")["severity"] == "critical"


def test_a_service_that_is_down_is_unavailable_until_it_is_up_again(tools: AlertTools, service: AlertService) -> None:
    service.down()
    error = failing(lambda: tools.get_alert("AL-1042"))
    assert (error.error_type, str(error)) == ("unavailable", "the alert service refuses connections")
    service.up()
    assert tools.get_alert("AL-1042")["id"] == "AL-1042"


def test_an_action_on_a_closed_alert_is_a_wrong_call(tools: AlertTools) -> None:
    error = failing(lambda: tools.silence_alert("AL-1039", 5, "noise"))
    assert error.error_type == "validation_error"
    assert "resolved" in str(error)


@pytest.mark.parametrize(
    ("reply", "error_type"),
    [
        (b"", "unavailable"),
        (b"SSH-2.0-hello\r\n", "unavailable"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<ht", "unavailable"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "interface_changed"),
        (b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 2\r\n\r\n{}", "interface_changed"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>", "unavailable"),
    ],
)
def test_nonsense_on_the_wire_is_told_apart(reply: bytes, error_type: str) -> None:
    with answering(reply) as url:
        assert failing(lambda: AlertTools(AlertClient(url)).get_alert("AL-1042")).error_type == error_type


def test_a_silent_service_is_a_timeout() -> None:
    with answering(None) as url:
        error = failing(lambda: AlertTools(AlertClient(url, timeout=0.05)).get_alert("AL-1042"))
    assert error.error_type == "timeout"
