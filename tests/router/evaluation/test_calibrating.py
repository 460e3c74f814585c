"""Calibrating on labelled requests: what judges had no part in fitting, and what does not win is not used."""

from collections.abc import Sequence

import pytest
from toolpath.catalog import Catalog, Tool
from toolpath.router import HashEmbedder, RankSelector, Router, Selection
from toolpath.router.calibration import Adjustment
from toolpath.router.evaluation import Query, QueryError, calibrate
from toolpath.router.records import Candidate, Intent

TOPICS = ("rain", "invoice", "song", "flight", "garden", "doctor", "football", "recipe", "battery", "museum", "salmon")
CATALOG = Catalog(
    Tool(name=f"show_{topic}", description=f"Shows the current {topic} overview of a region.") for topic in TOPICS
)


def queries(count: int) -> list[Query]:
    """As many requests for a tool as for none."""
    served = [
        Query(id=f"a{n}", query=f"show me {TOPICS[n % 11]} number {n}", tools=(f"show_{TOPICS[n % 11]}",))
        for n in range(count)
    ]
    return served + [Query(id=f"n{n}", query=f"zyzzyva qwertz {n}", expect_none=True) for n in range(count)]


def router_with(adjustment: Adjustment) -> Router:
    router = Router(CATALOG, embedder=HashEmbedder())
    router.selector = RankSelector(CATALOG, router.retriever, adjustment=adjustment)
    return router


@pytest.mark.anyio
async def test_a_bad_adjustment_is_mended_and_the_report_shows_it() -> None:
    router = router_with(Adjustment(shift=-4.0))
    report = await calibrate(router, queries(60))
    assert report.adopted and report.loss_after < report.loss_before
    assert isinstance(router.selector, RankSelector) and router.selector.adjustment == report.adjustment
    assert report.adjustment.shift > -4.0 and report.auroc > 0.9
    assert report.fitted_on + report.held_out == 120
    assert sum(row.count for row in report.before) == report.held_out
    assert "AUROC" in report.explain() and report.to_dict()["reliability"]["after"]["bins"]


@pytest.mark.anyio
async def test_a_second_calibration_that_does_not_win_is_not_used() -> None:
    router = router_with(Adjustment(shift=0.0))
    labels = queries(60)
    first = await calibrate(router, labels)
    assert isinstance(router.selector, RankSelector)
    again = await calibrate(router, labels)
    assert again.loss_after <= first.loss_before
    assert (router.selector.adjustment == first.adjustment) == (not again.adopted)


@pytest.mark.anyio
async def test_too_few_requests_of_a_kind_are_refused() -> None:
    with pytest.raises(QueryError, match="each must be 10"):
        await calibrate(router_with(Adjustment()), [*queries(60)[:60], *queries(5)[5:]])


class Refuses:
    async def select(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
        return Selection(abstained=True)


@pytest.mark.anyio
async def test_another_selectors_confidence_is_not_adjusted() -> None:
    with pytest.raises(ValueError, match="Refuses"):
        await calibrate(Router(CATALOG, embedder=HashEmbedder(), selector=Refuses()), queries(20))
