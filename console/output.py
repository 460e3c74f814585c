"""How every command talks: tables and notes for people, one JSON object for programs, one line for an error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from rich.console import Console
from rich.markup import escape

from ..catalog import ToolpathError

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
    """Writes one JSON object to standard output, without colours or wrapping."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """A remark for the person at the terminal."""
    ERR.print(f"[dim]{escape(text)}[/dim]")


def fail(message: str) -> NoReturn:
    """Ends the command with an error.

    Raises:
        SystemExit: always, with `EXIT_USAGE`.
    """
    ERR.print(f"[bold red]error:[/bold red] {escape(message)}")
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
        fail(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))


def leave(code: int) -> NoReturn:
    """Ends the process now, also when a thread that cannot be stopped is still running."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
