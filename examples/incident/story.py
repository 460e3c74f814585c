"""The incident that the example world tells: who, what and when. Every generator and test reads the facts here.

A release of the checkout service (4.18.0) holds a database transaction open while it calls the payment provider
and triples its connection pool. Minutes later the orders database has no connection left, and checkout fails.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

UTC = dt.UTC


def at(clock: str, day: int = 18) -> dt.datetime:
    """The moment ``clock`` ("HH:MM" or "HH:MM:SS", UTC) of a day in November 2025."""
    return dt.datetime.fromisoformat(f"2025-11-{day:02d}T{clock}+00:00")


@dataclass(frozen=True, slots=True)
class Facts:
    """What really happened; the tools have to find it out.

    Attributes:
        now: the present in this world; no handler looks at the wall clock.
        first_minute: first minute of the metrics.
        first_log: first minute of the logs.
        deployed: when the bad release was complete.
        incident_start: when the numbers begin to leave their normal band.
        saturated: when the database has no connection left.
        snapshot_taken: when the metrics gateway wrote its last snapshot.
        connection_limit: connections that the orders database admits.
        service: the service that customers see failing.
        database: as the metrics call it.
        bad_version: of the service; the one that began it.
        good_version: of the service; the one to go back to.
        deployment_id: of the bad release.
        alert_id: the first alert of the incident.
        incident_id: as people declared it.
        runbook_id: the procedure that fits.
    """

    now: dt.datetime
    first_minute: dt.datetime
    first_log: dt.datetime
    deployed: dt.datetime
    incident_start: dt.datetime
    saturated: dt.datetime
    snapshot_taken: dt.datetime
    connection_limit: int
    service: str
    database: str
    bad_version: str
    good_version: str
    deployment_id: str
    alert_id: str
    incident_id: str
    runbook_id: str


FACTS = Facts(
    now=at("15:10"),
    first_minute=at("03:10"),
    first_log=at("12:10"),
    deployed=at("14:19"),
    incident_start=at("14:20"),
    saturated=at("14:28"),
    snapshot_taken=at("14:56"),
    connection_limit=200,
    service="checkout",
    database="orders-db",
    bad_version="4.18.0",
    good_version="4.17.2",
    deployment_id="DEP-3071",
    alert_id="AL-1042",
    incident_id="INC-204",
    runbook_id="db-connection-saturation",
)

TEAMS = {
    "checkout": "orders",
    "cart": "orders",
    "payments": "payments",
    "orders-db": "data-platform",
    "inventory": "fulfilment",
    "search": "discovery",
    "gateway": "platform",
    "notifications": "customer-care",
}
"""Service to the team that owns it."""

ENGINEERS = [
    ("lena.vogel", "Lena Vogel", "Europe/Berlin"),
    ("omar.haddad", "Omar Haddad", "Europe/Berlin"),
    ("mei.chen", "陈梅", "Asia/Shanghai"),
    ("priya.nair", "Priya Nair", "Asia/Kolkata"),
    ("tom.okafor", "Tom Okafor", "Europe/London"),
    ("ana.ruiz", "Ana Ruiz", "America/New_York"),
    ("jonas.lind", "Jonas Lind", "Europe/Stockholm"),
]
"""Login, name, time zone."""

ROTATIONS = {
    "orders": ("lena.vogel", "omar.haddad", "mei.chen"),
    "payments": ("priya.nair", "tom.okafor"),
    "data-platform": ("mei.chen", "jonas.lind", "ana.ruiz"),
    "platform": ("tom.okafor", "lena.vogel"),
    "discovery": ("ana.ruiz", "priya.nair"),
}
"""Team to the engineers who take turns, week by week, from Monday 09:00 UTC; the next in line is secondary."""

FIRST_SHIFT = at("09:00", day=3)
SHIFT_WEEKS = 8

DEPLOYMENTS = [
    # id, service, version, previous, started, finished, status, author, approved_by, summary
    ("DEP-3052", "checkout", "4.17.1", "4.17.0", at("09:02", 12), at("09:11", 12), "succeeded", "omar.haddad",
     "lena.vogel", "Show delivery days per country"),
    ("DEP-3060", "payments", "8.2.0", "8.1.4", at("13:30", 14), at("13:52", 14), "rolled_back", "priya.nair",
     "tom.okafor", "New card acquirer client"),
    ("DEP-3064", "checkout", "4.17.2", "4.17.1", at("10:15", 17), at("10:24", 17), "succeeded", "lena.vogel",
     "omar.haddad", "Fix rounding of vouchers"),
    ("DEP-3068", "inventory", "2.9.0", "2.8.7", at("08:40"), at("08:52"), "succeeded", "jonas.lind", "tom.okafor",
     "Batch stock updates"),
    ("DEP-3070", "search", "6.3.1", "6.3.0", at("14:01"), at("14:05"), "succeeded", "ana.ruiz", "priya.nair",
     "Rebuild synonyms at start"),
    ("DEP-3071", "checkout", "4.18.0", "4.17.2", at("14:12"), at("14:19"), "succeeded", "omar.haddad", "lena.vogel",
     "Check prices again before payment"),
]  # fmt: skip

CONFIG = [
    # service, version, key, value
    ("checkout", "4.17.1", "db.pool.max_per_instance", "20"),
    ("checkout", "4.17.1", "db.pool.acquire_timeout_ms", "2000"),
    ("checkout", "4.17.1", "payment.client.timeout_ms", "8000"),
    ("checkout", "4.17.1", "instances", "4"),
    ("checkout", "4.17.2", "db.pool.max_per_instance", "20"),
    ("checkout", "4.17.2", "db.pool.acquire_timeout_ms", "2000"),
    ("checkout", "4.17.2", "payment.client.timeout_ms", "8000"),
    ("checkout", "4.17.2", "instances", "4"),
    ("checkout", "4.18.0", "db.pool.max_per_instance", "60"),
    ("checkout", "4.18.0", "db.pool.acquire_timeout_ms", "2000"),
    ("checkout", "4.18.0", "payment.client.timeout_ms", "8000"),
    ("checkout", "4.18.0", "pricing.recheck.enabled", "true"),
    ("checkout", "4.18.0", "instances", "4"),
    ("search", "6.3.0", "index.synonyms.reload", "nightly"),
    ("search", "6.3.1", "index.synonyms.reload", "at_start"),
]

COMMITS = [
    # service, version, hash, author, subject
    ("checkout", "4.17.2", "9c1f04e", "lena.vogel", "Round vouchers half up, as the invoice does"),
    ("checkout", "4.18.0", "b7d2a91", "omar.haddad", "Check prices inside the order transaction before payment"),
    ("checkout", "4.18.0", "e40c77d", "omar.haddad", "Give the pool room for the longer transaction"),
    ("checkout", "4.18.0", "51aa0be", "mei.chen", "Translate the voucher hints"),
    ("search", "6.3.1", "0d93c2f", "ana.ruiz", "Rebuild synonyms at start"),
    ("inventory", "2.9.0", "77e1b65", "jonas.lind", "Write stock changes in batches of 200"),
]

DEPENDENCIES = [
    # service, version, package, package version
    ("checkout", "4.17.2", "sqlpool", "3.1.0"),
    ("checkout", "4.17.2", "money", "1.4.0"),
    ("checkout", "4.18.0", "sqlpool", "3.2.0"),
    ("checkout", "4.18.0", "money", "1.4.0"),
]

INCIDENTS = [
    # id, title, severity, status, commander, opened, closed, services, summary, resolution
    ("INC-187", "Orders database out of connections during the spring sale", "sev1", "closed", "jonas.lind",
     dt.datetime(2025, 4, 9, 17, 42, tzinfo=UTC), dt.datetime(2025, 4, 9, 18, 55, tzinfo=UTC), "checkout,orders-db",
     "A report job opened one connection per order; the pool of checkout starved and orders timed out.",
     "The job was stopped and got a pool of its own with five connections."),
    ("INC-196", "Search answers slowly after a synonym rebuild", "sev3", "closed", "ana.ruiz",
     dt.datetime(2025, 8, 21, 9, 5, tzinfo=UTC), dt.datetime(2025, 8, 21, 9, 40, tzinfo=UTC), "search",
     "Rebuilding synonyms evicted the page cache.", "Waited for the cache to warm up; the rebuild moved to the night."),
    ("INC-201", "Card payments refused by the acquirer", "sev2", "closed", "priya.nair",
     at("13:55", 14), at("14:31", 14), "payments,checkout",
     "The new acquirer client sent an outdated merchant id and payments were refused.",
     "Payments went back to 8.1.4."),
    ("INC-204", "Checkout slow and failing", "sev2", "open", "lena.vogel", at("14:34"), None, "checkout,orders-db",
     "Customers wait for seconds at the last step and one order in eight fails.", None),
]  # fmt: skip

TIMELINE = [
    # incident, moment, author, kind, text
    ("INC-187", dt.datetime(2025, 4, 9, 17, 50, tzinfo=UTC), "jonas.lind", "observation",
     "200 of 200 connections in use"),
    ("INC-187", dt.datetime(2025, 4, 9, 18, 20, tzinfo=UTC), "jonas.lind", "action", "Stopped the report job"),
    ("INC-201", at("14:20", 14), "priya.nair", "decision", "Roll payments back to 8.1.4"),
    ("INC-204", at("14:34"), "lena.vogel", "declared", "Declared as sev2 after AL-1042 and AL-1044"),
    ("INC-204", at("14:41"), "omar.haddad", "observation", "Pods of checkout look healthy, CPU is normal"),
    ("INC-204", at("14:52"), "mei.chen", "observation", "orders-db 的连接数已到上限 200，等待队列在增长"),
    ("INC-204", at("15:03"), "lena.vogel", "question", "Is this the 14:12 release? Comparing before and after"),
]  # fmt: skip

ALERTS = [
    # id, rule, severity, service, status, fired, value, threshold, unit, runbook, summary
    ("AL-1039", "search-latency-p99", "warning", "search", "resolved", at("14:07"), 843.9, 800.0, "ms",
     "search-latency", "p99 latency of search above 800 ms for 2 minutes"),
    ("AL-1041", "notifications-queue-depth", "warning", "notifications", "firing", at("14:02"), 3100.3, 3000.0,
     "messages", "queue-backlog", "mail queue above 3000 messages"),
    ("AL-1042", "checkout-latency-p99", "critical", "checkout", "firing", at("14:24"), 1777.2, 800.0, "ms",
     "db-connection-saturation", "p99 latency of checkout above 800 ms for 2 minutes"),
    ("AL-1043", "orders-db-connections", "critical", "orders-db", "firing", at("14:27"), 196.6, 180.0, "connections",
     "db-connection-saturation", "more than 90% of the connections of orders-db in use"),
    ("AL-1044", "checkout-error-rate", "critical", "checkout", "firing", at("14:29"), 13.2, 5.0, "%",
     "checkout-errors", "more than 5% of checkout requests fail"),
    ("AL-1045", "gateway-5xx", "warning", "gateway", "firing", at("14:33"), 2.2, 1.0, "%",
     "gateway-5xx", "more than 1% of all requests answered with 5xx"),
]  # fmt: skip
