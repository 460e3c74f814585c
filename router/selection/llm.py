"""Stage 3 with a language model: it sees the candidates' schemas and answers with calls, checked and repaired here.

Whatever goes wrong on the model's side, the ranking answers instead and the selection says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import anyio

from ...catalog.errors import ModelError, RoutingError
from ..records import AFTER_FAILURE, Candidate, Intent, Selection, Usage
from .answer import Answer, AnswerError
from .check import Checked, check_answer
from .models import ModelSource, NotHonouredError, has_json_schema
from .offer import Offer, offer_of, without_pinned
from .prompts import cut_request, repair_prompt
from .protocol import Selector
from .rank import RankSelector
from .vote import RankingVote, Trust

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model

    from .dialogue import Dialogue

DEFAULT_TIMEOUT = 60.0
"""Seconds for one selection, repair included."""
DEFAULT_SETTINGS = {"max_tokens": 4_096, "max_retries": 1}
"""Sent with every request: an answer is short, and behind a model that stays silent the ranking stands ready."""


class Mode(StrEnum):
    """How the model is made to answer."""

    AUTO = "auto"
    NATIVE = "native"
    JSON = "json"


class LLMSelector:
    """Lets a language model choose among the candidates.

    The model sees the candidates' full schemas, best first, and answers with calls, their arguments and their
    dependencies, or that none fits. Unknown names and unfit arguments are sent back to it once, with the problem of
    each field. When it cannot be reached, is too slow, or still answers with tools that do not exist, the ranking
    answers, `Selection.served_by` is "rank after llm failed" and `Selection.reason` says why.

    Args:
        model: "openai:gpt-5-mini", "anthropic:…", "google-gla:…" or any other name that pydantic-ai knows, a
            pydantic-ai model, or the name of a model behind `base_url`. Default: the variable TOOLPATH_MODEL.
        base_url: an OpenAI-compatible server such as "http://localhost:8000/v1". Default, when no model is given:
            the variable TOOLPATH_BASE_URL.
        api_key: for that server. Default: the variable TOOLPATH_API_KEY.
        fallback: answers when the model cannot. Default: a `RankSelector`.
        mode: "json" asks for a JSON answer, which can hold dependencies between calls and references to results;
            "native" uses the provider's tool calling, where calls are independent of each other; "auto" takes
            "json" where the model's profile has it, else "native", and changes over when the server refuses.
        timeout: seconds for one selection.
        settings: pydantic-ai model settings (temperature, max_tokens, …) over `DEFAULT_SETTINGS`.
        vote: whether the ranking may overrule the model where it is more likely right. A strong model is hardly ever
            overruled, a weak one where the ranking is surer than it deserves; the selection then says
            "rank over llm" and why.
        trust: what an earlier selector learned about the same model. Default: nothing is known.

    Raises:
        MissingExtraError: pydantic-ai is not installed (extra ``llm``).
        ModelError: no model is given, or it cannot be set up.
        RoutingError: `mode` or `timeout` is not usable, or `trust` is given without `vote`.

    Example:
        >>> selector = LLMSelector("qwen2.5", base_url="http://localhost:8000/v1")
        >>> decision = await Router(catalog, selector=selector).route("email the report to Ann")
    """

    def __init__(
        self,
        model: Model | str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        fallback: Selector | None = None,
        mode: Mode | str = Mode.AUTO,
        timeout: float = DEFAULT_TIMEOUT,
        settings: dict[str, Any] | None = None,
        vote: bool = True,
        trust: Trust | None = None,
    ) -> None:
        if mode not in list(Mode):
            raise RoutingError(f"mode is one of {', '.join(Mode)}, not {mode!r}")
        if not timeout > 0:
            raise RoutingError(f"timeout must be above 0 seconds, is {timeout}")
        if trust is not None and not vote:
            raise RoutingError("trust is for the ranking's vote: leave it out, or let the ranking vote")
        self._source = ModelSource(model, base_url, api_key)
        self._fallback = fallback if fallback is not None else RankSelector()
        self._mode = Mode(mode)
        self._timeout = timeout
        self._settings = {**DEFAULT_SETTINGS, **(settings or {})}
        self._honoured: Mode | None = None
        self._vote = RankingVote(self._fallback, trust) if vote else None

    @property
    def trust(self) -> Trust | None:
        """What is known about the model by now; it grows with the requests. None without a vote of the ranking."""
        return self._vote.trust if self._vote is not None else None

    @property
    def model_name(self) -> str:
        """The model's name as it was given."""
        return self._source.name

    async def select(self, request: str, candidates: Sequence[Candidate], intent: Intent) -> Selection:
        """The model's selection, or the fallback's with the reason; only cancellation comes out as an exception."""
        if not candidates:
            return Selection(abstained=True, confidence=1.0, reason="no candidate", served_by="llm")
        found = without_pinned(candidates)
        sent, note = cut_request(request)
        talk = _Talk(sent, offer_of(candidates), [note] if note else [])
        try:
            with anyio.fail_after(self._timeout):
                selection = await self._ask(talk)
            return selection if self._vote is None else await self._vote.weigh(selection, request, found, intent)
        except TimeoutError:
            failure = f"the model did not answer within {self._timeout:g} s"
        except ModelError as error:
            failure = str(error)
        served = await self._fallback.select(request, found, intent)
        return replace(
            served,
            served_by=served.served_by + AFTER_FAILURE,
            reason=f"{failure}; {served.reason}",
            usage=talk.usage,
            notes=(*talk.notes, *served.notes),
        )

    async def _ask(self, talk: _Talk) -> Selection:
        """Goes through the modes until the server honours one."""
        async with self._source.open() as model:
            *others, last = self._modes(model)
            for mode in others:
                try:
                    return await self._converse(model, mode, talk)
                except NotHonouredError as error:
                    talk.notes.append(f"mode {mode}: {error}; asked again in mode {last}")
            return await self._converse(model, last, talk)

    def _modes(self, model: Model) -> list[Mode]:
        if self._mode is not Mode.AUTO:
            return [self._mode]
        first = self._honoured or (Mode.JSON if has_json_schema(model) else Mode.NATIVE)
        return [first, Mode.NATIVE if first is Mode.JSON else Mode.JSON]

    async def _converse(self, model: Model, mode: Mode, talk: _Talk) -> Selection:
        """One question and at most one repair."""
        from .dialogue import JsonDialogue, NativeDialogue

        dialogue: Dialogue = (JsonDialogue if mode is Mode.JSON else NativeDialogue)(talk.offer, has_json_schema(model))
        messages = dialogue.opening(talk.request)
        answer, checked, problems = await self._turn(model, dialogue, messages, talk)
        repaired = bool(problems)
        if problems:
            talk.notes.append("repaired once: " + "; ".join(f"{place}: {what}" for place, what in problems.items()))
            messages += dialogue.repair(talk.last_response, repair_prompt(problems, [t.name for t in talk.offer.tools]))
            answer, checked, problems = await self._turn(model, dialogue, messages, talk)
        if answer is None or checked is None:
            raise NotHonouredError("; ".join(problems.values()))
        if checked.invented:
            raise ModelError(f"the model insists on tools that do not exist: {', '.join(map(repr, checked.invented))}")
        if problems:
            talk.notes.append("left out: " + "; ".join(f"{place}: {what}" for place, what in problems.items()))
            if not checked.calls:
                raise ModelError("the model's calls cannot be used: " + "; ".join(problems.values()))
        self._honoured = mode
        return Selection(
            calls=checked.calls,
            abstained=answer.none_fits,
            confidence=_confidence(checked, talk.offer, repaired, bool(problems)),
            reason=answer.reason,
            served_by="llm",
            usage=talk.usage,
            notes=tuple(talk.notes),
        )

    async def _turn(
        self, model: Model, dialogue: Dialogue, messages: list[ModelMessage], talk: _Talk
    ) -> tuple[Answer | None, Checked | None, dict[str, str]]:
        """One request: the answer and the check of it (None when it cannot be read), and the problems."""
        from .asking import ask

        talk.last_response = response = await ask(
            model, messages, {**self._settings, **dialogue.settings}, dialogue.parameters
        )
        talk.count(response)
        try:
            answer = dialogue.read(response)
        except AnswerError as error:
            return None, None, {"answer": str(error)}
        checked = check_answer(answer, talk.offer.tools)
        return answer, checked, dict(checked.problems)


@dataclass(slots=True)
class _Talk:
    """What one selection gathers while it talks to the model."""

    request: str
    offer: Offer
    notes: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    last_response: ModelResponse | None = None

    def count(self, response: ModelResponse) -> None:
        """Adds the response's tokens."""
        self.usage = replace(
            self.usage,
            input_tokens=self.usage.input_tokens + response.usage.input_tokens,
            output_tokens=self.usage.output_tokens + response.usage.output_tokens,
            requests=self.usage.requests + 1,
        )


def _confidence(checked: Checked, offer: Offer, repaired: bool, lame: bool) -> float:
    """How sure the selection is: an order, not a probability.

    0.9 where the model's first call is the tool that ranks first, else 0.8 (the same for "none fits"); a repair costs
    0.15, arguments that had to be left out 0.2.
    """
    agrees = bool(checked.calls) and offer.first is not None and checked.calls[0].tool == offer.first.name
    return round((0.9 if agrees else 0.8) - 0.15 * repaired - 0.2 * lame, 2)
