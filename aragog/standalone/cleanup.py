"""
Run commands that clean up after a killed child process.

Each command runs in its own process, so the supervisor never waits for Redis.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aragog.standalone.processes import spawn

MAX_ATTEMPTS = 5
RETRY_DELAY_S = 2.0
TIMEOUT_S = 30.0


@dataclass
class _Command:
    argv: Sequence[str]
    log: Path
    due_s: float
    attempts_left: int = MAX_ATTEMPTS
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0


class Cleanup:
    """
    Runs commands until they succeed, at most `MAX_ATTEMPTS` times each. Call `check` every second.

    Args:
        environ: the environment.
        retry_delay_s: delay between a command's attempts.
    """

    def __init__(self, environ: Mapping[str, str], *, retry_delay_s: float = RETRY_DELAY_S) -> None:
        self._environ = dict(environ)
        self._retry_delay_s = retry_delay_s
        self._commands: list[_Command] = []

    def add(self, argv: Sequence[str], log: Path) -> None:
        """Run a command soon. Its output is appended to `log`."""
        self._commands.append(_Command(argv, log, time.monotonic()))
        self.check()

    @property
    def pending(self) -> int:
        """Number of commands that are not done."""
        return len(self._commands)

    def check(self) -> None:
        """Start due commands and record finished ones. Never waits, and never raises OSError."""
        now_s = time.monotonic()
        for command in list(self._commands):
            if command.process is None:
                if now_s >= command.due_s:
                    self._start(command, now_s)
            elif (code := command.process.poll()) is not None:
                self._finish(command, now_s, succeeded=code == 0)
            elif now_s - command.started_s > TIMEOUT_S:
                command.process.kill()

    def _start(self, command: _Command, now_s: float) -> None:
        command.attempts_left -= 1
        command.started_s = now_s
        try:
            command.process = spawn(command.argv, self._environ, command.log)
        except OSError:
            self._finish(command, now_s, succeeded=False)

    def _finish(self, command: _Command, now_s: float, *, succeeded: bool) -> None:
        command.process = None
        command.due_s = now_s + self._retry_delay_s
        if succeeded or not command.attempts_left:
            self._commands.remove(command)

    def stop(self) -> None:
        """Kill running commands and drop the others."""
        for command in self._commands:
            if command.process is not None:
                with contextlib.suppress(ProcessLookupError):
                    command.process.kill()
                command.process.wait()
        self._commands = []
