r"""
Print untrusted text on a terminal safely.

An escape sequence in a task's name could move the cursor, change the window's title or type
commands into some terminals. Every command prints through this module, which replaces control
characters (C0, DEL, C1), bidirectional overrides and lone surrogates with visible escapes such as
`\x1b`. In JSON output, they are JSON escapes such as `\u001b`.
"""

from __future__ import annotations

import errno
import os
import re
from typing import Any

import click
import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

# C0 except tab and newline, DEL, C1; text reordering (UAX 9); line separators; surrogates.
_CONTROL = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
)
_UNSAFE = re.compile(f"[{_CONTROL}]")
# A pipe has no width, so nothing is wrapped there.
_PIPE_COLUMNS = 100_000


def printable(text: str) -> str:
    """Return `text` with control characters escaped, except tabs and newlines."""
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def echo(text: str, *, err: bool = False) -> None:
    """Print `text` and a newline."""
    click.echo(printable(text), err=err)


def echo_json(value: Any, *, indent: bool = False) -> None:
    """Print `value` as JSON, in one line unless `indent`."""
    option = orjson.OPT_INDENT_2 if indent else None
    text = orjson.dumps(value, option=option).decode()
    click.echo(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


class SafeConsole(Console):
    """A rich console that escapes control characters in every string."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, emoji=False)
        if not self.is_terminal:
            self.width = _PIPE_COLUMNS

    def on_broken_pipe(self) -> None:
        """Overrides rich, which would exit with code 1; `main` decides the exit code."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def render_str(self, text: str, **options: Any) -> Text:
        """Rich calls this for every string that it prints."""
        return super().render_str(printable(text), **options)


def print_table(table: Table) -> None:
    """
    Print a table without parsing markup in its cells.

    On a narrow terminal, cells wrap and are not cut.
    """
    for column in table.columns:
        column.overflow = "fold"
    console = SafeConsole()
    with console.capture() as output:
        console.print(table, markup=False, highlight=False)
    # rich pads cells to their column's width, which one long value may make huge.
    click.echo("\n".join(line.rstrip() for line in output.get().removesuffix("\n").split("\n")))
