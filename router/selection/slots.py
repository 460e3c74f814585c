"""What a parameter can hold, as far as its schema, name and description tell: the side that mentions are matched to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...catalog import Tool
from ...catalog.schemas import Parameter, walk_parameters
from ..intent.patterns import PatternError, SafePattern
from ..retrieval.text import STOP_WORDS, split_identifier, stem, tokenize
from .mentions import Kind, Mention

_FORMAT_KINDS = {
    "email": Kind.EMAIL, "idn-email": Kind.EMAIL, "uri": Kind.URL, "url": Kind.URL, "iri": Kind.URL,
    "date": Kind.DATE, "date-time": Kind.DATETIME, "time": Kind.TIME,
}  # fmt: skip
_NAME_KINDS = {
    "email": Kind.EMAIL, "mail": Kind.EMAIL, "url": Kind.URL, "link": Kind.URL, "uri": Kind.URL, "website": Kind.URL,
    "path": Kind.PATH, "file": Kind.PATH, "filename": Kind.PATH, "filepath": Kind.PATH, "folder": Kind.PATH,
    "directory": Kind.PATH, "dir": Kind.PATH, "date": Kind.DATE, "day": Kind.DATE, "datetime": Kind.DATETIME,
    "timestamp": Kind.DATETIME, "time": Kind.TIME, "id": Kind.CODE, "code": Kind.CODE, "sku": Kind.CODE,
    "ticket": Kind.CODE, "uuid": Kind.CODE, "isbn": Kind.CODE, "number": Kind.CODE, "reference": Kind.CODE,
}  # fmt: skip
"""The last word of a parameter's name to the form of its values, where the schema says no more than "a string"."""
_DESCRIPTION_KINDS = (
    (re.compile(r"邮箱|电子邮件|邮件地址"), Kind.EMAIL),
    (re.compile(r"网址|链接"), Kind.URL),
    (re.compile(r"路径|文件名"), Kind.PATH),
    (re.compile(r"日期"), Kind.DATE),
    (re.compile(r"编号|单号|标识符|序列号"), Kind.CODE),
)
_PERCENT = re.compile(r"percent|%|百分", re.IGNORECASE)
_SERIES = re.compile(r"(.*[^\d_-])[_-]?([1-9])")
_FROM = frozenset({"from", "start", "begin", "since", "origin", "departure"})
_TO = frozenset({"to", "end", "until", "till", "destination", "arrival"})
GENERIC_WORDS = frozenset(
    stem(word)
    for word in "id code number num count name date day time type value amount total max min limit duration".split()  # noqa: SIM905
)
"""Words that many parameters share: alone they do not name one that has other words too."""
_HAN_RUN = re.compile(r"[\u3400-\u9fff]{2,}")


@dataclass(frozen=True, slots=True)
class Slot:
    """A parameter at the top of a tool's schema that a mention could fill.

    Attributes:
        name: the argument's name.
        type: "string", "integer", "number", "boolean", "array" or "" when the schema leaves it open.
        kinds: forms that its text may have, the fitting one first; only for strings, or an array's strings.
        schema: the schema of one value: the parameter's own, or that of an array's items.
        enum: allowed values, if the schema lists them.
        required: whether a valid call needs it.
        words: stems of the words that name it.
        bigrams: Chinese bigrams of its description's beginning.
        side: "from" or "to" for the ends of a span, "" else.
        percent: its description speaks of percent, so "5%" is 5.
        series: for ``side1`` and the like: ("side", 1).
    """

    name: str
    type: str
    kinds: tuple[Kind, ...]
    schema: dict[str, Any]
    enum: tuple[Any, ...] = ()
    required: bool = False
    words: frozenset[str] = frozenset()
    bigrams: frozenset[str] = frozenset()
    side: str = ""
    percent: bool = False
    series: tuple[str, int] | None = None
    array: bool = False
    pattern: SafePattern | None = field(default=None, compare=False)

    def value_of(self, mention: Mention) -> Any:
        """The mention as a value of this slot, or None when type, format, enum, pattern or bounds do not allow it."""
        value = self._typed(mention)
        if value is None or (self.enum and value not in self.enum) or not self._within_bounds(value):
            return None
        return value

    def _typed(self, mention: Mention) -> Any:
        if self.type in ("integer", "number"):
            return self._number(mention)
        if self.type not in ("string", "") or not (mention.kind in self.kinds or mention.quoted):
            return None
        if mention.quoted and mention.kind not in self.kinds and not self._takes_any_text():
            return None
        if mention.kind in (Kind.DATE, Kind.DATETIME, Kind.TIME):
            return self._moment(mention)
        if mention.kind in (Kind.NUMBER, Kind.CODE):
            text = str(mention.value) if mention.kind is Kind.CODE else mention.text
        else:
            text = mention.text
        return text if self.pattern is None or self.pattern.found_in(text) else None

    def _number(self, mention: Mention) -> int | float | None:
        if mention.kind is Kind.PERCENT and not self.percent:
            return None  # 5 or 0.05: a matter of the tool, which does not say
        if mention.kind not in (Kind.NUMBER, Kind.PERCENT):
            return None
        if self.type == "integer" and not isinstance(mention.value, int):
            return int(mention.value) if float(mention.value).is_integer() else None
        return mention.value  # type: ignore[no-any-return]

    def _takes_any_text(self) -> bool:
        return not self.schema.get("format") and not self.enum and Kind.QUOTED in self.kinds

    def _moment(self, mention: Mention) -> str | None:
        """A date or time in the form that the slot asks for."""
        wanted = self.schema.get("format")
        if wanted == "date" and mention.kind is Kind.DATETIME:
            return None  # dropping the hour would be a guess
        if wanted == "date-time":
            if mention.kind is not Kind.DATETIME:
                return None
            return str(mention.value) if re.search(r"(?:Z|[+-]\d\d:?\d\d)$", str(mention.value)) else None
        text = str(mention.value)
        return text if self.pattern is None or self.pattern.found_in(text) else None

    def _within_bounds(self, value: Any) -> bool:
        rules = self.schema
        if isinstance(value, str):
            return bool(rules.get("minLength", 0) <= len(value) <= rules.get("maxLength", len(value)))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return (
                rules.get("minimum", value) <= value <= rules.get("maximum", value)
                and ("exclusiveMinimum" not in rules or value > rules["exclusiveMinimum"])
                and ("exclusiveMaximum" not in rules or value < rules["exclusiveMaximum"])
                and ("multipleOf" not in rules or value % rules["multipleOf"] == 0)
            )
        return True


def slots_of(tool: Tool) -> list[Slot]:
    """The tool's slots in the order of its schema; objects and lists of objects are not slots."""
    return list(_slots(tool))


def _slots(tool: Tool) -> Iterator[Slot]:
    for parameter in walk_parameters(tool.parameters, max_depth=1):
        if parameter.path != parameter.name or parameter.name == "*":
            continue
        kind = _type(parameter.schema)
        item = parameter.schema.get("items") if kind == "array" else parameter.schema
        value_type = _type(item) if isinstance(item, dict) else ""
        if isinstance(item, dict) and value_type in ("string", "integer", "number", "boolean"):
            yield _slot(parameter, item, value_type, array=kind == "array")


def _slot(parameter: Parameter, schema: dict[str, Any], value_type: str, *, array: bool) -> Slot:
    words = [word.casefold() for word in split_identifier(parameter.name.replace("-", "_").replace(".", "_"))]
    pattern, usable = _pattern(schema)
    enum = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return Slot(
        name=parameter.name,
        type=value_type,
        kinds=_kinds(words, parameter.description, schema) if usable else (),
        schema=schema,
        enum=tuple(value for value in enum if value is not None),
        required=parameter.required,
        words=frozenset(stem(word) for word in words if word not in STOP_WORDS and len(word) > 1),
        bigrams=frozenset(
            term for run in _HAN_RUN.findall(parameter.description[:16]) for term in tokenize(run) if len(term) == 2
        ),
        side="from" if _FROM & set(words) else "to" if _TO & set(words) else "",
        percent=_PERCENT.search(f"{parameter.name} {parameter.description}") is not None,
        series=(match.group(1).casefold(), int(match.group(2)))
        if (match := _SERIES.fullmatch(parameter.name))
        else None,
        array=array,
        pattern=pattern,
    )


def _type(schema: dict[str, Any]) -> str:
    """The one JSON type of a schema, null apart; "" when there are several."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return declared
    branches = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(branches, list):
        declared = [branch.get("type") for branch in branches if isinstance(branch, dict)]
    types = [kind for kind in declared if kind != "null"] if isinstance(declared, list) else []
    return types[0] if len(types) == 1 and isinstance(types[0], str) else ""


def _pattern(schema: dict[str, Any]) -> tuple[SafePattern | None, bool]:
    """The schema's pattern, and whether values can be held against it; tool lists may be hostile, so it cannot hang."""
    if not isinstance(schema.get("pattern"), str):
        return None, True
    try:
        return SafePattern(schema["pattern"], ignore_case=False), True
    except PatternError:
        return None, False


def _kinds(words: list[str], description: str, schema: dict[str, Any]) -> tuple[Kind, ...]:
    kind = _FORMAT_KINDS.get(str(schema.get("format", "")))
    if kind is None and "pattern" in schema:
        return (Kind.CODE, Kind.NUMBER, Kind.QUOTED, Kind.DATE, Kind.TIME)
    if kind is None and words:
        kind = _NAME_KINDS.get(words[-1])
    if kind is None:
        head = description[:20]
        kind = next((found for pattern, found in _DESCRIPTION_KINDS if pattern.search(head)), None)
    match kind:
        case None:
            return (Kind.QUOTED,)
        case Kind.CODE:
            return (Kind.CODE, Kind.NUMBER, Kind.QUOTED)
        case Kind.TIME | Kind.DATETIME if "format" not in schema:
            return (kind, Kind.DATETIME, Kind.DATE, Kind.QUOTED) if kind is Kind.DATETIME else (kind, Kind.QUOTED)
        case _:
            return (kind,) if "format" in schema or kind in (Kind.EMAIL, Kind.URL) else (kind, Kind.QUOTED)
