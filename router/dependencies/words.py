"""Names as keys: the words of an identifier, what a tool is about, and which words are too common to connect tools."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ...catalog import Tool
from ..retrieval.text import spoken_name

Key = tuple[str, ...]
"""A name's words in their base form, in order."""

_PLACEHOLDER = re.compile(r"\{[^}]*\}")


@lru_cache(maxsize=1 << 16)
def base(word: str) -> str:
    """The form that singular and plural share, by the rules of English spelling; cheaper than a stem, and closer.

    Example:
        >>> [base(word) for word in ("city", "cities", "boxes", "movies", "status")]
        ['citie', 'citie', 'box', 'movie', 'status']
    """
    if word.endswith("s") and len(word) > 2 and not word.endswith(("ss", "us", "is")):
        word = word[:-2] if word.endswith(("xes", "ches", "shes", "sses")) else word[:-1]
    return f"{word[:-1]}ie" if len(word) > 2 and word.endswith("y") else word


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _bases(text: str) -> frozenset[str]:
    return frozenset(map(base, text.split()))


FINDERS = _words("find search list lookup query browse discover locate resolve")
"""Verbs of tools that lead from what a person knows to the thing itself."""
MAKERS = _words("create add new make open start register upload book submit generate insert")
"""Verbs of tools that bring a thing into being, and know its id from then on."""
READERS = _words("get fetch read retrieve show describe view load check")
VERBS = (
    FINDERS
    | MAKERS
    | READERS
    | _words("delete remove update set edit patch put post cancel close send move copy archive assign run execute")
)
_HTTP = _words("get post put patch delete head options")

REFERENCES = _bases("id ids uuid guid key token slug handle sku number code")
"""Last words of names that stand for a thing by what only a machine remembers."""
IDENTIFIERS = _bases("id ids uuid guid")
"""Those of them for which the naming of a tool alone is evidence."""

GENERIC = _bases(
    "id ids uuid guid key name title text description content body message type kind status state value values data "
    "result results response output input count total number limit offset page size length width height date time "
    "datetime timestamp start end from to query search filter sort order category tag tags label language lang "
    "format mode level url link path file success error code note notes comment address amount price unit units "
    "version user item items list object field fields option options location city country email phone"
)
"""Words that too many tools take and give: the same name made of them says nothing about the same thing."""

FILLERS = _bases(
    "page start end total max min maximum minimum offset limit size count number result status error sort query "
    "search input output type kind state value next previous last first new old"
)
"""Words that make no thing of an id or number behind them: a page number and an error code are no references."""


@lru_cache(maxsize=1 << 16)
def key_of(name: str) -> Key:
    """The words of an identifier, or of a text.

    Example:
        >>> key_of("originSkyIds")
        ('origin', 'skie', 'id')
    """
    return tuple(base(word.casefold()) for word in spoken_name(name).split())


def is_reference(key: Key) -> bool:
    """Whether a name of two words or more stands for a thing by its id, key, number or the like."""
    return len(key) > 1 and key[-1] in REFERENCES and not FILLERS.issuperset(key[:-1])


def is_specific(key: Key) -> bool:
    """Whether two tools that use this name most likely mean the same."""
    return is_reference(key) or not GENERIC.issuperset(key)


@dataclass(frozen=True, slots=True)
class Naming:
    """What a tool's name says.

    Attributes:
        server: where it comes from: its `server`, or what stands before the last dot of its name; "" for neither.
        verbs: words of doing at the beginning of its name, casefolded.
        thing: the other words: what it is about.
        words: all of them.
    """

    server: str
    verbs: frozenset[str]
    thing: Key
    words: Key


def naming_of(tool: Tool) -> Naming:
    """What `tool` is called, taken apart.

    Example:
        >>> naming_of(Tool(name="github.list_issues"))
        Naming(server='github', verbs=frozenset({'list'}), thing=('issue',), words=('list', 'issue'))
        >>> naming_of(Tool(name="GET /movie/{movie_id}/credits")).thing
        ('movie', 'credit')
    """
    prefix, _, bare = tool.name.rpartition(".")
    if not bare or " " in prefix:  # "3.5 to 4": no server's name
        prefix, bare = "", tool.name
    words = [word.casefold() for word in spoken_name(_PLACEHOLDER.sub(" ", bare)).split()]
    verbs: list[str] = []
    while words[len(verbs) :] and words[len(verbs)] in (VERBS if not verbs or verbs[-1] in _HTTP else ()):
        verbs.append(words[len(verbs)])
    bases = tuple(map(base, words))
    return Naming(tool.server or prefix, frozenset(verbs), bases[len(verbs) :], bases)
