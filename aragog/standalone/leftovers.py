"""
Processes that a supervisor left behind when it was killed: noted while they run, ended later.

A note is a process id and the instant at which the process started, in the kernel's ticks, so that
another process that got the same number is never touched. Each child leads a session of its own;
ending one ends all of its session. Without /proc nothing is noted.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

# Killed processes are gone in milliseconds; one in the middle of a write to a slow disk is not.
LONGEST_WAIT_S = 10.0


def note(path: Path, pids: Iterable[int]) -> None:
    """Write down who runs now, whole or not at all."""
    lines = [f"{pid} {started}\n" for pid in pids if (started := _started(pid))]
    new = path.with_suffix(".new")
    new.write_text("".join(lines))
    new.replace(path)


def end(path: Path) -> list[int]:
    """Kill what is noted and still runs, wait until it is gone; their process ids."""
    ended = []
    for pid, started in _noted(path):
        if _started(pid) == started or _session_lives(pid, started):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
                ended.append(pid)
    until_s = time.monotonic() + LONGEST_WAIT_S
    while any(_group_runs(pid) for pid in ended) and time.monotonic() < until_s:
        time.sleep(0.02)
    path.unlink(missing_ok=True)
    return ended


def _noted(path: Path) -> list[tuple[int, int]]:
    try:
        lines = path.read_text().splitlines()
        return [(int(pid), int(started)) for pid, started in (line.split() for line in lines)]
    except (OSError, ValueError):
        return []


def _session_lives(leader: int, started: int) -> bool:
    """The leader is gone, and members of its session are not: a number in use is not given anew."""
    if _stat(leader):
        return False
    members = (_stat(pid) for pid in _members(leader))
    return any(stat and int(stat[19]) >= started for stat in members)


def _group_runs(group: int) -> bool:
    return any((stat := _stat(pid)) and stat[0] not in "ZX" for pid in _members(group))


def _members(group: int) -> list[int]:
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if (stat := _stat(pid)) and int(stat[2]) == group]


def _started(pid: int) -> int:
    """When the process started, in ticks since the machine did; 0: it does not run."""
    stat = _stat(pid)
    return int(stat[19]) if stat and stat[0] not in "ZX" else 0


def _stat(pid: int) -> list[str]:
    """What proc(5) says of a process, from its state on; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []
