"""A model that splits requests: when it is asked, what it may answer, and that the rules stand in for it."""

import json
import threading

import pytest
from toolpath.catalog import Catalog
from toolpath.catalog.errors import ModelError, RoutingError
from toolpath.router import Intent, RankSelector, Router, Selection
from toolpath.router.intent.parts import split
from toolpath.router.records import Wish
from toolpath.router.splitting import LLMSplitter, Split, Splitter, maybe_several, read_wishes

from tests.router.support import WordSearch, small_tools
from tests.support.scripted_model import Reply, ScriptedModel, completion, http_error

REQUEST = "I wonder about the forecast for Oslo, and Ann should hear about it by email"


def answer(*wishes: tuple[str, list[int]]) -> Reply:
    return completion(json.dumps({"wishes": [{"text": text, "needs": needs} for text, needs in wishes]}))


def splitter_for(model: ScriptedModel, timeout: float = 20.0) -> LLMSplitter:
    return LLMSplitter("scripted", base_url=model.base_url, timeout=timeout)


@pytest.mark.anyio
async def test_a_models_wishes_are_routed_and_counted() -> None:
    catalog = Catalog(small_tools())
    with ScriptedModel([answer(("weather forecast for Oslo", []), ("send an email to Ann", [0]))]) as model:
        router = Router(catalog, retriever=WordSearch(catalog), selector=RankSelector(), splitter=splitter_for(model))
        decision = await router.route(REQUEST, k=2)
    assert [call.tool for call in decision.calls] == ["weather.forecast", "mail.send"]
    assert decision.calls[1].depends_on == (decision.calls[0].call_id,)
    assert {candidate.name for candidate in decision.candidates} == {"weather.forecast", "mail.send"}
    assert decision.usage.requests == 1 and decision.usage.input_tokens == 100 and decision.usage.shown_tokens > 0
    assert "2 wishes, split by scripted" in decision.intent.reasons
    assert "after 1" in decision.explain() and "send an email to Ann" in decision.explain()
    assert "does not follow" not in model.prompt() and "<request>" in model.prompt()


@pytest.mark.anyio
async def test_many_requests_are_split_at_the_same_time_and_in_order() -> None:
    def script(request: dict[str, object]) -> Reply:
        return answer(("send an email", []), ("weather forecast", [])) if "Oslo" in str(request) else answer(("x", []))

    catalog = Catalog(small_tools())
    with ScriptedModel(script) as model:
        router = Router(catalog, retriever=WordSearch(catalog), selector=RankSelector(), splitter=splitter_for(model))
        decisions = await router.route_many([REQUEST, "how full are the disks", REQUEST])
    assert [len(decision.intent.wishes) for decision in decisions] == [2, 0, 2]
    assert len(model.requests) == 2, "a short request of one wish costs nothing"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "reply", [http_error(500), completion("I cannot."), answer(), answer(*[("x y", [])] * 21), answer(("  ", []))]
)
async def test_the_rules_stand_in_for_a_model_that_fails(reply: Reply) -> None:
    by_rules = split("find the log and mail it to Ann")
    with ScriptedModel(lambda _: reply) as model:
        made = await splitter_for(model).split("find the log and mail it to Ann", by_rules)
    assert made.wishes == by_rules and made.reason.startswith("split by rules: ")


@pytest.mark.anyio
async def test_a_silent_model_is_not_waited_for() -> None:
    never = threading.Event()
    with ScriptedModel([Reply("", wait_for=never)] * 3) as model:
        made = await splitter_for(model, timeout=0.05).split(REQUEST, (Wish(REQUEST),))
    assert made.wishes == (Wish(REQUEST),) and "did not answer within 0.05 s" in made.reason


@pytest.mark.anyio
async def test_a_server_that_refuses_schemas_is_asked_without() -> None:
    def script(request: dict[str, object]) -> Reply:
        return http_error(400) if "response_format" in request else answer(("a b", []), ("c d", []))

    with ScriptedModel(script) as model:
        made = await splitter_for(model).split(REQUEST, (Wish(REQUEST),))
    assert [wish.text for wish in made.wishes] == ["a b", "c d"]


def test_only_requests_that_may_hold_several_wishes_are_worth_a_question() -> None:
    def worth(request: str) -> bool:
        return maybe_several(request, split(request))

    assert worth("find the log and mail it to Ann") and worth(REQUEST)
    assert worth("帮我查一下北京明天的天气，顺便给小王发个邮件")
    assert not worth("what is the weather in Oslo") and not worth("Weather, please!")
    assert not worth("show me the current weather for the whole of northern Norway")


def test_needs_point_to_earlier_wishes_only() -> None:
    text = '{"wishes": [{"text": "a", "needs": [0, 5]}, {"text": " b ", "needs": [0, 0, true, "0", -1]}, "c"]}'
    assert read_wishes(f"Here: {text}") == (Wish("a"), Wish("b", (0,)), Wish("c"))
    with pytest.raises(ModelError, match="no list of wishes"):
        read_wishes('{"wishes": "a"}')


@pytest.mark.anyio
async def test_any_object_with_a_split_method_will_do() -> None:
    class Halves:
        async def split(self, request: str, by_rules: object) -> Split:
            one, _, two = request.partition(" | ")
            return Split((Wish(one), Wish(two)))

    assert isinstance(Halves(), Splitter)
    catalog = Catalog(small_tools())
    router = Router(catalog, retriever=WordSearch(catalog), selector=RankSelector(), splitter=Halves())
    decision = await router.route("email | disks")
    assert decision.intent.parts == ("email", "disks") and isinstance(decision.selection, Selection)
    assert isinstance(decision.intent, Intent) and decision.usage.requests == 0


def test_a_timeout_must_be_positive() -> None:
    with pytest.raises(RoutingError, match="above 0 seconds"):
        LLMSplitter("scripted", base_url="http://localhost:1/v1", timeout=0)
