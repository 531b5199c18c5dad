"""End a command with a one-line message and an exit status, never with a traceback."""

from __future__ import annotations

import errno
import os
import select
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click

from aragog.cli.exit_status import ABSENT, DONE, FAILED, INTERRUPTED, UNUSABLE
from aragog.cli.lazy_commands import LazyGroup
from aragog.errors import ALL, BAD_INPUT, TakenDown


class OneLineErrors(LazyGroup):
    """
    A group of commands that print errors as messages.

    `--verbose` adds tracebacks. An interrupted command exits with 130, as in a shell. If a reader
    such as `head` closes the pipe early, the status is 0.
    """

    def main(self, *arguments: Any, **options: Any) -> NoReturn:
        """Run a command and exit; see click."""
        _open_standard_streams()
        try:
            status = self._run_command(*arguments, **options)
            sys.stdout.flush()
        except OSError as error:
            status = _print_os_error(error)
        sys.exit(status)

    def invoke(self, ctx: click.Context) -> None:
        """Discard the return value, because click might use it as an exit status."""
        super().invoke(ctx)

    def _run_command(self, *arguments: Any, **options: Any) -> int | str | None:
        stdout = sys.stdout
        try:
            status = super().main(*arguments, **options | {"standalone_mode": False})
        except click.ClickException as error:
            _print_usage_error(error)
            return error.exit_code
        except click.Abort as error:
            if not isinstance(error.__context__, EOFError):
                return INTERRUPTED
            _print_error(
                "a question was not answered; see the command's --help for an option to skip it"
            )
            return FAILED
        except ALL as error:
            _print_known_error(error)
            return _exit_code(error)
        except UnicodeEncodeError as error:
            if error.encoding != "utf-8":
                raise
            _print_error(f"{error.object!r} is not valid UTF-8")
            return UNUSABLE
        except SystemExit as error:
            # If any pipe is closed (EPIPE), click replaces the stream and exits with 1.
            return DONE if sys.stdout is not stdout and _is_closed(stdout) else error.code
        return status if isinstance(status, int) else 0


def _exit_code(error: Exception) -> int:
    if isinstance(error, TakenDown):
        return ABSENT
    return UNUSABLE if isinstance(error, BAD_INPUT) else FAILED


def _print_usage_error(error: click.ClickException) -> None:
    """Print a usage error like other errors, after click's usage line."""
    from aragog.cli.terminal import echo  # noqa: PLC0415

    if isinstance(error, click.UsageError) and error.ctx is not None:
        echo(error.ctx.get_usage(), err=True)
        echo(f"Try '{error.ctx.command_path} --help' for help.\n", err=True)
    _print_error(error.format_message())


def _print_known_error(error: Exception) -> None:
    # Imported here, because successful commands need neither.
    from aragog.cli.error_hints import error_hint  # noqa: PLC0415
    from aragog.cli.terminal import verbosity  # noqa: PLC0415

    if verbosity.verbose:
        traceback.print_exception(error)
    for line in (*str(error).splitlines(), error_hint(error)):
        if line:
            _print_error(line)


def _print_os_error(error: OSError) -> int:
    from aragog.cli.terminal import verbosity  # noqa: PLC0415

    is_closed = error.errno == errno.EPIPE and _is_closed(sys.stdout)
    _discard_output()
    if is_closed:
        return DONE
    if verbosity.verbose:
        traceback.print_exception(error)
    name = f"{error.filename}: " if error.filename else ""
    _print_error(f"{name}{error.strerror or error}")
    return FAILED


def _print_error(text: str) -> None:
    from aragog.cli.terminal import echo  # noqa: PLC0415

    echo(f"aragog: {text}", err=True)


def _open_standard_streams() -> None:
    """Open standard streams that the caller closed (`>&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open until exit


def _is_closed(stdout: TextIO) -> bool:
    poll = select.poll()
    try:
        poll.register(stdout, select.POLLOUT)
    except (OSError, ValueError):  # standard output is not a file
        return False
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _discard_output() -> None:
    """Discard unwritten output, because Python would try to write it again on exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
