"""What a decision says about itself: in a terminal, as JSON, and with hostile text inside."""

import json

from toolpath.catalog import ArgumentOrigin, Tool, ToolCall
from toolpath.router import Candidate, Intent, RoutingDecision, Selection, Usage
from toolpath.router.explain import printable


def decision() -> RoutingDecision:
    find = ToolCall(tool="contacts.find", arguments={"name": "Ann"}, call_id="a", origin=ArgumentOrigin.MODEL)
    send = ToolCall(
        tool="mail.send",
        arguments={"to": {"$from": "a", "path": "email"}},
        call_id="b",
        depends_on=("a",),
        origin=ArgumentOrigin.MODEL,
        missing=("subject",),
    )
    candidates = (
        Candidate(Tool(name="mail.send"), 3.21, {"dense": 0.5, "lexical": 7.25}, ("words: mail",)),
        Candidate(Tool(name="contacts.find"), 2.0),
        Candidate(Tool(name="other"), 1.0),
    )
    return RoutingDecision(
        request="find Ann and then mail her",
        calls=(find, send),
        candidates=candidates,
        intent=Intent(("mail", "people"), ("keyword 'mail' -> mail",), (), ("find Ann", "mail her"), "en"),
        selection=Selection((find, send), False, 0.875, "Ann first", "llm", notes=("repaired once: c1.to: bad",)),
        abstained=False,
        usage=Usage(1234, 56, 2, 300, 60_000),
        timings={"intent": 0.4, "retrieval": 12.25, "selection": 850.0, "total": 862.65},
        k=3,
        catalog_size=900,
        eligible=40,
    )


def test_the_ranking_has_the_calls_first_as_they_rank_and_no_tool_twice() -> None:
    assert [call.tool for call in decision().calls] == ["contacts.find", "mail.send"], "in the order of running"
    assert decision().ranking == ("mail.send", "contacts.find", "other")


def test_the_explanation_shows_every_stage() -> None:
    text = decision().explain()
    for expected in (
        "find Ann and then mail her",
        "keeps 40 of 900 tools: mail, people (language: en)  [0.4 ms]",
        "keyword 'mail' -> mail",
        "holds 2 wishes: find Ann | mail her",
        "finds 3 candidates  [12.2 ms]",
        "3.210 (dense 0.50, lexical 7.25)  words: mail",
        "2 calls, confidence 0.88, by llm",
        "note: repaired once: c1.to: bad",
        '#1 contacts.find(name="Ann")',
        "after #1",
        "missing: subject",
        "~300 tokens, of the whole catalog ~60,000 (0.5%)",
        "model: 2 requests, 1,234 tokens in, 56 out",
    ):
        assert expected in text, expected
    assert str(decision()) == text


def test_extracted_arguments_ask_to_be_checked() -> None:
    call = ToolCall(tool="t", arguments={"n": 1}, origin=ArgumentOrigin.EXTRACTED)
    shown = RoutingDecision("r", (call,), (), Intent(), Selection((call,)), False).explain()
    assert "read from the request by their type: check them" in shown


def test_the_dictionary_is_json_and_complete() -> None:
    data = json.loads(json.dumps(decision().to_dict()))
    assert data["ranking"] == ["mail.send", "contacts.find", "other"]
    assert data["calls"][1]["depends_on"] == ["a"] and data["calls"][1]["missing"] == ["subject"]
    assert data["candidates"][0]["parts"] == {"dense": 0.5, "lexical": 7.25}
    assert data["intent"]["eligible"] == 40 and data["usage"]["input_tokens"] == 1234
    assert data["timings_ms"]["total"] == 862.65 and data["selection"]["served_by"] == "llm"


def test_hostile_text_cannot_move_the_cursor_or_hide() -> None:
    evil = "ev\x1b[2Jil\r\n\u202eback\u200b"
    call = ToolCall(tool="t", arguments={evil: evil})
    text = RoutingDecision(
        request=evil,
        calls=(call,),
        candidates=(Candidate(Tool(name="t"), 1.0, {}, (evil,)),),
        intent=Intent((evil,), (evil,), (), (evil, evil)),
        selection=Selection((call,), reason=evil, notes=(evil,), served_by=evil),
        abstained=False,
    ).explain()
    assert not any(char in text for char in "\x1b\r\u202e\u200b")
    assert r"ev\x1b[2Jil\r\n\u202eback\u200b" in text


def test_long_requests_are_cut_on_screen() -> None:
    assert len(RoutingDecision("x" * 5_000, (), (), Intent(), Selection(), True).explain()) < 1_000


def test_printable_keeps_what_people_read() -> None:
    assert printable("查询 naïve 🚀") == "查询 naïve 🚀"
    assert printable("a\tb", 2) == "a\\t…"
    assert printable("\ud800") == "\\ud800"
