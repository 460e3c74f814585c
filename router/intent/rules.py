"""The user's own intent rules, as Python objects or as a YAML file: checked when they are read, not when they fire."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator

from ...catalog.errors import RuleError
from .patterns import PatternError, SafePattern
from .phrases import contains_phrase, fold

MAX_PATTERN_TEXT = 5_000
"""Patterns look at this many characters of a request."""


class IntentRule(BaseModel):
    """One rule: when the request holds one of its keywords or matches one of its patterns, it speaks for a category.

    Attributes:
        category: the category that the rule speaks for.
        keywords: words or phrases; whole words only ("me" never matches "comment"), in any case. In scripts that
            write no spaces between words they may stand anywhere.
        patterns: regular expressions for a search anywhere in the request, in any case. They run in an engine that
            cannot hang, which has no look-around and no back-references.
        unless: keywords that silence the rule ("refund policy" for a rule about refunds).
        languages: ISO 639-1 codes for which the rule holds; empty: all.
        tools: names of tools that survive stage 1 whenever the rule fires.
        name: how the rule is called in reasons and errors; the category when empty.

    Raises:
        pydantic.ValidationError: unknown fields, no keyword and no pattern, or an unusable pattern.

    Example:
        >>> rule = IntentRule(category="billing", keywords=("invoice", "发票"), unless=("invoice template",))
        >>> rule.fires("please send the invoice again", "en")
        "keyword 'invoice'"
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    category: str = Field(min_length=1)
    keywords: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    name: str = ""

    _compiled: tuple[SafePattern, ...] = PrivateAttr(default=())

    @field_validator("keywords", "unless")
    @classmethod
    def _no_empty_keyword(cls, keywords: tuple[str, ...]) -> tuple[str, ...]:
        if any(not keyword.strip() for keyword in keywords):
            raise ValueError("must not hold an empty keyword: it would match every request")
        return keywords

    def model_post_init(self, _context: Any) -> None:
        if not self.keywords and not self.patterns:
            raise ValueError("a rule needs keywords or patterns")
        try:
            self._compiled = tuple(SafePattern(pattern) for pattern in self.patterns)
        except PatternError as error:
            raise ValueError(f"unusable pattern: {error}") from error

    @property
    def label(self) -> str:
        """The rule's name, or its category when it has none."""
        return self.name or self.category

    def fires(self, request: str, language: str) -> str | None:
        """What in the request made the rule fire, or None when it does not.

        Args:
            request: the user's text.
            language: ISO 639-1 code of the text, "und" when unclear; a rule for languages fires for "und" too.
        """
        if self.languages and language not in (*self.languages, "und"):
            return None
        folded = fold(request)
        if any(contains_phrase(folded, phrase) for phrase in self.unless):
            return None
        for keyword in self.keywords:
            if contains_phrase(folded, keyword):
                return f"keyword {keyword!r}"
        for pattern in self._compiled:
            if pattern.found_in(request[:MAX_PATTERN_TEXT]):
                return f"pattern {pattern.pattern!r}"
        return None


def load_rules(path: str | Path) -> tuple[IntentRule, ...]:
    """Reads rules from a YAML file: a list of rules, or a mapping with the single key ``rules``.

    Args:
        path: the file; keys of a rule are the fields of `IntentRule`. A single string may stand for a list of one.

    Raises:
        RuleError: the file cannot be read, is not YAML of that form, or a rule is wrong; names file and rule.

    Example of a file::

        rules:
          - category: billing
            keywords: [invoice, 发票]
            patterns: ['order\\s+#?\\d{4,}']
            unless: [invoice template]
    """
    file = Path(path)
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RuleError(f"{file}: cannot read the rules: {error}") from error
    if isinstance(content, dict):
        if unknown := sorted(str(key) for key in content if key != "rules"):
            raise RuleError(f"{file}: unknown keys {', '.join(unknown)}; the file holds a list or the key 'rules'")
        content = content.get("rules")
    if not isinstance(content, list):
        raise RuleError(f"{file}: expected a list of rules, found {type(content).__name__}")
    return tuple(_rule(entry, index, file) for index, entry in enumerate(content, start=1))


def _rule(entry: Any, index: int, file: Path) -> IntentRule:
    if not isinstance(entry, dict):
        raise RuleError(f"{file}: rule {index}: expected keys and values, found {type(entry).__name__}")
    label = entry.get("name") or entry.get("category")
    where = f"{file}: rule {index}" + (f" ({label})" if label else "")
    lists = ("keywords", "patterns", "unless", "languages", "tools")
    fields = {key: [value] if key in lists and isinstance(value, str) else value for key, value in entry.items()}
    try:
        return IntentRule.model_validate(fields)
    except ValidationError as error:
        raise RuleError(f"{where}: {_in_words(error.errors())}") from error


def _in_words(errors: Iterable[Any]) -> str:
    problems = []
    for error in errors:
        field = ".".join(str(step) for step in error["loc"])
        if error["type"] == "extra_forbidden":
            problems.append(f"unknown key {field!r}; known: {', '.join(IntentRule.model_fields)}")
        else:
            problems.append(f"{field}: {error['msg']}" if field else str(error["msg"]))
    return "; ".join(problems)
