"""Stage 3: picks among the candidates, by their ranking or by a language model, and fills arguments."""

from typing import TYPE_CHECKING

from .extract import extract_call
from .protocol import Selector
from .rank import RankSelector

if TYPE_CHECKING:
    from .llm import LLMSelector

__all__ = ["LLMSelector", "RankSelector", "Selector", "extract_call"]


def __getattr__(name: str) -> object:
    if name == "LLMSelector":  # imports pydantic-ai, which is an extra and slow to load
        from .llm import LLMSelector

        return LLMSelector
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
