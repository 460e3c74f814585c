"""A trip that is booked step by step: kept in a file, watched, resumed after a crash, and taken back when it fails.

    python -m examples.booking

Books a trip, "crashes" while it pays, goes on where it was, and shows what a refused card takes back.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from toolpath.catalog import Catalog, Permission, Tool
from toolpath.orchestrator import (
    Budget,
    Cache,
    Event,
    EventKind,
    FallbackPolicy,
    Limit,
    Pipeline,
    PipelineBuilder,
    Retry,
    RunReport,
    Runtime,
    SQLiteStore,
    Timeout,
    constant,
    current_step,
    progress,
    ref,
    stale,
)


@dataclass
class Agency:
    """The outside world of this example: what is booked, and what goes wrong.

    Attributes:
        bookings: what is booked at the moment.
        keys: idempotency keys that payments came with.
        crashes: whether paying never returns.
        refuses: whether the card is refused.
    """

    bookings: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    crashes: bool = False
    refuses: bool = False

    async def exchange_rate(self, currency: str) -> float:
        """The rate of a currency, which hardly changes within a minute."""
        return {"NOK": 11.7, "EUR": 1.0}[currency]

    async def book_flight(self, city: str) -> str:
        """Books a flight."""
        for share in (0.3, 0.6, 0.9):
            await anyio.sleep(0.01)
            progress("comparing fares", fraction=share)
        self.bookings.append(f"flight to {city}")
        return f"flight to {city}"

    async def book_hotel(self, city: str) -> str:
        """Books a hotel."""
        self.bookings.append(f"hotel in {city}")
        return f"hotel in {city}"

    async def cancel(self, booking: str) -> None:
        """Takes a booking back."""
        self.bookings.remove(booking)

    async def pay(self, amount: float) -> str:
        """Pays once: the bank recognises a repeated request by its key."""
        here = current_step()
        assert here is not None  # it is a step
        self.keys.append(here.idempotency_key)
        if self.crashes:
            await anyio.sleep_forever()
        if self.refuses:
            raise PermissionError("the card was refused")
        return f"paid {amount:.2f}"


def booking(agency: Agency) -> Pipeline:
    """The pipeline, with every policy where it belongs."""
    rate = Tool(
        name="exchange_rate",
        description="The exchange rate of a currency.",
        parameters={"type": "object", "properties": {"currency": {"type": "string"}}, "required": ["currency"]},
        permission=Permission.SAFE_READ,
        cache_ttl=60,
        handler=agency.exchange_rate,
    )
    runtime = Runtime(Catalog([rate]), cache=Cache(), limits={"*": Limit(calls=20, per=1.0, concurrent=4)})
    return (
        PipelineBuilder("booking", runtime=runtime)
        .step("exchange_rate", retry=Retry(attempts=2, backoff=0.1), fallback=[stale(3600), constant(12.0)])
        .step(agency.book_flight, timeout=Timeout(60, idle=5), undo=agency.cancel)
        .step(agency.book_hotel, undo=agency.cancel)
        .step(
            agency.pay,
            deps=["book_flight", "book_hotel"],
            bind={"amount": ref("exchange_rate")},
            policy=FallbackPolicy.FAIL_FAST,
        )
        .inputs(city=str, currency=str)
        .with_budget(Budget(calls=10, seconds=120))
        .build()
    )


def show(event: Event) -> None:
    """What somebody who watches sees."""
    if event.kind in (EventKind.PROGRESS, EventKind.STEP_FINISHED, EventKind.RUN_FINISHED):
        print(event)


async def crash_and_resume(agency: Agency, store: SQLiteStore) -> RunReport:
    """Runs until paying hangs, gives up, and goes on: nothing is booked twice."""
    pipeline = booking(agency)
    agency.crashes = True
    with anyio.move_on_after(0.5):
        await pipeline.run({"city": "Rome", "currency": "NOK"}, store=store, run_id="rome")
    agency.crashes = False
    return await pipeline.resume("rome", store=store, on_event=show)


async def refused(agency: Agency) -> RunReport:
    """Runs with a card that is refused: what was booked is taken back, the last booking first."""
    agency.refuses = True
    return await booking(agency).run({"city": "Oslo", "currency": "EUR"})


def main() -> None:
    """Shows both."""
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "runs.sqlite")
        print(anyio.run(crash_and_resume, Agency(), store))
        store.close()
    print(anyio.run(refused, Agency()))


if __name__ == "__main__":
    main()
