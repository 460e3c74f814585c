"""Stage 1 without a model: rules from the catalog's own words and from the user, which narrow only when sure."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from pathlib import Path

from ...catalog import Catalog, CatalogChange, Tool
from ..records import Intent
from ..retrieval.language import detect_language
from .caution import KEPT, MIN_LEAD, Caution, fit_caution
from .lexicon import CategoryLexicon, Ranking, content_terms
from .names import NamedTool, NameIndex
from .parts import split_parts
from .rules import IntentRule, load_rules

MAX_REQUEST = 20_000
"""The rules read this many characters of a request."""
REFIT_AFTER = 0.1
"""Share of the catalog that may change before the caution is fitted again."""


class RuleIntentClassifier:
    """Keeps the two or three categories that a request is clearly about, and everything when that is not clear.

    The rules come from the catalog (its words, see `CategoryLexicon`; how clear is clear enough is fitted on the
    catalog, see `caution`) and from the user. A tool that the request names always survives. Changes of the catalog
    are followed at once.

    Args:
        catalog: the tools.
        rules: the user's rules, or the path of a YAML file with them. A rule decides over the catalog's words.

    Raises:
        RuleError: the rules' file cannot be used.

    Example:
        >>> classifier = RuleIntentClassifier(catalog, [IntentRule(category="billing", keywords=("invoice",))])
        >>> classifier.classify("send the invoice again").categories[0]
        'billing'
    """

    def __init__(self, catalog: Catalog, rules: Iterable[IntentRule] | str | Path | None = None) -> None:
        self._catalog = catalog
        self._rules = load_rules(rules) if isinstance(rules, str | Path) else tuple(rules or ())
        self._lock = threading.RLock()
        self._names = NameIndex()
        self._lexicon = CategoryLexicon()
        self._caution: Caution | None = None
        self._changes = 0
        self._entered: dict[str, Tool] = {}
        with self._lock:
            _follow(catalog, self)
            for tool in catalog:
                self._enter(tool)

    @property
    def rules(self) -> tuple[IntentRule, ...]:
        """The user's rules."""
        return self._rules

    @property
    def caution(self) -> Caution:
        """How careful the rules are with this catalog; fitted when first asked for."""
        with self._lock:
            if self._caution is None or self._changes > REFIT_AFTER * len(self._catalog):
                self._caution, self._changes = fit_caution(self._lexicon, self._catalog), 0
            return self._caution

    def classify(self, request: str) -> Intent:
        """What the request is about, and why; `Intent.categories` is empty when the rules are not sure."""
        text = request[:MAX_REQUEST]
        language = detect_language(text)
        parts = split_parts(request)
        with self._lock:
            named = self._names.find(text)
            pointed = [(rule, why) for rule in self._rules if (why := rule.fires(text, language)) is not None]
            categories, reasons = self._narrow(text, parts, language, pointed)
            exact = self._survivors(named, pointed)
        reasons = [*(f"named: {hit.tool} ({hit.written!r})" for hit in named), *reasons]
        return Intent(tuple(categories), tuple(reasons), exact, parts, language)

    def _narrow(
        self, text: str, parts: tuple[str, ...], language: str, pointed: list[tuple[IntentRule, str]]
    ) -> tuple[list[str], list[str]]:
        """The categories to keep (none: all) and the reasons."""
        present = set(self._lexicon.categories)
        reasons = [
            f"{why} -> {rule.category}" + ("" if rule.category in present else " (no tool has this category: ignored)")
            for rule, why in pointed
        ]
        ruled = list(dict.fromkeys(rule.category for rule, _ in pointed if rule.category in present))
        if len(present) <= KEPT:
            return [], [*reasons, f"{len(present)} categories: nothing to narrow"]
        if len(ruled) > KEPT:
            return [], [*reasons, f"rules point to {len(ruled)} categories: everything is kept"]
        ranking = self._lexicon.rank(content_terms(text))
        kept = list(dict.fromkeys([*ruled, *(c for c in ranking.categories if _has_evidence(ranking, c))]))[:KEPT]
        if not ruled:
            doubt = self._doubt(ranking, kept)
            if doubt:
                return [], [*reasons, f"{doubt}: everything is kept"]
            reasons.append(_words_reason(ranking))
        for part in parts if len(parts) > 1 else ():
            if any(rule.category in kept and rule.fires(part, language) for rule in self._rules):
                continue
            if doubt := self._doubt(self._lexicon.rank(content_terms(part)), kept):
                return [], [*reasons, f"part {part[:40]!r}: {doubt}: everything is kept"]
        return kept, reasons

    def _doubt(self, ranking: Ranking, kept: list[str]) -> str:
        """Why the catalog's words do not allow to drop all but `kept`; "" when they do."""
        caution = self.caution
        if caution.max_rivalry is None:
            return "this catalog's words do not tell its categories apart"
        rivalry, lead = ranking.rivalry(kept), ranking.lead(KEPT)
        if not kept or ranking.categories[0] not in kept or rivalry > caution.max_rivalry:
            rival = next(
                (c for c in ranking.categories if c not in kept and _has_evidence(ranking, c)), "nothing known"
            )
            return f"the words speak for {rival} too" if rival != "nothing known" else "no word tells the category"
        if lead < MIN_LEAD:
            return f"the words for {kept[0]} are too few (lead {lead:.1f} of {MIN_LEAD:.0f})"
        return ""

    def _survivors(self, named: list[NamedTool], pointed: list[tuple[IntentRule, str]]) -> tuple[str, ...]:
        by_rule = (self._catalog.find(name) for rule, _ in pointed for name in rule.tools)
        return tuple(dict.fromkeys([*(hit.tool for hit in named), *(tool.name for tool in by_rule if tool)]))

    def _enter(self, tool: Tool) -> None:
        self._leave(tool.name)
        self._entered[tool.name] = tool
        self._names.add(tool)
        self._lexicon.add(tool)

    def _leave(self, name: str) -> None:
        known = self._entered.pop(name, None)
        if known is not None:
            self._names.remove(known)
            self._lexicon.remove(known)

    def _on_change(self, change: CatalogChange) -> None:
        with self._lock:
            if change.after is not None:
                self._enter(change.after)
            elif change.before is not None:
                self._leave(change.before.name)
            self._changes += 1


def _follow(catalog: Catalog, classifier: RuleIntentClassifier) -> None:
    """Subscribes without keeping the classifier alive: a catalog often outlives the routers over it."""
    listener = weakref.WeakMethod(classifier._on_change)

    def on_change(change: CatalogChange) -> None:
        method = listener()
        if method is not None:
            method(change)

    weakref.finalize(classifier, catalog.subscribe(on_change))


def _has_evidence(ranking: Ranking, category: str) -> bool:
    return bool(ranking.evidence[ranking.categories.index(category)] > 0)


def _words_reason(ranking: Ranking) -> str:
    words = ", ".join(repr(term) for term, _ in ranking.telling[:4])
    return f"words {words} -> {ranking.categories[0]}"
