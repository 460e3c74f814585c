"""Records what a real model answers to ten requests, for `tests/fixtures/llm_transcript.json`. Run by hand:

    python -m tests.support.record_transcript http://127.0.0.1:18080/v1

A small proxy stands between Toolpath and the server and keeps requests and responses as they were.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from toolpath.catalog import Catalog, Tool
from toolpath.router import LLMSelector, Router

from tests.support.scripted_model import Reply, ScriptedModel

FIXTURES = Path(__file__).parent.parent / "fixtures"
K = 5
REQUESTS = (
    "What will the weather be like in Oslo over the next 3 days?",
    "How much is 250 US dollars in Japanese yen?",
    "把“会议改到周五下午三点”翻译成英文",
    "帮我查一下快递 SF1023456789 到哪了",
    "Find Ann Berg's e-mail address and then send her a mail with the subject 'Lunch' saying I'll be ten minutes late.",
    "查一下上海未来五天的天气",
    "Water the tomatoes in my greenhouse.",
    "Remind me to call the dentist tomorrow at 9",
    "The weather in Rome for 2 days and a flight from Oslo to Rome on 2025-06-12, please.",
    "Where is the budget spreadsheet from last year?",
)


def load_catalog() -> Catalog:
    """The small catalog that the transcript was recorded with."""
    entries = json.loads((FIXTURES / "llm_catalog.json").read_text(encoding="utf-8"))
    return Catalog(Tool.model_validate(entry) for entry in entries)


def ask(base_url: str, exchanges: list[dict[str, Any]], request: dict[str, Any]) -> Reply:
    """Passes a request on to the real server and keeps both sides."""
    outgoing = urllib.request.Request(
        f"{base_url}/chat/completions", json.dumps(request).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(outgoing, timeout=600) as response:
        answer = json.loads(response.read())
    answer["model"] = Path(answer["model"]).name  # local servers give the path of the file
    exchanges.append({"request": request, "response": answer})
    return Reply(json.dumps(answer))


async def record(base_url: str) -> list[dict[str, Any]]:
    """Routes all requests and returns one record for each."""
    records = []
    router = Router(load_catalog())
    for request in REQUESTS:
        exchanges: list[dict[str, Any]] = []
        with ScriptedModel(partial(ask, base_url, exchanges)) as proxy:
            selector = LLMSelector(
                "qwen2.5-coder-1.5b-instruct", base_url=proxy.base_url, timeout=600, settings={"temperature": 0.0}
            )
            router.selector = selector
            decision = await router.route(request, K)
        print(decision.explain(), end="\n\n")
        candidates = [candidate.name for candidate in decision.candidates]
        records.append({"request": request, "candidates": candidates, "exchanges": exchanges})
    return records


if __name__ == "__main__":
    transcript = anyio.run(record, sys.argv[1])
    text = json.dumps(transcript, ensure_ascii=False, indent=1)
    (FIXTURES / "llm_transcript.json").write_text(text + "\n", encoding="utf-8")
