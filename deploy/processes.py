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
    """SIGTERM, and SIGKILL if the process does not end in time."""
    process.terminate()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def run_until_interrupted(
    name: str, server: AbstractContextManager[S], on_ready: Callable[[S], None]
) -> None:
    """Run a server until SIGTERM or ctrl-C; exit with a message if it cannot start."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with server as running:
            on_ready(running)
            print("Ctrl-C stops it.", flush=True)
            threading.Event().wait()
    except KeyboardInterrupt:
        return
    except CannotStart as error:
        raise SystemExit(f"{name}: {error}") from None
