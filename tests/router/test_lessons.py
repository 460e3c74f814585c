"""What users of other systems complain about when a tool has to be chosen, and the tests that hold it here.

Each key of `ROWS` is a row of the design's table "Choosing a tool", named after its public reports
(repository#number); its value lists the tests that show the behaviour. Where a row needs the router as a whole, its
test is in this file. The last test of the file looks every listed test up, so that the table cannot rot.
"""

import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence

import anyio
import anyio.to_thread
import pytest
from toolpath.catalog import Catalog, DuplicateToolError, Tool
from toolpath.router import (
    Candidate,
    FusionWeights,
    HashEmbedder,
    Intent,
    LLMSelector,
    Retriever,
    Router,
    Selection,
)
from toolpath.router.embedding import TextKind, Vectors

from tests.router.support import WordSearch, small_tools
from tests.support.scripted_model import ScriptedModel, json_answer

ROWS: dict[str, tuple[str, ...]] = {
    "fastmcp PR#5170: no tool fits, and one is called all the same": (
        "router/test_lessons.py::test_a_request_that_no_tool_serves_gets_none_and_the_decision_says_why",
        "router/selection/test_rank.py::test_far_below_the_catalogs_own_words_none_fits",
        "router/selection/test_llm.py::TestJsonMode::test_none_fits",
        "router/calibration/test_yardstick.py::"
        "test_a_yardstick_is_fitted_when_first_asked_for_once_and_again_after_large_changes",
        "router/evaluation/test_scores.py::test_abstention_is_scored_over_the_right_requests",
    ),
    "fastmcp#4886: requests beyond ASCII return nothing": (
        "router/retrieval/test_mixed_languages.py::test_a_tool_is_found_by_its_own_words_in_any_script",
        "router/retrieval/test_mixed_languages.py::test_requests_in_any_script_have_terms",
        "router/retrieval/test_retriever.py::test_a_chinese_request_finds_the_chinese_tool",
        "router/embedding/test_multilingual.py::test_the_real_model_finds_tools_across_languages",
    ),
    "pydantic-ai#4994: server prefixes flood the results, 'me' matches 'comment'": (
        "router/retrieval/test_matching.py::test_a_servers_prefix_does_not_flood_the_results",
        "router/retrieval/test_matching.py::test_a_short_word_does_not_match_inside_a_longer_one",
        "router/intent/test_classifier.py::test_a_server_prefix_does_not_speak_for_its_category",
        "router/intent/test_rules.py::test_keywords_match_whole_words_only",
    ),
    "codex#21503, oh-my-claudecode#814: an exact name misses the first ones": (
        "router/retrieval/test_matching.py::test_a_tool_named_outright_is_first_however_many_others_match",
        "router/retrieval/test_retriever.py::test_a_request_that_is_a_name_or_alias_finds_the_tool_without_an_intent",
        "router/reranking/test_fusing.py::test_tools_that_the_request_names_stay_in_front",
        "router/feedback/test_feedback.py::test_a_tool_that_the_request_names_stays_in_front",
    ),
    "xai grok-build#37, cloudflare-os#91: some tools can never be reached, silently": (
        "router/test_reachability.py::test_a_tool_drowned_by_look_alikes_is_reported_with_what_comes_instead",
        "router/test_reachability.py::test_a_search_that_never_returns_a_tool_is_found_out_by_its_name",
        "router/test_reachability.py::test_what_a_lenient_load_left_out_is_reported",
        "console/test_index.py::test_tools_out_of_reach_are_listed_and_the_exit_code_is_1",
    ),
    "claude-code#66084, loom#334, mcpproxy-go#873: tools of changed or dead servers go stale": (
        "router/test_lessons.py::test_a_removed_tool_is_gone_from_every_stage_at_once",
        "router/test_lessons.py::test_a_changed_tool_is_offered_as_it_is_now",
        "router/retrieval/test_retriever.py::test_an_added_tool_is_found_and_a_removed_one_vanishes_at_once",
        "router/dependencies/test_graph.py::test_changes_of_the_catalog_are_followed_at_once",
    ),
    "litellm#26155, toolhive PR#5996, semantic-router#343: everything is embedded again at each start": (
        "router/retrieval/test_opening.py::test_the_first_opening_builds_and_saves_and_the_next_ones_embed_nothing",
        "router/retrieval/test_store.py::test_only_what_changed_since_is_embedded_and_what_is_gone_is_dropped",
        "console/test_route.py::test_only_a_changed_tool_is_embedded_again",
    ),
    "Liquid4All/cookbook PR#56: hash order made the cache always miss": (
        "router/test_lessons.py::test_digests_and_rankings_do_not_depend_on_the_hash_seed_of_the_process",
        "catalog/test_catalog.py::test_the_digest_follows_the_content_and_nothing_else",
        "router/retrieval/test_store.py::test_a_catalog_in_another_order_uses_the_same_index",
    ),
    "mcphub#1131, MCP-Zero#7: vectors of another size or model give garbage": (
        "router/retrieval/test_store.py::test_an_index_of_another_model_is_refused_or_rebuilt_on_request",
        "router/retrieval/test_vectors.py::TestFaissIndex::test_queries_that_do_not_fit_are_refused",
        "router/retrieval/test_retriever.py::test_unusable_vectors_are_an_error_of_the_embedder",
        "router/retrieval/test_weighing.py::test_weights_for_another_model_are_never_used",
    ),
    "litellm#33204, semantic-router#455: embedding blocks the event loop": (
        "router/test_lessons.py::test_the_loop_runs_on_while_a_request_is_embedded",
        "router/test_router.py::test_stages_run_outside_the_loops_thread",
    ),
    "automatos-ai PR#519, ithaka#193: embedding stalls": (
        "router/test_lessons.py::test_past_the_deadline_a_decision_comes_from_words_alone_and_says_so",
        "router/retrieval/test_retriever.py::test_past_the_deadline_words_answer_and_the_embedding_goes_on",
        "router/retrieval/test_retriever.py::test_without_a_deadline_a_warm_model_that_stalls_is_not_waited_for",
    ),
    "litellm#26212: the filter drops tools that are not in its catalog": (
        "router/test_lessons.py::test_a_pinned_tool_that_the_catalog_does_not_have_is_offered_and_can_be_called",
    ),
    "litellm#31909, litellm#28766: nested tool formats are lost": (
        "catalog/sources/test_shapes.py::test_every_shape_gives_the_same_tool",
        "catalog/sources/test_shapes.py::test_an_entry_written_in_its_own_shape_is_the_original",
        "catalog/sources/test_shapes.py::test_other_shapes_give_back_what_they_do_not_report_as_lost",
    ),
    "langchain-mcp-adapters#605, adk-tool-search: tools of one name are silently overwritten": (
        "catalog/test_catalog.py::test_a_name_clash_names_both_sources_and_changes_nothing",
        "catalog/sources/test_loading.py::test_a_name_clash_names_both_files",
        "router/test_lessons.py::test_a_server_prefix_keeps_two_tools_of_one_name_apart",
    ),
    "langchain#34358: a tool name that the model invented crashes": (
        "router/selection/test_llm.py::TestJsonMode::test_an_invented_tool_is_repaired",
        "router/selection/test_llm.py::TestJsonMode::test_a_tool_that_stays_invented_hands_over_to_the_ranking",
        "router/selection/test_llm.py::TestJsonMode::test_field_errors_go_back_once",
    ),
    "semantic-router#392, #294, #360: hidden scores; wanted 'none, or nearly sure'": (
        "router/retrieval/test_matching.py::test_every_candidate_shows_its_scores_and_why_it_is_there",
        "router/test_decision.py::test_the_explanation_shows_every_stage",
        "router/selection/test_rank.py::test_none_or_nearly_sure_is_a_threshold",
    ),
    "zonlabs/mcp-ts PR#102, fastmcp: nested parameters are not indexed, recursive schemas hang": (
        "router/test_lessons.py::test_a_tool_is_found_by_a_parameter_deep_inside_a_recursive_schema",
        "catalog/schemas/test_parameters.py::test_a_recursive_part_is_entered_once_and_its_schema_is_still_resolved",
        "router/retrieval/test_text.py::test_a_recursive_schema_ends",
    ),
    "cesium-mcp PR#32: only the first of several intents is served": (
        "router/test_lessons.py::test_every_wish_of_a_request_gets_its_call_and_waits_for_what_it_needs",
        "router/test_merging.py::test_each_wishs_best_tool_comes_before_anyones_third",
        "router/selection/test_several.py::test_each_wish_gets_its_call_with_its_own_arguments_in_order",
    ),
    "openbot#113, openclaw#146902: a changing tool list breaks the prompt cache": (
        "router/test_lessons.py::test_pinned_tools_stand_in_the_beginning_that_all_prompts_share",
        "router/selection/test_llm.py::TestJsonMode::test_the_prompt_is_the_same_for_the_same_candidates",
        "router/test_session.py::test_every_list_begins_with_the_one_before_it_and_holds_what_was_found",
        "router/retrieval/test_retriever.py::test_tools_that_cannot_be_told_apart_come_in_catalog_order",
    ),
    "codegraph#1696: a deferred tool is hardly ever used": (
        "router/test_lessons.py::test_a_pinned_tool_is_offered_for_every_request",
        "router/test_session.py::test_pinned_tools_come_first_those_of_ones_own_too",
    ),
    "semantic-router: default thresholds fit one encoder only": (
        "router/retrieval/test_matching.py::"
        "test_the_weights_are_those_of_the_scores_an_embedder_gives_and_not_of_its_name",
        "router/evaluation/test_fitting.py::test_weights_that_lose_on_the_held_out_requests_are_not_used",
        "router/evaluation/test_calibrating.py::test_a_second_calibration_that_does_not_win_is_not_used",
        "router/selection/test_rank.py::test_the_router_uses_the_yardstick_of_its_own_retriever",
    ),
    "measured: what the paragraph after the table says": (
        "router/retrieval/test_text.py::test_every_field_of_a_tool_can_lead_to_it",
        "router/evaluation/test_fitting.py::test_words_win_where_the_embedder_is_wrong_and_the_new_weights_are_used",
        "router/evaluation/test_fitting.py::test_meaning_wins_where_the_words_mislead",
        "router/retrieval/test_retriever.py::test_words_decide_for_a_language_that_the_embedder_does_not_know",
        "router/retrieval/test_text.py::test_text_becomes_terms",
        "router/tuning/test_tune.py::test_the_jargon_of_a_catalogs_users_is_learned",
    ),
}
"""Row to the tests that show its behaviour, as paths below the folder of tests."""


class Listening:
    """A selector that notes what it is offered and chooses nothing."""

    def __init__(self) -> None:
        self.offered: list[list[str]] = []
        self.tools: dict[str, Tool] = {}

    async def select(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
        self.offered.append([candidate.name for candidate in candidates])
        self.tools = {candidate.name: candidate.tool for candidate in candidates}
        return Selection(abstained=True)


class Held(HashEmbedder):
    """Embeds requests only once it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        if kind == "query":
            self.asked.set()
            assert self.go.wait(10), "nobody let it go: the loop stands still"
        return super().embed(texts, kind)


def test_a_request_that_no_tool_serves_gets_none_and_the_decision_says_why() -> None:
    topics = ("rain", "invoice", "song", "flight", "garden", "doctor", "football", "recipe", "battery", "museum")
    catalog = Catalog(
        Tool(name=f"show_{topic}", description=f"Shows the current {topic} overview.") for topic in topics
    )
    router = Router(catalog, embedder=HashEmbedder())
    served, refused = router.route_many_sync(["show me the current invoice overview", "qqq zzz"])
    assert served.calls[0].tool == "show_invoice" and not served.abstained
    assert refused.abstained and refused.calls == () and refused.candidates, "what was found is still shown"
    assert refused.selection.reason in refused.explain() and "is below" in refused.selection.reason


def test_a_removed_tool_is_gone_from_every_stage_at_once() -> None:
    catalog = Catalog(
        [
            Tool(name="mail.send", description="Send an email to an address.", depends_on=("book.find",)),
            Tool(name="book.find", description="Look up a person.", aliases=("phone_book",)),
            Tool(name="ask.human", description="Ask a person."),
            Tool(name="disk.usage", description="How full the disks are."),
        ]
    )
    selector = Listening()
    router = Router(catalog, embedder=HashEmbedder(), selector=selector, pinned=["ask.human"])
    assert router.route_sync("use mail.send", k=1).closure[0].name == "book.find"
    assert set(selector.offered[-1]) == {"mail.send", "book.find", "ask.human"}
    catalog.remove("book.find")
    catalog.remove("ask.human")
    decision = router.route_sync("use mail.send, book.find, phone_book and ask.human to look up a person", k=4)
    assert set(selector.offered[-1]) == {"mail.send", "disk.usage"}
    assert decision.intent.exact == ("mail.send",) and decision.closure == ()


def test_a_changed_tool_is_offered_as_it_is_now() -> None:
    catalog, selector = Catalog(small_tools()), Listening()
    router = Router(catalog, embedder=HashEmbedder(), selector=selector, pinned=["disk.usage"])
    router.route_sync("weather forecast for a city", k=1)
    catalog.replace(Tool(name="weather.forecast", description="Counts the whales in a bay."))
    catalog.replace(Tool(name="disk.usage", description="Says how full a volume is."))
    router.route_sync("count the whales", k=1)
    assert selector.offered[-1] == ["weather.forecast", "disk.usage"]
    assert {name: tool.description for name, tool in selector.tools.items()} == {
        "weather.forecast": "Counts the whales in a bay.",
        "disk.usage": "Says how full a volume is.",
    }


def test_digests_and_rankings_do_not_depend_on_the_hash_seed_of_the_process() -> None:
    code = """
import json
from tests.router.support import small_tools
from toolpath.catalog import Catalog
from toolpath.router import HashEmbedder, Router
from toolpath.router.retrieval.text import tool_digest
catalog = Catalog(small_tools())
decision = Router(catalog, embedder=HashEmbedder()).route_sync("mail the weather forecast to a person")
seen = [catalog.digest, [tool_digest(tool) for tool in catalog], decision.to_dict()["candidates"]]
print(json.dumps(seen), hash("a string"))
"""

    def under(seed: str) -> list[str]:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout.rsplit(maxsplit=1)

    (first, one_hash), (second, another_hash) = under("1"), under("2")
    assert one_hash != another_hash, "the seeds made no difference: the test proves nothing"
    assert json.loads(first) == json.loads(second)


@pytest.mark.anyio
async def test_the_loop_runs_on_while_a_request_is_embedded() -> None:
    catalog, embedder = Catalog(small_tools()), Held()
    router = Router(catalog, embedder=embedder, selector=Listening())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(router.route, "weather in a city")
        assert await anyio.to_thread.run_sync(embedder.asked.wait, 10)
        embedder.go.set()  # only a loop that runs comes here


def test_past_the_deadline_a_decision_comes_from_words_alone_and_says_so() -> None:
    catalog, embedder = Catalog(small_tools()), Held()
    router = Router(catalog, retriever=Retriever(catalog, embedder, deadline=0.01))
    try:
        decision = router.route_sync("weather forecast for a city")
    finally:
        embedder.go.set()
    assert decision.calls[0].tool == "weather.forecast" and not decision.abstained
    assert "words only: embedding took longer than 0.01 s" in decision.explain()


@pytest.mark.anyio
async def test_a_pinned_tool_that_the_catalog_does_not_have_is_offered_and_can_be_called() -> None:
    catalog = Catalog(small_tools())
    ask = Tool(name="ask_human", description="Ask a person.", parameters={"properties": {"question": {}}})
    with ScriptedModel([json_answer(("ask_human", {"question": "which one?"}))]) as model:
        selector = LLMSelector("any", base_url=model.base_url)
        router = Router(catalog, retriever=WordSearch(catalog), selector=selector, pinned=[ask])
        decision = await router.route("weather in a city", k=1)
    assert "ask_human" in model.prompt() and "ask_human" not in catalog
    (call,) = decision.calls
    assert (call.tool, call.arguments) == ("ask_human", {"question": "which one?"})
    assert decision.ranking == ("ask_human", "weather.forecast")


@pytest.mark.anyio
async def test_a_pinned_tool_is_offered_for_every_request() -> None:
    catalog, selector = Catalog(small_tools()), Listening()
    router = Router(catalog, retriever=WordSearch(catalog), selector=selector, pinned=["disk.usage"])
    for request in ("weather in a city", "send an email", "disks of the server"):
        await router.route(request, k=1)
    assert [offered.count("disk.usage") for offered in selector.offered] == [1, 1, 1]
    assert [offered[0] for offered in selector.offered] == ["weather.forecast", "mail.send", "disk.usage"]


@pytest.mark.anyio
async def test_pinned_tools_stand_in_the_beginning_that_all_prompts_share() -> None:
    catalog = Catalog(small_tools())
    with ScriptedModel([json_answer(none_fits=True)] * 2) as model:
        selector = LLMSelector("any", base_url=model.base_url)
        router = Router(catalog, retriever=WordSearch(catalog), selector=selector, pinned=["disk.usage"])
        await router.route("weather in a city", k=1)
        await router.route("send an email to an address", k=1)
    prompts = model.prompt(0), model.prompt(1)
    differ = next(at for at, (one, other) in enumerate(zip(*prompts, strict=False)) if one != other)
    assert "disk.usage" in prompts[0][:differ]
    assert "weather.forecast" in prompts[0][differ:] and "mail.send" in prompts[1][differ:]


def test_a_server_prefix_keeps_two_tools_of_one_name_apart() -> None:
    alike = [Tool(name=f"{server}.search", server=server, description="Searches.") for server in ("wiki", "code")]
    with pytest.raises(DuplicateToolError, match=r"from wiki\.json has it.*from code\.json wants it"):
        Catalog(tool.model_copy(update={"name": "search", "source": f"{tool.server}.json"}) for tool in alike)
    router = Router(Catalog(alike), embedder=HashEmbedder())
    assert [router.route_sync(f"use {tool.name}", k=1).ranking for tool in alike] == [(tool.name,) for tool in alike]


def test_a_tool_is_found_by_a_parameter_deep_inside_a_recursive_schema() -> None:
    node = {
        "type": "object",
        "properties": {
            "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            "paint": {"type": "object", "properties": {"vermilion_share": {"type": "number"}}},
        },
    }
    parameters = {"properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    catalog = Catalog([*small_tools(), Tool(name="tree.save", description="Saves a tree.", parameters=parameters)])
    words_only = FusionWeights(dense=0, dense_unknown=0, parameters=0)
    (best,) = Retriever(catalog, HashEmbedder(), weights=words_only).search("set the vermilion share", 1)
    assert best.name == "tree.save" and best.reasons == ("words: vermilion, share",)
    (best,) = Retriever(catalog, HashEmbedder()).search("vermilion share", 1)
    assert best.name == "tree.save" and best.reasons[1] == "best parameter: root.paint.vermilion_share"


def test_every_wish_of_a_request_gets_its_call_and_waits_for_what_it_needs() -> None:
    catalog = Catalog(small_tools())
    router = Router(catalog, retriever=WordSearch(catalog), selector=None)
    decision = router.route_sync("look up the person Ann, then send an email to ann@example.com")
    assert [call.tool for call in decision.calls] == ["contacts.find_person", "mail.send"]
    assert decision.calls[1].depends_on == (decision.calls[0].call_id,)


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_tests_that_exist(row: str) -> None:
    assert ROWS[row]
    for test in ROWS[row]:
        path, *names = test.split("::")
        found: object = importlib.import_module("tests." + path.removesuffix(".py").replace("/", "."))
        for name in names:
            found = getattr(found, name, None)
        assert callable(found), f"{row}: there is no test {test}"
