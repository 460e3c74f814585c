"""Stage 1 without a model: rules from the catalog's own words and from the user, which narrow only when sure."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from pathlib import Path

from ...catalog import Catalog, CatalogChange, Tool
from ..language import detect_language
from ..records import Intent
from .caution import KEPT, MIN_LEAD, UNTRIED, Caution, fit_caution
from .lexicon import CategoryLexicon, Ranking, content_terms
from .names import NamedTool, NameIndex
from .parts import split
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
        self._cautions: dict[str, Caution] | None = None
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

    def caution(self, language: str) -> Caution:
        """How careful the rules are with requests in a language; fitted on the catalog when first asked for."""
        with self._lock:
            if self._cautions is None or self._changes > REFIT_AFTER * len(self._catalog):
                self._cautions, self._changes = fit_caution(self._lexicon, self._catalog), 0
            return self._cautions.get(language, UNTRIED)

    def classify(self, request: str) -> Intent:
        """What the request is about, and why; `Intent.categories` is empty when the rules are not sure."""
        text = request[:MAX_REQUEST]
        language = detect_language(text)
        wishes = split(request)
        parts = tuple(wish.text for wish in wishes)
        with self._lock:
            named = self._names.find(text)
            pointed = [(rule, why) for rule in self._rules if (why := rule.fires(text, language)) is not None]
            categories, reasons = self._narrow(text, parts, language, pointed)
            exact = self._survivors(named, pointed)
            categories = self._with_perhaps_named(categories, named)
        reasons = [*(_naming_reason(hit) for hit in named), *reasons]
        return Intent(
            tuple(categories), tuple(reasons), exact, parts, language, wishes=wishes if len(wishes) > 1 else ()
        )

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
        caution = self.caution(language)
        if not ruled and caution.max_rivalry is None:
            return [], [*reasons, f"{_blind(caution, language)}: everything is kept"]
        ranking = self._lexicon.rank(content_terms(text))
        kept = list(dict.fromkeys([*ruled, *ranking.supported[:KEPT]]))[:KEPT]
        if not ruled:
            if doubt := _doubt(ranking, kept, caution):
                return [], [*reasons, f"{doubt}: everything is kept"]
            reasons.append(_words_reason(ranking))
        for part in parts if len(parts) > 1 else ():
            if any(rule.category in kept and rule.fires(part, language) for rule in self._rules):
                continue
            if doubt := _doubt(self._lexicon.rank(content_terms(part)), kept, caution):
                return [], [*reasons, f"part {part[:40]!r}: {doubt}: everything is kept"]
        return kept, reasons

    def _survivors(self, named: list[NamedTool], pointed: list[tuple[IntentRule, str]]) -> tuple[str, ...]:
        by_rule = (self._catalog.find(name) for rule, _ in pointed for name in rule.tools)
        certain = (hit.tool for hit in named if hit.certain)
        return tuple(dict.fromkeys([*certain, *(tool.name for tool in by_rule if tool)]))

    def _with_perhaps_named(self, categories: list[str], named: list[NamedTool]) -> list[str]:
        """The kept categories and those of tools that the request perhaps names: they survive but do not come first."""
        homes = (self._entered[hit.tool].category for hit in named if not hit.certain)
        return list(dict.fromkeys([*categories, *(home for home in homes if home)])) if categories else []

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


def _doubt(ranking: Ranking, kept: list[str], caution: Caution) -> str:
    """Why the catalog's words do not allow to drop all but `kept`; "" when they do."""
    if caution.max_rivalry is None:
        return "words alone do not tell the categories apart"
    if not kept or ranking.categories[0] not in kept or ranking.rivalry(kept) > caution.max_rivalry:
        rival = next((category for category in ranking.supported if category not in kept), None)
        return "no word tells the category" if rival is None else f"the words speak for {rival} too"
    lead = ranking.lead(KEPT)
    return "" if lead >= MIN_LEAD else f"the words for {kept[0]} are too few (lead {lead:.1f} of {MIN_LEAD:.0f})"


def _blind(caution: Caution, language: str) -> str:
    if caution.trials:
        return "this catalog's words do not tell its categories apart"
    return f"too few descriptions in {language!r} to judge by words"


def _naming_reason(hit: NamedTool) -> str:
    return f"{'named' if hit.certain else 'perhaps named'}: {hit.tool} ({hit.written!r})"


def _words_reason(ranking: Ranking) -> str:
    words = ", ".join(repr(term) for term, _ in ranking.telling[:4])
    return f"words {words} -> {ranking.categories[0]}"
