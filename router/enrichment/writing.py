"""A model writes requests for tools: one question a tool, answers as they come, so that a long run can be stopped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from ...catalog import Tool
from ...catalog.errors import ModelError, RoutingError
from ..records import Usage
from ..selection.answer import json_values
from ..selection.models import ModelSource, NotHonouredError, has_json_schema
from .prompts import DEFAULT_STYLES, MAX_LENGTH, STYLES, Style, instructions, tool_prompt, written_schema

if TYPE_CHECKING:
    from pydantic_ai.models import Model

DEFAULT_SETTINGS = {"max_tokens": 500, "temperature": 0.8, "max_retries": 1}
"""Sent with every question. At a temperature of 0 a small model begins every request with the same words."""
DEFAULT_TIMEOUT = 120.0
"""Seconds for one tool."""
MAX_FAILURES = 5
"""Tools in a row for which the model fails, after which the run ends: it is the server and not the tools."""


@dataclass(frozen=True, slots=True)
class Written:
    """What the model wrote for one tool.

    Attributes:
        tool: the tool.
        requests: style to request, as written: not filtered yet.
        when_to_use: one line, "" when it was not asked for.
        problem: why there is nothing, "" when all went well.
        usage: tokens spent on it.
    """

    tool: Tool
    requests: Mapping[str, str] = field(default_factory=dict)
    when_to_use: str = ""
    problem: str = ""
    usage: Usage = field(default_factory=Usage)


async def write_requests(
    tools: Sequence[Tool],
    model: Model | str | None = None,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    styles: Sequence[str] = DEFAULT_STYLES,
    when_to_use: bool = False,
    language: str | None = None,
    on_written: Callable[[Written], Awaitable[None] | None] | None = None,
    concurrency: int = 4,
    timeout: float = DEFAULT_TIMEOUT,  # noqa: ASYNC109 - of each tool, not of the whole
    settings: Mapping[str, Any] | None = None,
) -> list[Written]:
    """Lets a model write requests that each tool serves: one question a tool, one request a style.

    The instructions come first and are the same for all tools, so that a server's prompt cache keeps them. A tool for
    which the model fails has its `problem` and costs the others nothing.

    Args:
        tools: the tools, asked for in this order.
        model: as `LLMSelector` takes it; default: the variable TOOLPATH_MODEL.
        base_url: an OpenAI-compatible server, as `LLMSelector` takes it.
        api_key: for that server.
        styles: names out of `STYLES`, one request each.
        when_to_use: whether to ask for a when-to-use line too.
        language: ISO 639-1 code or English name of the language to write in. Default: the tool's own.
        on_written: called with each tool's outcome as soon as it is there, on the running loop, and awaited where it
            is async. When the run is cancelled or interrupted, all that was handed to it is complete.
        concurrency: questions in flight.
        timeout: seconds for one tool, waiting in the server's queue included.
        settings: pydantic-ai model settings over `DEFAULT_SETTINGS`.

    Returns:
        An outcome for each tool, in the order of `tools`.

    Raises:
        MissingExtraError: pydantic-ai is not installed (extra ``llm``).
        ModelError: the model cannot be set up, or fails for `MAX_FAILURES` tools in a row.
        RoutingError: a style is unknown, or there is none.

    Example:
        >>> written = await write_requests(catalog, "qwen2.5", base_url="http://127.0.0.1:8080/v1")
        >>> written[0].requests["question"]
        'Could you tell me whether it will rain in Oslo tomorrow?'
    """
    unknown = [style for style in styles if style not in STYLES]
    if unknown or not styles:
        raise RoutingError(f"styles are some of {', '.join(STYLES)}, not {', '.join(unknown) or 'none'}")
    source = ModelSource(model, base_url, api_key)
    told = {style: STYLES[style] for style in styles}
    written: list[Written | None] = [None] * len(tools)
    failures = 0
    limiter = anyio.CapacityLimiter(concurrency)
    failure: ModelError | None = None

    async with source.open() as opened:
        writer = _Writer(opened, told, when_to_use, language, timeout, {**DEFAULT_SETTINGS, **(settings or {})})

        async def write(place: int, tool: Tool, scope: anyio.CancelScope) -> None:
            nonlocal failures, failure
            async with limiter:
                outcome = written[place] = await writer.write(tool)
                failures = failures + 1 if outcome.problem else 0
                if on_written is not None and (waiting := on_written(outcome)) is not None:
                    await waiting
            if failures >= MAX_FAILURES and failure is None:
                failure = ModelError(f"the model failed for {failures} tools in a row: {outcome.problem}")
                scope.cancel()

        async with anyio.create_task_group() as tasks:
            for place, tool in enumerate(tools):
                tasks.start_soon(write, place, tool, tasks.cancel_scope)
    if failure is not None:
        raise failure
    return [outcome for outcome in written if outcome is not None]


def write_requests_sync(tools: Sequence[Tool], model: Model | str | None = None, **options: Any) -> list[Written]:
    """`write_requests` for code without an event loop; takes the same options and raises the same errors."""

    async def work() -> list[Written]:
        return await write_requests(tools, model, **options)

    return anyio.run(work)


@dataclass(slots=True)
class _Writer:
    """One model with one way of asking."""

    model: Model
    styles: Mapping[str, Style]
    when_to_use: bool
    language: str | None
    timeout: float
    settings: Mapping[str, Any]
    refuses_schema: bool = False

    async def write(self, tool: Tool) -> Written:
        """The outcome for one tool; only cancellation comes out as an exception."""
        try:
            with anyio.fail_after(self.timeout):
                return await self._ask(tool)
        except TimeoutError:
            return Written(tool, problem=f"the model did not answer within {self.timeout:g} s")
        except ModelError as error:
            return Written(tool, problem=str(error))

    async def _ask(self, tool: Tool) -> Written:
        if has_json_schema(self.model) and not self.refuses_schema:
            try:
                return await self._turn(tool, written_schema(self.styles, self.when_to_use))
            except NotHonouredError:
                written = await self._turn(tool, None)
                self.refuses_schema = True  # it answers without one, so it was the schema
                return written
        return await self._turn(tool, None)

    async def _turn(self, tool: Tool, schema: dict[str, Any] | None) -> Written:
        from ..selection.asking import ask, held_to, opening, text_of

        messages = opening(instructions(self.styles, self.when_to_use), tool_prompt(tool, self.language))
        response = await ask(self.model, messages, self.settings, held_to(schema, "requests"))
        texts = _texts(text_of(response))
        requests = {style: texts[style] for style in self.styles if texts.get(style)}
        usage = Usage(response.usage.input_tokens, response.usage.output_tokens, 1)
        if not requests:
            return Written(tool, problem="the model's answer holds no request", usage=usage)
        return Written(tool, requests, texts.get("when_to_use", "") if self.when_to_use else "", usage=usage)


def _texts(answer: str) -> dict[str, str]:
    """The texts of the JSON object in the answer, each on one line; what is too long to be a request is left out."""
    found = next((value for value in json_values(answer) if isinstance(value, dict)), {})
    lines = {name: " ".join(text.split()) for name, text in found.items() if isinstance(text, str)}
    return {name: line for name, line in lines.items() if 0 < len(line) <= MAX_LENGTH}
