"""Log files of the example's services, in the formats that such files really have: JSON, logfmt, plain text."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from .metric_data import strength
from .story import FACTS, at


class Event(NamedTuple):
    """One thing that a service notes."""

    at: dt.datetime
    level: str
    text: str
    detail: dict[str, str | int]


def write_logs(folder: Path, seed: int) -> None:
    """Writes one log file per service into `folder`."""
    for service, (events, render) in _SERVICES.items():
        rng = random.Random(f"{seed}/logs/{service}")
        lines = [render(event) for event in sorted(_all_minutes(events, rng), key=lambda event: event.at)]
        (folder / f"{service}.log").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _all_minutes(events: Callable[[dt.datetime, random.Random], Iterator[Event]], rng: random.Random) -> list[Event]:
    count = int((FACTS.now - FACTS.first_log).total_seconds() // 60)
    minutes = (FACTS.first_log + dt.timedelta(minutes=i) for i in range(count))
    return [event for minute in minutes for event in events(minute, rng)]


def _within(minute: dt.datetime, rng: random.Random) -> dt.datetime:
    return minute + dt.timedelta(milliseconds=rng.randrange(60_000))


def _request_id(rng: random.Random) -> str:
    return f"{rng.getrandbits(32):08x}"


# What each service notes in one minute.


def _checkout(minute: dt.datetime, rng: random.Random) -> Iterator[Event]:
    version = FACTS.bad_version if minute >= FACTS.deployed else FACTS.good_version
    power = strength(minute)
    if minute == FACTS.deployed:
        yield Event(minute, "INFO", f"started checkout {version}: pool 'orders' has 60 connections", {"pid": 1})
    for _ in range(14):
        took = round(rng.gauss(90, 12) * (1 + 9 * power))
        detail: dict[str, str | int] = {"request_id": _request_id(rng), "took_ms": took, "version": version}
        yield Event(_within(minute, rng), "INFO", "order placed", detail)
    for _ in range(round(24 * power * rng.uniform(0.8, 1.2))):
        waiting = round(10 + 30 * power * rng.random())
        detail = {"request_id": _request_id(rng), "logger": "checkout.db", "version": version}
        text = f"could not get a connection from pool 'orders' within 2000 ms (60 in use, 0 idle, {waiting} waiting)"
        yield Event(_within(minute, rng), "ERROR", text, detail)
    for _ in range(round(9 * power * rng.uniform(0.6, 1.4))):
        seconds = rng.uniform(4, 8)
        detail = {"request_id": _request_id(rng), "logger": "checkout.pricing", "version": version}
        text = f"transaction held open for {seconds:.1f} s while waiting for the payment provider"
        yield Event(_within(minute, rng), "WARN", text, detail)
    if rng.random() < 0.2:
        detail = {"request_id": _request_id(rng), "version": version}
        yield Event(_within(minute, rng), "ERROR", f"voucher 'W{rng.randrange(1000, 9999)}' has expired", detail)


def _payments(minute: dt.datetime, rng: random.Random) -> Iterator[Event]:
    power = strength(minute)
    for _ in range(10):
        detail: dict[str, str | int] = {"request_id": _request_id(rng), "amount_cents": rng.randrange(500, 30_000)}
        yield Event(_within(minute, rng), "info", "payment authorised", detail)
    for _ in range(round(5 * power * rng.random())):
        detail = {"request_id": _request_id(rng)}
        text = f"caller checkout went away before the answer (waited {rng.randrange(3000, 8000)} ms)"
        yield Event(_within(minute, rng), "warn", text, detail)
    if rng.random() < 0.1:
        yield Event(_within(minute, rng), "error", "card refused by issuer: code 51", {"request_id": _request_id(rng)})


def _orders_db(minute: dt.datetime, rng: random.Random) -> Iterator[Event]:
    power = strength(minute)
    if minute.minute % 5 == 0:
        text = f"checkpoint complete: wrote {rng.randrange(800, 4000)} buffers"
        yield Event(_within(minute, rng), "LOG", text, {"pid": 211})
    for _ in range(round(18 * power * rng.uniform(0.7, 1.3)) if power == 1.0 else 0):
        yield Event(_within(minute, rng), "FATAL", "too many clients already", {"pid": rng.randrange(3000, 9000)})
    for _ in range(round(6 * power * rng.random())):
        text = f"process {rng.randrange(3000, 9000)} still waiting for ShareLock after {rng.randrange(1000, 9000)} ms"
        yield Event(_within(minute, rng), "WARNING", text, {"pid": rng.randrange(3000, 9000)})


def _inventory(minute: dt.datetime, rng: random.Random) -> Iterator[Event]:
    for _ in range(8):
        detail: dict[str, str | int] = {"sku": f"SKU-{rng.randrange(10_000, 99_999)}", "count": rng.randrange(1, 9)}
        yield Event(_within(minute, rng), "info", "stock reserved", detail)
    if rng.random() < strength(minute):
        detail = {"sku": f"SKU-{rng.randrange(10_000, 99_999)}"}
        yield Event(_within(minute, rng), "warn", "reservation expired before the order was placed", detail)


def _cart(minute: dt.datetime, rng: random.Random) -> Iterator[Event]:
    for _ in range(7):
        yield Event(_within(minute, rng), "INFO", f"cart {_request_id(rng)} saved", {"thread": rng.randrange(1, 9)})
    for _ in range(round(6 * strength(minute) * rng.uniform(0.5, 1.5))):
        text = (
            f"call to checkout timed out after {rng.randrange(3000, 3100)} ms\n"
            "    at CheckoutClient.confirm (client.ts:88)\n    at CartService.submit (service.ts:141)"
        )
        yield Event(_within(minute, rng), "ERROR", text, {"thread": rng.randrange(1, 9)})


def _search(minute: dt.datetime, rng: random.Random) -> Iterator[Event]:
    if minute == at("14:05"):
        yield Event(minute, "INFO", "rebuilding synonyms", {"version": "6.3.1"})
    for word in rng.choices(("winter coat", "backpack", "羽绒服", "kettle", "tent 2p"), k=9):
        yield Event(_within(minute, rng), "INFO", "query", {"q": word, "hits": rng.randrange(0, 900)})
    if at("14:05") <= minute < at("14:10"):
        yield Event(_within(minute, rng), "WARN", "page cache is cold", {"version": "6.3.1"})


def _gateway(minute: dt.datetime, rng: random.Random) -> Iterator[Event]:
    routes = ("GET /", "GET /search", "GET /product", "POST /cart", "POST /checkout/confirm")
    for route in rng.choices(routes, k=18):
        fails = route.endswith("confirm") and rng.random() < 0.45 * strength(minute)
        status = 503 if fails else 404 if rng.random() < 0.02 else 200
        took = rng.uniform(2.9, 3.2) if fails else rng.uniform(0.01, 0.3)
        detail: dict[str, str | int] = {"ip": f"10.2.{rng.randrange(9)}.{rng.randrange(1, 255)}", "status": status}
        yield Event(_within(minute, rng), "INFO", route, detail | {"took": f"{took:.3f}"})


def _notifications(minute: dt.datetime, rng: random.Random) -> Iterator[Event]:
    for _ in range(4):
        yield Event(_within(minute, rng), "INFO", f"mail {_request_id(rng)} sent", {"thread": 1})
    if minute >= at("13:30") and rng.random() < 0.3:
        text = f"mail provider answered 421, {rng.randrange(10, 60)} messages put back"
        yield Event(_within(minute, rng), "WARN", text, {"thread": 1})


# How each service writes a line.


def _iso(moment: dt.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _as_json(event: Event) -> str:
    line = {"ts": _iso(event.at), "level": event.level, "msg": event.text} | event.detail
    return json.dumps(line, ensure_ascii=False)


def _as_other_json(event: Event) -> str:
    milliseconds = int(event.at.timestamp() * 1000)
    return json.dumps({"time": milliseconds, "severity": event.level, "message": event.text} | event.detail)


def _as_logfmt(event: Event) -> str:
    rest = " ".join(f"{key}={value}" for key, value in event.detail.items())
    return f'ts={_iso(event.at)} level={event.level} msg="{event.text}" {rest}'


def _as_text(event: Event) -> str:
    return f"{_iso(event.at)} {event.level} [worker-{event.detail['thread']}] {event.text}"


def _as_database_text(event: Event) -> str:
    stamp = _iso(event.at).replace("T", " ").removesuffix("Z")
    return f"{stamp} UTC [{event.detail['pid']}] shop@orders {event.level}:  {event.text}"


def _as_access_line(event: Event) -> str:
    stamp = f"{event.at.day:02d}/Nov/{event.at:%Y:%H:%M:%S} +0000"
    return f'{event.detail["ip"]} - - [{stamp}] "{event.text} HTTP/1.1" {event.detail["status"]} {event.detail["took"]}'


_SERVICES: dict[str, tuple[Callable[[dt.datetime, random.Random], Iterator[Event]], Callable[[Event], str]]] = {
    "checkout": (_checkout, _as_json),
    "payments": (_payments, _as_other_json),
    "orders-db": (_orders_db, _as_database_text),
    "inventory": (_inventory, _as_logfmt),
    "cart": (_cart, _as_text),
    "search": (_search, _as_json),
    "gateway": (_gateway, _as_access_line),
    "notifications": (_notifications, _as_text),
}
