"""The example of the kinds of step does what it says."""

import pytest

from examples.news import digest


@pytest.mark.parametrize(
    ("topics", "sent", "taken", "other"),
    [
        (["harbour", "kitchen"], "At noon: The ferry to Nesodden … / Rhubarb is early this …", "shorten", "quote"),
        (["kitchen", "gossip"], "At noon: Rhubarb is early this year.", "quote", "shorten"),
        ([], "At noon: ", "quote", "shorten"),
    ],
)
def test_the_digest_takes_the_side_that_fits(topics: list[str], sent: str, taken: str, other: str) -> None:
    report = digest().run_sync({"topics": topics})
    assert report.value("send") == sent
    assert (report[taken].outcome, report[other].outcome) == ("succeeded", "skipped")
    assert report["time"].served_by == "clock_in_bergen"
    assert report.ok


def test_a_feed_that_is_down_is_left_out_and_marks_what_is_built_on_it() -> None:
    report = digest().run_sync({"topics": ["kitchen", "weather"]})
    assert report.value("send") == "At noon: Rhubarb is early this year."
    assert report["send"].degraded
    assert {at: info.message for at, info in report["read_feed"].failed_items.items()} == {
        1: "ConnectionError: the weather feed is down"
    }
