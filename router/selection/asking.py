"""One question to a model, and the ways in which that can go wrong as two errors of ours.

Imported only where pydantic-ai is there (extra ``llm``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition

from ...catalog.errors import ModelError
from .models import NotHonouredError

REFUSED_FORMS = frozenset({400, 404, 405, 415, 422, 501})
"""HTTP statuses with which a server refuses a form of request that it has not got (tools, a JSON schema)."""


async def ask(
    model: Model, messages: Sequence[ModelMessage], settings: Mapping[str, Any], parameters: ModelRequestParameters
) -> ModelResponse:
    """The model's response; what a provider's library raises becomes one of our errors.

    Raises:
        NotHonouredError: the server refuses this form of request.
        ModelError: anything else went wrong.
    """
    try:
        return await model_request(
            model,
            messages,
            model_settings=dict(settings),  # type: ignore[arg-type]
            model_request_parameters=parameters,
        )
    except ModelHTTPError as error:
        what = f"the model's server answered with HTTP {error.status_code}"
        if error.status_code in REFUSED_FORMS:
            raise NotHonouredError(f"{what} ({shortened(error.body)})") from error
        raise ModelError(what) from error
    except (RuntimeError, OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        # pydantic-ai's own errors are RuntimeErrors; the last four: adapters trip over what is no completion at all
        raise ModelError(f"the model cannot be asked: {shortened(error)}") from error


def held_to(schema: dict[str, Any] | None, name: str) -> ModelRequestParameters:
    """Parameters that hold an answer to a JSON schema; None: to nothing."""
    if schema is None:
        return ModelRequestParameters()
    definition = OutputObjectDefinition(json_schema=schema, name=name, strict=False)
    return ModelRequestParameters(output_mode="native", output_object=definition)


def opening(instructions: str, prompt: str) -> list[ModelMessage]:
    """Stable instructions as the system's words, then the prompt as the user's."""
    return [ModelRequest(parts=[SystemPromptPart(instructions), UserPromptPart(prompt)])]


def text_of(response: ModelResponse) -> str:
    """The response's text; thoughts and tool calls are left out."""
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def shortened(what: object) -> str:
    """`what` as one line of at most 200 characters."""
    text = " ".join(str(what).split())
    return text if len(text) <= 200 else f"{text[:200]}…"
