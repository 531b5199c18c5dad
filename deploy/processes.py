"""End the processes of private servers, and run one in the foreground."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

S = TypeVar("S")


class CannotStart(Exception):
    """The server cannot run on this machine; the message gives the reason."""


def end(process: subprocess.Popen[bytes], within_s: float) -> None:
    """Send SIGTERM, and SIGKILL if the process does not end in time."""
    process.terminate()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def exit_on_signals(code: int) -> None:
    """
    End this process through its `finally` blocks at the first SIGTERM or SIGINT, and ignore others.

    A signal to a process group reaches a child twice: from the sender and from its parent. A second
    exit during the first would leave processes running.
    """

    def end_once(*_: object) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        sys.exit(code)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end_once)


def run_until_interrupted(
    name: str, server: AbstractContextManager[S], on_ready: Callable[[S], None]
) -> None:
    """Run a server until SIGTERM or Ctrl-C. Exits with a message if it cannot start."""
    exit_on_signals(0)
    try:
        with server as running:
            on_ready(running)
            print("Ctrl-C stops it.", flush=True)
            threading.Event().wait()
    except CannotStart as error:
        raise SystemExit(f"{name}: {error}") from None
