"""What a step does when it fails: try again, and how; or let something else serve, and what."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ...catalog import ErrorCategory, ErrorInfo, RetryAdvice, Tool


def is_transient(error: ErrorInfo) -> bool:
    """Whether the very same call may succeed later: ``retry == "same"``."""
    return error.retry is RetryAdvice.SAME


@dataclass(frozen=True, slots=True)
class Retry:
    """Try the same again, for errors that may pass.

    The wait before attempt n + 1 is ``backoff * factor ** (n - 1)`` seconds, at most `max_backoff`, plus a random
    0 to `jitter` seconds; a longer Retry-After of the other side is honoured up to `max_backoff`.

    Attributes:
        attempts: how often one level is tried at most, the first attempt included.
        backoff: seconds before the second attempt.
        factor: growth of the wait; 2 gives 1, 2, 4 s.
        max_backoff: longest wait in seconds.
        jitter: most seconds that chance adds, so that callers that failed together do not come back together.
        deadline: seconds after which no further attempt starts; None: no limit.
        on: which errors deserve another attempt.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> Retry(attempts=5, backoff=0.2, deadline=10)  # doctest: +ELLIPSIS
        Retry(attempts=5, backoff=0.2, ...)
    """

    attempts: int = 3
    backoff: float = 1.0
    factor: float = 2.0
    max_backoff: float = 30.0
    jitter: float = 0.1
    deadline: float | None = None
    on: Callable[[ErrorInfo], bool] = is_transient

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, got {self.attempts!r}")
        if not (self.backoff >= 0 and self.max_backoff >= 0 and self.jitter >= 0 and self.factor >= 1):
            raise ValueError("backoff, max_backoff and jitter must not be negative, factor must be at least 1")
        if self.deadline is not None and not self.deadline > 0:
            raise ValueError(f"deadline must be positive, got {self.deadline!r}")

    def wait(
        self, failures: int, retry_after: float | None = None, chance: Callable[[], float] = random.random
    ) -> float:
        """Seconds to wait after that many failures in a row."""
        planned = self.backoff * self.factor ** min(failures - 1, 64) + self.jitter * chance()
        return min(self.max_backoff, max(planned, retry_after or 0.0))


DEFAULT_RETRY = Retry()
"""What tool steps do unless told otherwise: 3 attempts, waits of 1 and 2 s (4 s before a fourth), transient errors."""

NO_RETRY = Retry(attempts=1)


@dataclass(frozen=True, slots=True)
class Timeout:
    """How long one attempt may take, and how long it may be silent.

    Attributes:
        seconds: for the whole attempt; None: no limit.
        idle: seconds without a sign of life; None: no limit. `heartbeat()` and `progress(...)` inside the step are
            signs of life, and so is every step that ends of a pipeline inside it.

    Raises:
        ValueError: neither is given, or one is not positive.

    Example:
        >>> Timeout(600, idle=30)
        Timeout(seconds=600, idle=30)
    """

    seconds: float | None = None
    idle: float | None = None

    def __post_init__(self) -> None:
        if self.seconds is None and self.idle is None:
            raise ValueError("a Timeout needs seconds or idle")
        for given in (self.seconds, self.idle):
            if given is not None and not given > 0:
                raise ValueError(f"a timeout must be positive, got {given!r}")


def may_fall_back(error: ErrorInfo) -> bool:
    """Whether something else may serve: not when permission is missing or a guard has tripped."""
    return error.category not in (ErrorCategory.PERMISSION, ErrorCategory.GUARD)


@dataclass(frozen=True, slots=True)
class Constant:
    """A fixed value as the last level of a fallback chain."""

    value: Any


def constant(value: Any) -> Constant:
    """Marks `value` as an answer in itself, rather than something to call."""
    return Constant(value)


@dataclass(frozen=True, slots=True)
class Stale:
    """An earlier result of the step's tool as a level of its fallback chain."""

    max_age: float

    def __post_init__(self) -> None:
        if not self.max_age > 0:
            raise ValueError(f"max_age must be positive, got {self.max_age!r}")


def stale(max_age: float = 86_400.0) -> Stale:
    """Lets an earlier result of the same call serve, when the tool itself fails; the report says how old it is.

    It needs a runtime with a cache, and a tool with a `cache_ttl`.

    Args:
        max_age: seconds. Default: a day.

    Raises:
        ValueError: `max_age` is not positive.

    Example:
        >>> Fallback(stale(3600), constant([]))
    """
    return Stale(max_age)


@runtime_checkable
class SubPipeline(Protocol):
    """What a pipeline must have to be a step of another one: every `Pipeline` has it."""

    @property
    def name(self) -> str:
        """For reports."""

    @property
    def inputs(self) -> Mapping[str, Any]:
        """Name to `Input`."""

    @property
    def leaves(self) -> Mapping[str, Any]:
        """Name to output type of the steps that nothing waits for."""

    async def run_within(self, inputs: Mapping[str, Any]) -> Any:
        """Runs it as a step of another run and returns the report."""


Target = Callable[..., Any] | Tool | str | Constant | Stale | SubPipeline
"""What a step or a level runs: a function, a tool, the name of a tool in the catalog, a constant, a
kept result, or a pipeline."""

CONFIDENCE_PER_LEVEL = 0.8
"""A level's confidence is this to the power of its position, unless the level says otherwise. It orders
answers (a primary before a first fallback before a second); it is no probability."""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a fallback chain, when a bare target does not say enough.

    Attributes:
        target: what serves.
        name: how reports call it; None: the target's own name.
        confidence: 0 to 1; None: `CONFIDENCE_PER_LEVEL` to the power of the position.
        note: what is second-best about its answer, e.g. ``"from the nightly snapshot"``.
        on: which errors of the level before may come here.
    """

    target: Target
    name: str | None = None
    confidence: float | None = None
    note: str = ""
    on: Callable[[ErrorInfo], bool] = may_fall_back

    def __post_init__(self) -> None:
        if self.confidence is not None and not 0 <= self.confidence <= 1:
            raise ValueError(f"confidence must lie between 0 and 1, got {self.confidence!r}")


@dataclass(frozen=True, slots=True, init=False)
class Fallback:
    """What may serve when a step's own target fails, best first.

    Example:
        >>> Fallback(bing_search, "internal_cache_search", constant([]))
    """

    levels: tuple[Level, ...]

    def __init__(self, *levels: Target | Level) -> None:
        made = tuple(level if isinstance(level, Level) else Level(level) for level in levels)
        object.__setattr__(self, "levels", made)
