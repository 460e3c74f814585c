"""How many tokens a text costs, estimated without a tokenizer, and what the whole catalog would cost."""

from __future__ import annotations

import json
import re
import threading
import weakref

from ..catalog import Catalog, CatalogChange, Tool

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_DIGITS = re.compile(r"\d")
_MARKS = re.compile(r"[!-/:-@\[-`{-~]+")
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]")
_ASCII_UNITS = {"word": _WORDS, "digit": _DIGITS, "mark": _MARKS}
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_TOKENS = {"word": 1.0, "digit": 1.1, "wide": 0.55, "mark": 1.05, "other": 0.9}
"""Tokens per unit: a Latin word (one hump of an identifier), a digit, a Han, kana or Hangul character, a run of
punctuation, any other character. Least squares against the byte-pair tokenizer of Qwen2.5 (152,000 tokens) on 520
requests and tool schemas in English and Chinese from 7 public catalogs; see `estimate_tokens` for the error."""


def estimate_tokens(text: str) -> int:
    """Tokens of `text` for a current byte-pair tokenizer, estimated from its words, digits and signs.

    Against Qwen2.5's tokenizer the mean error is 4% per text (95% of the texts within 13%, totals of a catalog within
    5%); a quarter of the characters, the usual rule of thumb, is off by 20%. Tokenizers differ from each other
    by more than that, so read it as a size, not as a bill.
    """
    counts = {name: len(units.findall(text)) for name, units in _ASCII_UNITS.items()}
    if not text.isascii():
        foreign = _NOT_ASCII.findall(text)
        counts["wide"] = len(_WIDE.findall(text))
        counts["other"] = len(foreign) - counts["wide"] - sum(map(str.isdecimal, foreign))  # those are digits
    return round(sum(_TOKENS[unit] * number for unit, number in counts.items()))


def schema_text(tool: Tool) -> str:
    """The tool as a model is shown it: compact JSON of name, description and parameters."""
    shown = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


class CatalogCost:
    """Estimated tokens of each tool's schema and of the whole catalog; follows changes.

    The first question costs a pass over the catalog (about two seconds for 40,000 tools), later ones nothing, and a
    changed tool costs its own estimate.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._costs: dict[str, tuple[Tool, int]] = {}
        self._total: int | None = None
        _follow(catalog, self)

    def of(self, tool: Tool) -> int:
        """Tokens of one tool's schema."""
        known = self._costs.get(tool.name)
        if known is None or known[0] is not tool:
            known = self._costs[tool.name] = (tool, estimate_tokens(schema_text(tool)))
        return known[1]

    def total(self) -> int:
        """Tokens of all schemas."""
        with self._lock:
            if self._total is None:
                tools = list(self._catalog)
                self._costs = {tool.name: (tool, self.of(tool)) for tool in tools}
                self._total = sum(cost for _, cost in self._costs.values())
            return self._total

    def _changed(self, change: CatalogChange) -> None:
        with self._lock:
            if self._total is None:
                return
            if change.before is not None:
                self._total -= self.of(change.before)
                self._costs.pop(change.before.name, None)
            if change.after is not None:
                self._total += self.of(change.after)


def _follow(catalog: Catalog, cost: CatalogCost) -> None:
    listener = weakref.WeakMethod(cost._changed)

    def on_change(change: CatalogChange) -> None:
        if (method := listener()) is not None:
            method(change)

    weakref.finalize(cost, catalog.subscribe(on_change))
