"""Docstrings taken apart."""

from __future__ import annotations

import pytest
from toolpath.catalog.functions.docstrings import DocstringParts, read_docstring

GOOGLE = """Find flights.

    Only direct ones.

    Args:
        origin: Airport code,
            three letters.
        date (str): The day.

    Returns:
        list: The flights.

    Raises:
        ValueError: No such airport.
    """
NUMPY = """Find flights.

    Only direct ones.

    Parameters
    ----------
    origin : str
        Airport code,
        three letters.
    date : date, optional
        The day.

    Returns
    -------
    list
        The flights.
    """
SPHINX = """Find flights.

    Only direct ones.

    :param origin: Airport code,
        three letters.
    :param str date: The day.
    :returns: The flights."""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_each_style_gives_the_text_without_sections_and_the_parameters(text: str) -> None:
    assert read_docstring(text) == DocstringParts(
        "Find flights.\n\nOnly direct ones.", {"origin": "Airport code, three letters.", "date": "The day."}
    )


@pytest.mark.parametrize("text", ["Adds.\n:param x: The value.", "X\n\nParameters\n---\nx\n    The value."])
def test_a_section_at_the_very_end_is_found(text: str) -> None:
    assert read_docstring(text).parameters == {"x": "The value."}


def test_plain_text_is_all_description() -> None:
    text = "Just text: with a colon.\n\nArguments are fun.\n  - a list"
    assert read_docstring(text) == DocstringParts(text)


@pytest.mark.parametrize("text", [None, "", "  \n "])
def test_no_docstring_says_nothing(text: str | None) -> None:
    assert read_docstring(text) == DocstringParts()


def test_reading_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    for text in (GOOGLE, NUMPY, SPHINX):
        read_docstring(text)
    assert capfd.readouterr() == ("", "")
