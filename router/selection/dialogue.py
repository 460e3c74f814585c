"""The two ways to make a model answer, each as the messages and parameters of a pydantic-ai request.

Imported only where pydantic-ai is there (extra ``llm``).
"""

from __future__ import annotations

from typing import Any, Protocol

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from .answer import Answer, AnsweredCall, AnswerError, answer_schema, read_answer
from .asking import held_to, opening, text_of
from .names import SafeNames
from .offer import Offer
from .prompts import (
    INSTRUCTIONS,
    JSON_INSTRUCTIONS,
    MAX_REPLY_SHOWN,
    NATIVE_INSTRUCTIONS,
    NO_TOOL_FITS,
    NO_TOOL_FITS_DESCRIPTION,
    json_prompt,
    neutral,
    pinned_prompt,
    ranking_prompt,
    shown_description,
    shown_parameters,
)


class Dialogue(Protocol):
    """One way to ask."""

    parameters: ModelRequestParameters
    settings: dict[str, Any]

    def opening(self, request: str) -> list[ModelMessage]:
        """The first messages."""
        ...

    def read(self, response: ModelResponse) -> Answer:
        """The answer in a response; raises `AnswerError` when there is none."""
        ...

    def repair(self, response: ModelResponse | None, prompt: str) -> list[ModelMessage]:
        """The messages that send a wrong response back."""
        ...


class JsonDialogue:
    """Asks for one JSON object, held to a schema where the model's profile allows it.

    Args:
        offer: what it may choose among.
        with_schema: whether to send the schema; without it the instructions alone ask for JSON.
    """

    def __init__(self, offer: Offer, with_schema: bool) -> None:
        self._offer = offer
        self.settings: dict[str, Any] = {}
        schema = answer_schema([tool.name for tool in offer.tools]) if with_schema else None
        self.parameters = held_to(schema, "tool_choice")

    def opening(self, request: str) -> list[ModelMessage]:
        """Instructions and pinned tools, then the ranked tools and the request."""
        stable = INSTRUCTIONS + JSON_INSTRUCTIONS + pinned_prompt(self._offer.pinned)
        return opening(stable, json_prompt(self._offer, request))

    def read(self, response: ModelResponse) -> Answer:
        """The answer in the response's text."""
        return read_answer(text_of(response))

    def repair(self, response: ModelResponse | None, prompt: str) -> list[ModelMessage]:
        """The wrong answer as it came, cut where it rambles, and what is wrong with it."""
        said = TextPart(text_of(response)[:MAX_REPLY_SHOWN] if response is not None else "")
        return [ModelResponse(parts=[said]), ModelRequest(parts=[UserPromptPart(prompt)])]


class NativeDialogue:
    """Asks through the provider's own tool calling.

    Args:
        offer: what it may choose among.
        with_schema: not used; both dialogues are made alike.
    """

    def __init__(self, offer: Offer, with_schema: bool) -> None:
        self._offer = offer
        self._names = SafeNames([tool.name for tool in offer.tools], taken=[NO_TOOL_FITS])
        definitions = [
            ToolDefinition(
                name=self._names.safe(tool.name),
                description=neutral(shown_description(tool)),
                parameters_json_schema=shown_parameters(tool),
                strict=False,
            )
            for tool in offer.tools
        ]
        none = {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]}
        # the first one: providers put tools before the instructions, and what changes must not stand before it
        definitions.insert(
            0, ToolDefinition(name=NO_TOOL_FITS, description=NO_TOOL_FITS_DESCRIPTION, parameters_json_schema=none)
        )
        self.parameters = ModelRequestParameters(function_tools=definitions)
        self.settings: dict[str, Any] = {"tool_choice": "required"}

    def opening(self, request: str) -> list[ModelMessage]:
        """Instructions, then scores and request; the tools travel in the parameters, pinned ones first."""
        scores = {self._names.safe(candidate.name): candidate.score for candidate in self._offer.ranked}
        return opening(INSTRUCTIONS + NATIVE_INSTRUCTIONS, ranking_prompt(scores, request))

    def read(self, response: ModelResponse) -> Answer:
        """The tool calls of the response, or those that a model without tool calling wrote into its text."""
        parts = [part for part in response.parts if isinstance(part, ToolCallPart)]
        said = text_of(response)
        if parts:
            calls = [AnsweredCall(tool=part.tool_name, arguments=_arguments(part)) for part in parts]
        else:
            answer = read_answer(said)
            if answer.none_fits:
                return answer
            calls, said = list(answer.calls), answer.reason
        real = [call for call in calls if call.tool != NO_TOOL_FITS]
        if not real:
            return Answer(none_fits=True, reason=str(calls[0].arguments.get("reason", "")))
        named = [call.model_copy(update={"tool": self._names.original(call.tool) or call.tool}) for call in real]
        return Answer(calls=tuple(named), reason=" ".join(said.split())[:300])

    def repair(self, response: ModelResponse | None, prompt: str) -> list[ModelMessage]:
        """The wrong response and, for each of its calls, that it did not run: providers want every call answered."""
        parts: list[ModelRequestPart] = [
            ToolReturnPart(part.tool_name, "did not run", tool_call_id=part.tool_call_id)
            for part in (response.parts if response is not None else ())
            if isinstance(part, ToolCallPart)
        ]
        return [response or ModelResponse(parts=[TextPart("")]), ModelRequest(parts=[*parts, UserPromptPart(prompt)])]


def _arguments(part: ToolCallPart) -> dict[str, Any]:
    try:
        return part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError) as error:
        raise AnswerError(f"the arguments of {part.tool_name!r} are no JSON object") from error
