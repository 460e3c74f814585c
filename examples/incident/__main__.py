"""`python -m examples.incident`: routes six requests, then runs the incident pipeline while things break."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

from toolpath.catalog import Catalog, load_catalog
from toolpath.router import Router

from .alert_book import AlertBook
from .alert_service import AlertService, Fault
from .handlers import bind_handlers
from .pipeline import incident_pipeline
from .world import World, build_world

CATALOG = Path(__file__).parents[2] / "benchmarks" / "data" / "oncall" / "tools.jsonl"
KEPT = Path(__file__).parents[2] / ".demo"
"""Index and report stay here, so that a second run starts faster and the report can be read."""

OUTAGE_SECONDS = 0.7

REQUESTS = (
    "what is firing for the checkout service right now?",
    "which error messages repeat most in the checkout logs?",
    "数据库连接数快满了，该按哪本手册处理？",
    "roll checkout back to version 4.17.2",
    "现在 payments 团队谁值班？",
    "order a pepperoni pizza for me",
)


def main() -> None:
    """Runs the demo; it needs nothing from outside this machine."""
    started = time.perf_counter()
    catalog = load_catalog(CATALOG)
    heading(f"1. Six requests over {len(catalog)} tools in {len(catalog.categories)} categories")
    route(catalog)
    heading("2. The incident pipeline")
    with tempfile.TemporaryDirectory(prefix="toolpath-demo-") as folder:
        handle_incident(catalog, build_world(Path(folder)))
    print(f"\nDone in {time.perf_counter() - started:.1f} s.")


def route(catalog: Catalog) -> None:
    """Shows what the three stages make of each request."""
    router = Router(catalog, index=KEPT / "index")
    for request in REQUESTS:
        print(router.route_sync(request, k=3).explain(), end="\n\n")


def handle_incident(catalog: Catalog, world: World) -> None:
    """Runs the pipeline while the alert service stumbles and the metrics store is locked."""
    faults = [Fault(f"/alerts/{world.facts.alert_id}", times=2, status=503)]
    with AlertService(AlertBook(), faults) as service, world.metrics_locked():
        bind_handlers(catalog, world, service.url)
        goes_down_after_its_first_answer(service, catalog)
        pipeline = incident_pipeline(catalog)
        print(
            "What breaks: the alert service answers 503 twice and then is down for a while, the metrics store is\n"
            "locked, and no trace collector is installed.\n"
        )
        report = pipeline.run_sync({"alert_id": world.facts.alert_id})
        requests = service.requests
    print(report)
    print("\nWhat the alert service saw: " + "; ".join(requests))
    print("\nThe run as a Mermaid flow chart:\n" + report.to_mermaid())
    document = (world.reports / report.value("report")["path"]).read_text(encoding="utf-8")
    KEPT.mkdir(exist_ok=True)
    (KEPT / "incident.md").write_text(document, encoding="utf-8")
    print(f"\nThe report ({KEPT.name}/incident.md) begins:\n")
    print("\n".join(f"    {line}" for line in document.splitlines()[:24]))


def goes_down_after_its_first_answer(service: AlertService, catalog: Catalog) -> None:
    """Takes the service down for `OUTAGE_SECONDS` as soon as an alert was read."""
    read_alert = catalog.get("alertdesk.get_alert").handler
    assert read_alert is not None  # bind_handlers has just given it one

    def read_alert_and_lose_the_service(alert_id: str) -> object:
        alert = read_alert(alert_id=alert_id)
        service.down()
        threading.Timer(OUTAGE_SECONDS, service.up).start()
        return alert

    catalog.bind("alertdesk.get_alert", read_alert_and_lose_the_service)


def heading(text: str) -> None:
    """A line that stands out."""
    print(f"\n{text}\n{'=' * len(text)}\n")


if __name__ == "__main__":
    main()
