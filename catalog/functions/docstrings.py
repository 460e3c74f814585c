"""What a docstring says about a function and its parameters, in Google, NumPy or Sphinx style."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DocstringParts:
    """A docstring taken apart.

    Attributes:
        description: summary and body, without the sections.
        parameters: parameter name to its description.
    """

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> DocstringParts:
    """Takes a docstring apart; the style is found out. A docstring without sections is all description.

    Example:
        >>> read_docstring('''Find flights.
        ...
        ...     Args:
        ...         origin: Airport code.
        ... ''')
        DocstringParts(description='Find flights.', parameters={'origin': 'Airport code.'})
    """
    if not text or not text.strip():
        return DocstringParts()
    import griffe  # Only the decorator needs it, and it costs a tenth of a second.

    docstring = griffe.Docstring(text)
    clean = docstring.value
    # The detection wants a line before and after a section; a docstring may begin and end with one.
    docstring.value = f"\n{clean}\n"
    style, _ = griffe.infer_docstring_style(docstring)
    if style is None:
        return DocstringParts(clean.strip())
    docstring.value = clean
    texts: list[str] = []
    parameters: dict[str, str] = {}
    for section in griffe.parse(docstring, style, warnings=False):
        if isinstance(section, griffe.DocstringSectionText):
            texts.append(section.value.strip())
        elif isinstance(section, (griffe.DocstringSectionParameters, griffe.DocstringSectionOtherParameters)):
            for parameter in section.value:
                parameters[parameter.name] = _joined(parameter.description)
    return DocstringParts("\n\n".join(part for part in texts if part), parameters)


def _joined(description: str) -> str:
    """Lines of one paragraph on one line: where the source broke them says nothing."""
    paragraphs = inspect.cleandoc(description).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip())
