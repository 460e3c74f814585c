"""Runs the `toolpath` command inside the test process, the way a shell would."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
from rich.console import Console
from toolpath.console import app, output, reporting

TOOLS: Sequence[dict[str, Any]] = (
    {
        "name": "mail.send",
        "description": "Send an e-mail to a customer. Not for internal chat.",
        "category": "mail",
        "aliases": ["send_mail"],
        "tags": ["outgoing"],
        "permission": "high_risk_write",
        "parameters": {
            "type": "object",
            "properties": {"to": {"type": "string", "format": "email", "description": "Recipient."}},
            "required": ["to"],
        },
    },
    {"name": "flights.search", "description": "Find flights between two cities.", "category": "travel"},
    {"name": "天气.查询", "description": "查询城市的当前天气。", "category": "weather"},
)


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Toolpath = Callable[..., Done]


@pytest.fixture
def toolpath(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Toolpath:
    """`toolpath(*arguments)` runs the command with a cache of its own."""

    def leave(code: int) -> NoReturn:
        raise SystemExit(code)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(reporting, "leave", leave)
    for console, stream in ((output.OUT, "stdout"), (output.ERR, "stderr")):
        monkeypatch.setattr(console, "_width", 200)
        assert isinstance(console, Console), stream

    def call(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["toolpath", *arguments])
        code = 0
        try:
            app.main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        seen = capsys.readouterr()
        return Done(code, seen.out, seen.err)

    return call


@pytest.fixture
def catalog_file(tmp_path: Path) -> str:
    """A small catalog on disk."""
    file = tmp_path / "tools.jsonl"
    file.write_text("".join(json.dumps(tool, ensure_ascii=False) + "\n" for tool in TOOLS), encoding="utf-8")
    return str(file)
