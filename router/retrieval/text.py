"""Turning requests and tools into words (for BM25) and into sentences (for the embedder).

Tool catalogs are full of identifiers, and requests come in any language: both are taken apart here, in one way.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from functools import lru_cache
from typing import Any

import snowballstemmer

from ...catalog import Parameter, Tool, walk_parameters
from ...catalog.digest import digest_of_text
from ..language import HAN, HANGUL, KANA, UNSPACED
from .abbreviations import EXPANSIONS, expanded

_NO_SPACES = HAN + KANA + HANGUL + UNSPACED
# Python's \w leaves out the combining vowel signs of Indic, Hebrew, Arabic and Thai words.
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_RUNS = re.compile(f"(?P<unspaced>[{_NO_SPACES}]+)|(?P<word>(?:(?![{_NO_SPACES}])[\\w{_MARKS}])+)")
_ASCII_RUNS = re.compile(r"\w+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LETTERS_AND_DIGITS = re.compile(r"\D+|\d+")

STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any are as at be been before being below between both but by can
    could did do does doing down during each few for from further had has have having he her here hers herself him
    himself his how i if in into is it its itself just let ll me more most my myself no nor not now of off on once
    only or other our ours ourselves out over own please re s same shall she should so some such t than that the their
    theirs them themselves then there these they this those through to too under until up us ve very was we were what
    when where which while who whom whose why will with would you your yours yourself yourselves
    """.split()  # noqa: SIM905
)
"""English function words and what contractions leave behind; they carry no topic and only lengthen documents."""

MAX_TEXT_CHARACTERS = 4_000
"""Longest tool text for an embedder, in characters; models read 256 to 512 tokens, the rest would be cut anyway."""

TEXT_VERSION = 2
"""Raised when the functions below make other texts or terms of the same tool: saved indexes are then made anew."""

MAX_ENUM_VALUES = 50
"""Values of one enum that become words: a list of all currencies or time zones would drown the tool's own words."""


LONGEST_WORD = 64
"""Characters; what is longer (keys, encoded data) is neither stemmed nor kept in a cache, which it would only bloat."""

MAX_SHOWN_VALUES = 8
"""Values of one enum in the text that an embedder reads of a parameter."""


def tokenize(text: str) -> list[str]:
    """The terms of `text`, in order, for BM25.

    The text is brought to NFKC. Identifiers are taken apart at underscores, dots, camel humps, and between letters and
    digits (``"s3"`` also stays whole). Words are casefolded, English ones stemmed (Snowball), stop words left out
    unless nothing else is there; abbreviations of identifiers count as the words they stand for. Chinese, Japanese,
    Korean, Thai and their like give single characters and bigrams.

    Example:
        >>> tokenize("getWeatherForecasts for 北京")
        ['get', 'weather', 'forecast', '北', '京', '北京']
    """
    return [term for _, term in words_and_terms(text)]


def words_and_terms(text: str) -> list[tuple[str, str]]:
    """The terms of `text` as in `tokenize`, each after the word it was made from, casefolded: to show to a person."""
    text = unicodedata.normalize("NFKC", text)
    found: list[tuple[str, str]] = []
    if text.isascii():
        for run in _ASCII_RUNS.findall(text):
            found.extend(_terms_of(run))
    else:
        for match in _RUNS.finditer(text):
            run = match.group()
            if match.lastgroup == "word":
                found.extend(_terms_of(run))
            else:
                found.extend((char, char) for char in run)
                found.extend((run[at : at + 2], run[at : at + 2]) for at in range(len(run) - 1))
    return [pair for pair in found if pair[0] not in STOP_WORDS] or found


def _terms_of(run: str) -> tuple[tuple[str, str], ...]:
    """Word and term for each part of one run of word characters."""
    return _cached_terms_of(run) if len(run) <= LONGEST_WORD else _fresh_terms_of(run)


def _fresh_terms_of(run: str) -> tuple[tuple[str, str], ...]:
    words = map(str.casefold, split_identifier(run))
    return tuple((folded, stem(EXPANSIONS.get(folded, folded))) for folded in words)


_cached_terms_of = lru_cache(maxsize=1 << 16)(_fresh_terms_of)  # a catalog repeats its runs many times


def split_identifier(name: str) -> list[str]:
    """The words of one run of letters, digits and underscores, in its own case.

    Example:
        >>> split_identifier("parseHTTPResponse_v2")
        ['parse', 'HTTP', 'Response', 'v2', 'v', '2']
    """
    words: list[str] = []
    for part in name.split("_"):
        if part.isascii() and not (part.islower() or part.isupper() or part.isdigit()):
            humps = _CAMEL.findall(part)
        else:
            humps = [part]
        for word in humps:
            if word:
                words.append(word)
                pieces = [] if word.isalpha() else _LETTERS_AND_DIGITS.findall(word)
                words.extend(pieces if len(pieces) > 1 else ())
    return words


def spoken_name(name: str) -> str:
    """A tool's or parameter's name as words: ``"github.listIssues"`` becomes ``"github list issues"``."""
    return " ".join(
        hump.casefold() if len(hump) > 1 and not hump.isupper() else hump
        for run in re.split(r"[\W_]+", unicodedata.normalize("NFKC", name))
        for hump in (_CAMEL.findall(run) if run.isascii() and not run.islower() else [run])
        if hump
    )


_stemmer = snowballstemmer.stemmer("english")
_stemmer_lock = threading.Lock()


def stem(word: str) -> str:
    """The Snowball stem of an English-looking `word` (ASCII letters, not endless); any other word unchanged."""
    return _stemmed(word) if len(word) <= LONGEST_WORD and word.isascii() and word.isalpha() else word


@lru_cache(maxsize=1 << 16)
def _stemmed(word: str) -> str:
    with _stemmer_lock:  # the stemmer keeps the word it works on in itself
        return str(_stemmer.stemWord(word))


def tool_text(tool: Tool) -> str:
    """What an embedder reads of a tool: name in words, description, top-level parameter names, examples.

    Longer descriptions of parameters are left to `parameter_texts`: in one vector they blur what the tool is for.
    """
    name = expanded(spoken_name(tool.name))
    text = f"{name}: {tool.description}" if tool.description else name
    if names := [expanded(spoken_name(parameter.name)) for parameter in walk_parameters(tool.parameters, max_depth=1)]:
        text += f" Parameters: {', '.join(names)}."
    if tool.examples:
        text += f" Examples: {' '.join(tool.examples)}"
    return text[:MAX_TEXT_CHARACTERS]


def tool_terms(tool: Tool) -> list[str]:
    """Every word that may lead to a tool, for BM25, with repetitions.

    Name, aliases, server, description, category, tags, examples; names, descriptions and enum values of all
    parameters, nested ones too.
    """
    texts = [tool.name, *tool.aliases, tool.server or "", tool.description, tool.category or "", *tool.tags]
    texts += tool.examples
    for parameter in walk_parameters(tool.parameters):
        texts += (parameter.name, parameter.description, *enum_values(parameter))
    return [term for text in texts if text for term in tokenize(text)]


def parameter_texts(tool: Tool) -> dict[str, str]:
    """Path to text of every parameter, as an embedder reads it: ``{"order.id": "order id: number of the order"}``."""
    return {
        parameter.path: _parameter_text(parameter)[:MAX_TEXT_CHARACTERS]
        for parameter in walk_parameters(tool.parameters)
    }


def enum_values(parameter: Parameter) -> list[str]:
    """The texts among the values that a parameter, or the items of a list parameter, may take."""
    schemas: list[Any] = [parameter.schema, parameter.schema.get("items")]
    values = [value for schema in schemas if isinstance(schema, dict) for value in schema.get("enum") or ()]
    return [value for value in values if isinstance(value, str)][:MAX_ENUM_VALUES]


def _parameter_text(parameter: Parameter) -> str:
    name = expanded(spoken_name(parameter.path.replace("[]", "").replace("*", "")))
    values = ", ".join(enum_values(parameter)[:MAX_SHOWN_VALUES])
    text = f"{name}: {parameter.description}" if parameter.description else name
    return f"{text} ({values})" if values else text


def tool_digest(tool: Tool) -> str:
    """Hex digest (128 bits) of all that `tool_text`, `tool_terms` and `parameter_texts` read of a tool.

    Twenty times cheaper than making the texts, so that loading an index of 40,000 tools stays a matter of a second.
    """
    read = (tool.name, tool.aliases, tool.server, tool.description, tool.category, tool.tags, tool.examples)
    return digest_of_text(json.dumps((TEXT_VERSION, read, tool.parameters), ensure_ascii=False))[:32]
