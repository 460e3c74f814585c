"""A digest of feeds: a list known only at run time, mirrors that race, a fork, and what goes on after either side."""

from __future__ import annotations

import anyio
from toolpath.orchestrator import Missing, Pipeline, PipelineBuilder, at_least

FEEDS = {
    "harbour": "The ferry to Nesodden runs every twenty minutes from Monday on.",
    "kitchen": "Rhubarb is early this year.",
    "weather": "",
}


async def list_feeds(topics: list[str]) -> list[str]:
    """The feeds that there are for the topics."""
    return [topic for topic in topics if topic in FEEDS]


async def read_feed(feed: str) -> str:
    """What a feed says; one of them is down."""
    if not FEEDS[feed]:
        raise ConnectionError(f"the {feed} feed is down")
    return FEEDS[feed]


async def clock_in_oslo() -> str:
    """A slow mirror."""
    await anyio.sleep(30)
    return "noon"


async def clock_in_bergen() -> str:
    """A quick mirror."""
    return "noon"


def is_long(read_feed: list[str]) -> bool:
    """Whether it all has to be shortened."""
    return sum(map(len, read_feed)) > 60


async def shorten(read_feed: list[str]) -> str:
    """The first words of each."""
    return " / ".join(" ".join(text.split()[:4]) + " …" for text in read_feed)


async def quote(read_feed: list[str]) -> str:
    """All of it."""
    return " / ".join(read_feed)


async def send(shorten: str | Missing, quote: str | Missing, time: str) -> str:
    """The digest."""
    return f"At {time}: {shorten or quote}"


def digest() -> Pipeline:
    """The pipeline; its run input is `topics`."""
    return (
        PipelineBuilder("digest")
        .then(list_feeds)
        .map(read_feed, list_feeds, limit=4)
        .when(is_long, [shorten], otherwise=[quote])
        .race([clock_in_oslo, clock_in_bergen], name="time", stagger=0.01, deps=[])
        .join(send, rule=at_least(2), deps=["shorten", "quote", "time"])
        .build()
    )


if __name__ == "__main__":
    print(digest().run_sync({"topics": ["harbour", "kitchen", "weather"]}))
