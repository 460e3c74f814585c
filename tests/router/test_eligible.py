"""The count of tools that an intent keeps is that of asking each of them."""

from hypothesis import given
from hypothesis import strategies as st
from toolpath.catalog import Catalog, Tool
from toolpath.router.eligible import EligibleCount
from toolpath.router.records import Intent

NAMES = ["a", "b", "c", "d", "e"]
CATEGORIES = st.sampled_from([None, "x", "y", "z"])
INTENTS = st.builds(
    Intent,
    categories=st.lists(st.sampled_from(["x", "y", "gone"]), max_size=3).map(tuple),
    exact=st.lists(st.sampled_from([*NAMES, "other a", "unknown"]), max_size=3).map(tuple),
    within=st.none() | st.frozensets(st.sampled_from([*NAMES, "other a", "unknown"])),
)


@given(st.lists(st.tuples(st.sampled_from(NAMES), CATEGORIES, st.booleans()), max_size=12), INTENTS)
def test_the_count_is_that_of_asking_every_tool(changes: list[tuple[str, str | None, bool]], intent: Intent) -> None:
    catalog = Catalog([Tool(name="a", category="x", aliases=("other a",))])
    count = EligibleCount(catalog)
    for name, category, stays in changes:
        if stays:
            catalog.replace(Tool(name=name, category=category))
        elif name in catalog:
            catalog.remove(name)
    assert count.of(intent) == sum(map(intent.keeps, catalog))
