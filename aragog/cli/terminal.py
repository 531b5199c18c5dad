r"""
Print untrusted text on a terminal safely.

An escape sequence in a page's title could type commands into some terminals, so every command
prints through this module. It replaces control characters (C0, DEL, C1), bidirectional overrides
and lone surrogates with visible escapes such as `\x1b`, or `\u001b` in JSON.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from typing import Any

import click
import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

# C0 except tab and newline, DEL, C1, bidirectional characters (UAX 9), line separators, surrogates.
_CONTROL_CHARACTERS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
)
_UNSAFE = re.compile(f"[{_CONTROL_CHARACTERS}]")
_UNSAFE_OR_LINE_BREAK = re.compile(f"[\t\n{_CONTROL_CHARACTERS}]")
# A pipe has no width, so nothing is truncated or wrapped there.
_PIPE_COLUMNS = 100_000


class Verbosity:
    """How much the command line prints, for the whole process."""

    quiet = False
    verbose = False


verbosity = Verbosity()


def printable(text: str) -> str:
    """Return `text` with control characters escaped, except tabs and newlines."""
    return _UNSAFE.sub(_escape, text)


def one_line(text: str) -> str:
    """Return printable text on one line, so that untrusted text cannot start a new line."""
    return _UNSAFE_OR_LINE_BREAK.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def echo(text: str, *, err: bool = False) -> None:
    """Print `text` and a newline."""
    click.echo(printable(text), err=err)


def note(text: str, *, err: bool = False) -> None:
    """Print what a command does or did, unless `--quiet` is set."""
    if not verbosity.quiet:
        echo(text, err=err)


def echo_json(value: Any, *, indent: bool = False) -> None:
    """Print `value` as JSON, on one line unless `indent` is set."""
    option = orjson.OPT_INDENT_2 if indent else None
    text = orjson.dumps(value, option=option).decode()
    click.echo(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def write_body(body: bytes) -> None:
    """Write bytes unchanged to a pipe or a file, and as printable text to a terminal."""
    if sys.stdout.isatty():
        echo(body.decode("utf-8", "replace"))
    else:
        sys.stdout.buffer.write(body)


class SafeConsole(Console):
    """A rich console that makes every string printable."""

    def __init__(self, *, stderr: bool = False, summary: bool = False) -> None:
        """`--quiet` silences a console with `summary` or on standard error."""
        quiet = verbosity.quiet and (stderr or summary)
        super().__init__(stderr=stderr, emoji=False, quiet=quiet)
        if not self.is_terminal:
            self.width = _PIPE_COLUMNS

    def on_broken_pipe(self) -> None:
        """Let `one_line_errors` choose the exit status, because rich would exit with 1."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def render_str(self, text: str, **options: Any) -> Text:
        """Make a string printable; rich calls this for every string."""
        return super().render_str(printable(text), **options)


def warn(console: Console, text: str) -> None:
    """Print a warning to the console, or to standard error if the console is quiet."""
    if console.quiet:
        echo(text, err=True)
    else:
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def print_table(table: Table) -> None:
    """
    Print a table.

    Cells contain no markup. On a narrow terminal, they are wrapped, not truncated.
    """
    for column in table.columns:
        column.overflow = "fold"
    console = SafeConsole()
    with console.capture() as captured:
        console.print(table, markup=False, highlight=False)
    # Strip rich's padding, because one long value makes a column huge.
    click.echo("\n".join(line.rstrip() for line in captured.get().removesuffix("\n").split("\n")))
