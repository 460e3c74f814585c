"""From what a user writes ("openai:gpt-5-mini", a base URL, a model object) to a model that can be asked."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from ...catalog.errors import MissingExtraError, ModelError

if TYPE_CHECKING:
    from pydantic_ai.models import Model

MODEL_VARIABLE, URL_VARIABLE, KEY_VARIABLE = "TOOLPATH_MODEL", "TOOLPATH_BASE_URL", "TOOLPATH_API_KEY"


class NotHonouredError(ModelError):
    """The server refuses a form of request, or answers outside that form even after a repair."""


class ModelSource:
    """Opens the model for one selection, and closes its connections afterwards.

    A client of a provider belongs to the event loop that it was used on, and `route_sync` starts a loop per call;
    so a model given by name is made anew each time. A model object is used as it is.

    Args:
        model: "provider:name" as pydantic-ai knows it, the bare name of a model behind `base_url`, or a pydantic-ai
            model. Default: the variable TOOLPATH_MODEL.
        base_url: an OpenAI-compatible server, with its ``/v1``. Default, when `model` is not given either: the
            variable TOOLPATH_BASE_URL.
        api_key: for the server behind `base_url`. Default: the variable TOOLPATH_API_KEY; many local servers need none.

    Raises:
        MissingExtraError: pydantic-ai is not installed.
        ModelError: no model is given, or it cannot be set up (unknown provider, missing key).
    """

    def __init__(self, model: Model | str | None, base_url: str | None = None, api_key: str | None = None) -> None:
        try:
            from pydantic_ai.exceptions import UserError
            from pydantic_ai.models import Model
        except ImportError as error:
            raise MissingExtraError("choosing tools with a language model", "llm") from error
        self._ready: Model | None = None
        if isinstance(model, Model):
            if base_url is not None or api_key is not None:
                raise ModelError("a model object brings its own base_url and api_key")
            self._make: Callable[[], Model] | None = None
            self._ready = model
            self.name = model.model_name
            return
        if model is None:
            model = os.environ.get(MODEL_VARIABLE)
            base_url = base_url or os.environ.get(URL_VARIABLE)
        if not model:
            raise ModelError(f"no model is given: pass one, or set {MODEL_VARIABLE} (and {URL_VARIABLE} for a server)")
        self.name = model
        self._make = _factory(model, base_url, api_key or os.environ.get(KEY_VARIABLE))
        try:
            self._make()  # a wrong name or a missing key shows now and not at the first request
        except (UserError, ImportError, ValueError) as error:
            raise ModelError(f"the model {model!r} cannot be set up: {error}") from error

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Model]:
        """The model, ready for requests on the running loop."""
        if self._make is None:
            assert self._ready is not None
            yield self._ready
            return
        made = await anyio.to_thread.run_sync(self._make)  # an HTTP client reads certificates from disk
        async with made as model:
            yield model


def _factory(model: str, base_url: str | None, api_key: str | None) -> Callable[[], Any]:
    if base_url is None:
        from pydantic_ai.models import infer_model

        return lambda: infer_model(model)
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return lambda: OpenAIChatModel(
        model.removeprefix("openai:"), provider=OpenAIProvider(base_url=base_url, api_key=api_key or "none")
    )


def has_json_schema(model: Model) -> bool:
    """Whether the model's profile says that it can be held to a JSON schema."""
    try:
        return bool(model.profile.get("supports_json_schema_output", False))
    except NotImplementedError:  # a model that stands for several others has no profile
        return False
