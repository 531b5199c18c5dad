"""
Kill processes that outlived a killed supervisor, using a list that was written while they ran.

An entry contains a process's id and start time in kernel ticks, so that another process with the
same id is never killed. Each child leads its own session, and the whole session is killed. Without
/proc, nothing is recorded.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

# Killed processes exit within milliseconds, unless they are writing to a slow disk.
MAX_WAIT_S = 10.0


def write_list(path: Path, pids: Iterable[int]) -> None:
    """Write the running processes to a file, atomically."""
    lines = [f"{pid} {start_time}\n" for pid in pids if (start_time := _start_time(pid))]
    new_path = path.with_suffix(".new")
    new_path.unlink(missing_ok=True)  # an earlier release's file may be readable by others
    new_path.touch(mode=0o600)
    new_path.write_text("".join(lines))
    new_path.replace(path)


def end(path: Path) -> list[int]:
    """Kill the listed processes that are still running, and wait for them. Returns their ids."""
    killed = []
    for pid, start_time in _read_list(path):
        if _start_time(pid) == start_time or _is_session_alive(pid, start_time):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
                killed.append(pid)
    deadline_s = time.monotonic() + MAX_WAIT_S
    while any(_is_group_running(pid) for pid in killed) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    path.unlink(missing_ok=True)
    return killed


def _read_list(path: Path) -> list[tuple[int, int]]:
    try:
        lines = path.read_text().splitlines()
        return [(int(pid), int(start_time)) for pid, start_time in (line.split() for line in lines)]
    except (OSError, ValueError):
        return []


def _is_session_alive(leader: int, start_time: int) -> bool:
    """
    True if the leader has exited but its session still exists. The kernel does not reuse that
    session's id.
    """
    if _process_stat(leader):
        return False
    members = (_process_stat(pid) for pid in _group_members(leader))
    return any(stat and int(stat[19]) >= start_time for stat in members)


def _is_group_running(group: int) -> bool:
    return any(
        (stat := _process_stat(pid)) and stat[0] not in "ZX" for pid in _group_members(group)
    )


def _group_members(group: int) -> list[int]:
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if (stat := _process_stat(pid)) and int(stat[2]) == group]


def _start_time(pid: int) -> int:
    """Return a process's start time in ticks since boot, or 0 if it is not running."""
    stat = _process_stat(pid)
    return int(stat[19]) if stat and stat[0] not in "ZX" else 0


def _process_stat(pid: int) -> list[str]:
    """
    Return the fields of /proc/<pid>/stat (proc(5)), starting with the state, or none if there is no
    such process.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []
