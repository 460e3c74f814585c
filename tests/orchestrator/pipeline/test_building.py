"""What `build()` refuses, and the words it uses."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from toolpath.catalog import Catalog, DuplicateToolError
from toolpath.catalog.errors import BindingError, CycleError, DuplicateStepError, PipelineError, UnknownStepError
from toolpath.orchestrator import Fallback, PipelineBuilder, Runtime, constant, ref

from tests.orchestrator.building import PARTIAL, graph, make_tool, returning

if TYPE_CHECKING:
    from somewhere import OnlyForCheckers  # type: ignore[import-not-found]


@dataclass
class Page:
    items: list[int]


async def fetch() -> dict[str, int]:
    return {"a": 1}


def test_a_cycle_is_refused_and_its_path_printed() -> None:
    with pytest.raises(CycleError) as caught:
        graph({"free": [], "a": ["c"], "b": ["a"], "c": ["b"]}).build()
    path = caught.value.path
    assert path[0] == path[-1]
    assert set(path) == {"a", "b", "c"}
    assert len(path) == 4
    following = {"a": "b", "b": "c", "c": "a"}
    assert all(following[one] == other for one, other in itertools.pairwise(path))
    assert str(caught.value).endswith(" -> ".join(path))


@pytest.mark.parametrize("how", ["deps", "ref"])
def test_a_step_that_waits_for_itself_is_refused(how: str) -> None:
    async def use(x: Any) -> None: ...

    builder = PipelineBuilder()
    if how == "deps":
        builder.then(returning(1), name="use", deps=["use"])
    else:
        builder.then(use, bind={"x": ref("use")})
    with pytest.raises(CycleError, match="use -> use"):
        builder.build()


def test_a_cycle_that_only_parameter_names_make_is_found_too() -> None:
    async def a(b: int) -> int:
        return b

    async def b(a: int) -> int:
        return a

    with pytest.raises(CycleError, match=r"(a -> b -> a|b -> a -> b)$"):
        PipelineBuilder().then(a).then(b).build()


def test_a_cycle_of_five_thousand_steps_is_found_without_recursion() -> None:
    count = 5_000
    edges = {f"s{number}": [f"s{(number - 1) % count}"] for number in range(count)}
    with pytest.raises(CycleError) as caught:
        graph(edges).build()
    assert len(caught.value.path) == count + 1


def test_two_steps_of_one_name_are_refused() -> None:
    with pytest.raises(DuplicateStepError, match="two steps are called 'fetch': give one of them another name"):
        PipelineBuilder().then(fetch).then(fetch).build()


def test_an_unknown_dependency_is_refused_with_a_hint() -> None:
    with pytest.raises(
        UnknownStepError, match=r"step 'use' depends on 'fetsch', which is no step \(did you mean 'fetch'"
    ):
        PipelineBuilder().then(fetch).then(returning(1), name="use", deps=["fetsch"]).build()


def test_a_dependency_on_a_function_that_is_no_step_is_refused() -> None:
    with pytest.raises(UnknownStepError, match="depends on 'fetch'"):
        PipelineBuilder().then(returning(1), name="use", deps=[fetch]).build()


@pytest.mark.parametrize("deps", ["fetch", fetch, make_tool("fetch", None)])
def test_deps_must_be_a_list(deps: Any) -> None:
    with pytest.raises(BindingError, match=r"deps takes a list.*deps=\["):
        PipelineBuilder().then(fetch).then(returning(1), name="use", deps=deps)


@pytest.mark.parametrize("fallback", ["cached", fetch, make_tool("cached", None), constant(1)])
def test_fallback_must_be_a_list_or_a_fallback(fallback: Any) -> None:
    with pytest.raises(BindingError, match=r"fallback takes a list.*fallback=\["):
        PipelineBuilder().then(fetch, fallback=fallback)


@pytest.mark.parametrize("targets", ["fetch", fetch, make_tool("fetch", None)])
def test_parallel_takes_a_list(targets: Any) -> None:
    with pytest.raises(BindingError, match="parallel takes a list"):
        PipelineBuilder().parallel(targets)


def test_types_that_cannot_fit_are_refused() -> None:
    async def use(fetch: list[int]) -> None: ...

    with pytest.raises(
        BindingError, match=r"step 'use': parameter 'fetch' wants list\[int\], but fetch gives dict\[str, int\]"
    ):
        PipelineBuilder().then(fetch).then(use).build()


def test_a_reference_to_an_unknown_field_is_refused() -> None:
    async def page() -> Page:
        return Page([])

    async def use(x: Any) -> None: ...

    with pytest.raises(
        BindingError, match=r"step 'use': page\.itms: Page has no field 'itms' \(did you mean 'items'\?\)"
    ):
        PipelineBuilder().then(page).then(use, bind={"x": ref(page).field("itms")}).build()


def test_an_annotation_that_only_a_type_checker_can_read_leaves_the_others_in_force() -> None:
    async def use(fetch: list[int], other: OnlyForCheckers) -> None: ...

    with pytest.raises(BindingError, match="wants list"):
        PipelineBuilder().then(fetch).then(use).build()


def test_types_are_checked_inside_lists_and_dicts_of_references_as_far_as_paths_go() -> None:
    async def use(x: Any) -> None: ...

    with pytest.raises(BindingError, match="has no position 0"):
        PipelineBuilder().then(fetch).then(use, bind={"x": [{"y": ref(fetch)[0]}]}).build()


def test_a_fallback_is_checked_like_the_step_itself() -> None:
    async def use(fetch: dict[str, int]) -> None: ...

    async def instead(fetch: str) -> None: ...

    with pytest.raises(BindingError, match="wants str, but fetch gives dict"):
        PipelineBuilder().then(fetch).then(use, fallback=[instead]).build()


def test_a_step_that_may_fall_back_has_no_single_type() -> None:
    async def use(fetch: list[int]) -> None: ...

    PipelineBuilder().then(fetch, fallback=[constant([])]).then(use).build()


def test_a_tool_that_the_runtimes_catalog_lacks_is_refused() -> None:
    builder = PipelineBuilder(runtime=Runtime(Catalog())).then(make_tool("logs", None))
    with pytest.raises(BindingError, match="step 'logs' uses the tool 'logs', which the runtime's catalog lacks"):
        builder.build()


def test_a_tool_unlike_the_catalogs_own_is_refused() -> None:
    catalog = Catalog([make_tool("logs", None, source="a.jsonl")])
    with pytest.raises(DuplicateToolError, match="differs from the one of that name in the catalog"):
        PipelineBuilder(catalog=catalog).then(make_tool("logs", None, source="b.jsonl")).build()


@pytest.mark.parametrize(
    "change",
    [
        lambda builder: builder.with_limit(0),
        lambda builder: builder.with_timeout(0),
        lambda builder: builder.with_timeout(float("nan")),
        lambda builder: builder.then(fetch, timeout=-1),
        lambda builder: builder.with_error_policy("sometimes"),
        lambda builder: builder.then(fetch, policy="sometimes"),
    ],
)
def test_values_out_of_range_are_refused_at_once(change: Any) -> None:
    with pytest.raises(ValueError, match=r"must be|not a valid"):
        change(PipelineBuilder())


@pytest.mark.parametrize("options", [{"limit": 0}, {"timeout": 0}, {"timeout": -1}, {"keep": "some"}])
def test_options_of_a_run_out_of_range_are_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        PipelineBuilder().then(fetch).build().prepare(**options)


def test_a_policy_may_be_given_by_its_name() -> None:
    pipeline = PipelineBuilder().then(fetch, policy="continue_with_partial").build()  # type: ignore[arg-type]
    assert pipeline.steps[0].policy is PARTIAL


def test_then_waits_for_what_was_added_before_it() -> None:
    builder = PipelineBuilder().then(returning(1), name="a").parallel([fetch, constant_step]).independent(lone)
    pipeline = builder.then(returning(1), name="z").parallel([]).then(returning(1), name="end").build()
    assert set(pipeline.edges) == {
        ("a", "fetch"),
        ("a", "constant_step"),
        ("fetch", "z"),
        ("constant_step", "z"),
        ("z", "end"),
    }


async def constant_step() -> int:
    return 1


async def lone() -> int:
    return 1


def test_a_pipeline_shows_itself() -> None:
    async def search(query: str, limit: int = 5) -> None: ...

    pipeline = PipelineBuilder("finder").then(search).build()
    assert repr(pipeline) == "Pipeline('finder', 1 steps, inputs: query: str, limit: int (optional))"
    assert pipeline.to_mermaid().splitlines()[:2] == ["flowchart TD", '    s0["search"]']


def test_an_empty_pipeline_runs() -> None:
    report = PipelineBuilder().build().run_sync()
    assert report.ok
    assert str(report).startswith("pipeline: succeeded in 0.00 s: no steps")
    assert report.critical_path == ()


def test_all_of_these_are_pipeline_errors() -> None:
    for error in (BindingError, CycleError, DuplicateStepError, UnknownStepError):
        assert issubclass(error, PipelineError)


def test_a_pipeline_of_ten_thousand_steps_builds_quickly() -> None:
    import time

    builder = PipelineBuilder()
    for number in range(10_000):
        builder.then(returning(1), name=f"s{number}", fallback=Fallback())
    started = time.perf_counter()
    builder.build()
    assert time.perf_counter() - started < 10


def test_a_number_in_place_of_a_retry_is_refused_with_the_right_form() -> None:
    with pytest.raises(BindingError, match=r"retry takes a Retry, got 3: write retry=Retry\(attempts=3\)"):
        PipelineBuilder().then(lambda: None, name="a", retry=3)  # type: ignore[arg-type]


def test_a_result_in_place_of_a_function_is_refused() -> None:
    with pytest.raises(BindingError, match=r"\[1\] is no function.*called by mistake"):
        PipelineBuilder().then([1])  # type: ignore[arg-type]


def test_asking_for_an_unknown_step_suggests_near_names() -> None:
    report = PipelineBuilder().then(constant(1), name="boom").build().run_sync()
    with pytest.raises(KeyError, match="did you mean 'boom'"):
        report.value("bom")
