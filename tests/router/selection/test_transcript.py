"""What a real model (Qwen2.5-Coder-1.5B, 4 bits) answered to ten requests, replayed over real HTTP.

Recorded by `tests.support.record_transcript`; guards the reading of answers against a model's own ways of writing.
"""

import json
from typing import Any

import pytest
from toolpath.router import Candidate, Intent, LLMSelector

from tests.support.record_transcript import FIXTURES, REQUESTS, load_catalog
from tests.support.scripted_model import Reply, ScriptedModel

TRANSCRIPT: list[dict[str, Any]] = json.loads((FIXTURES / "llm_transcript.json").read_text(encoding="utf-8"))
WANTED: dict[str, list[tuple[str, dict[str, Any]]]] = {
    REQUESTS[0]: [("weather.get_forecast", {"city": "Oslo", "days": 3})],
    REQUESTS[1]: [("money.convert_currency", {"amount": 250, "from_currency": "USD", "to_currency": "JPY"})],
    REQUESTS[2]: [("language.translate", {"text": "会议改到周五下午三点", "target_language": "en"})],
    REQUESTS[3]: [("parcels.track", {"tracking_number": "SF1023456789"})],
    REQUESTS[4]: [("contacts.find_person", {"name": "Ann Berg"}), ("mail.send", {"subject": "Lunch"})],
    REQUESTS[5]: [("weather.get_forecast", {"city": "上海", "days": 5})],
    REQUESTS[6]: [],
    REQUESTS[7]: [("reminders.create", {"when": "tomorrow at 9"})],
    REQUESTS[8]: [
        ("weather.get_forecast", {"city": "Rome", "days": 2}),
        ("travel.search_flights", {"origin": "Oslo", "destination": "Rome", "date": "2025-06-12"}),
    ],
    REQUESTS[9]: [("files.search", {"kind": "spreadsheet"})],
}
"""Tools and the arguments that must be among those of the call."""


def test_all_ten_requests_were_recorded() -> None:
    assert [record["request"] for record in TRANSCRIPT] == list(REQUESTS)
    assert all(record["exchanges"] for record in TRANSCRIPT)


@pytest.mark.anyio
@pytest.mark.parametrize("record", TRANSCRIPT, ids=[f"request{number}" for number in range(1, 11)])
async def test_the_models_answers_are_read(record: dict[str, Any]) -> None:
    catalog = load_catalog()
    candidates = [Candidate(catalog.get(name), 1.0) for name in record["candidates"]]
    replies = [Reply(json.dumps(exchange["response"])) for exchange in record["exchanges"]]
    with ScriptedModel(replies) as model:
        selector = LLMSelector("recorded", base_url=model.base_url)
        selection = await selector.select(record["request"], candidates, Intent())
    assert selection.served_by == "llm" and len(model.requests) == len(replies)
    tokens = [exchange["response"]["usage"]["prompt_tokens"] for exchange in record["exchanges"]]
    assert selection.usage.input_tokens == sum(tokens)
    wanted = WANTED[record["request"]]
    assert [call.tool for call in selection.calls] == [tool for tool, _ in wanted]
    assert selection.abstained == (not wanted)
    for call, (_, arguments) in zip(selection.calls, wanted, strict=True):
        assert call.arguments | arguments == call.arguments


@pytest.mark.anyio
async def test_a_call_id_where_an_address_belongs_is_sent_back_and_then_left_out() -> None:
    record = TRANSCRIPT[4]
    catalog = load_catalog()
    candidates = [Candidate(catalog.get(name), 1.0) for name in record["candidates"]]
    with ScriptedModel([Reply(json.dumps(exchange["response"])) for exchange in record["exchanges"]]) as model:
        selection = await LLMSelector("recorded", base_url=model.base_url).select("x", candidates, Intent())
    find, send = selection.calls
    assert send.depends_on == (find.call_id,) and send.missing == ("to",)
    assert selection.usage.requests == 2 and selection.notes[1].startswith("left out: c2.to")
