"""How every command talks: tables and notes for people, one JSON object for programs, one line for an error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import TextIOWrapper
from typing import Any, NoReturn

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..catalog import ToolpathError
from ..router.explain import printable

OUT = Console(highlight=False)
"""What the user asked for."""

ERR = Console(stderr=True, highlight=False)
"""Progress, notes and errors, so that standard output can be piped."""

EXIT_NOT_OK = 1
"""The command ran, but what it ran did not fully succeed."""

EXIT_USAGE = 2
"""The command could not do what it was asked to: bad input, a missing file, a missing extra."""

EXIT_INTERRUPTED = 130
"""Ctrl-C, as shells count it (128 + SIGINT)."""


def print_json(value: Any) -> None:
    """Writes one JSON object to standard output, without colours or wrapping, in characters that it can take."""
    if sys.stdout is None:  # closed by whoever started us
        return
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, ensure_ascii=True, indent=2, allow_nan=False)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def harmless(text: str) -> str:
    """`text` with its line breaks and tabs; whatever else could move the cursor or hide something is escaped."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(_escaped(cell) for cell in line.split("\t")) for line in lines)


def _escaped(text: str) -> str:
    return text if text.isprintable() else printable(text, len(text))


def tolerate_any_character() -> None:
    """Lets the standard streams write what they cannot encode as escapes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def chatter_to_stderr() -> Iterator[None]:
    """Sends what other people's code prints to standard error: standard output is for what the user asked for."""
    with redirect_stdout(sys.stderr):
        yield


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error while the block runs, when that is a terminal; call what it gives with done and total."""
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=ERR, transient=True, disable=not ERR.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield advance


def note(text: str) -> None:
    """A remark for the person at the terminal."""
    ERR.print(f"[dim]{escape(harmless(text))}[/dim]", soft_wrap=True)


def warn(text: str) -> None:
    """Something that the person at the terminal must not miss."""
    ERR.print(f"[yellow]warning:[/yellow] {escape(harmless(text))}", soft_wrap=True)


def fail(message: str) -> NoReturn:
    """Ends the command with an error.

    Raises:
        SystemExit: always, with `EXIT_USAGE`.
    """
    ERR.print(f"[bold red]error:[/bold red] {escape(harmless(message))}", soft_wrap=True)
    raise SystemExit(EXIT_USAGE)


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turns what a user can mend into one line; everything else keeps its traceback.

    Raises:
        SystemExit: for errors of Toolpath and of the file system.
    """
    try:
        yield
    except ToolpathError as error:
        fail(str(error))
    except BrokenPipeError:
        # the reader of a pipe has left: say nothing more, also not at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(EXIT_NOT_OK) from None
    except OSError as error:
        fail(f"{error.strerror or error}: {error.filename}" if error.filename else error.strerror or str(error))


def leave(code: int) -> NoReturn:
    """Ends the process now, also when a thread that cannot be stopped is still running."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)
