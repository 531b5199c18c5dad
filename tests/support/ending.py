"""
End everything that a test process has started when that process ends, by whatever signal.

Fixtures stop their servers. A test process that is killed runs no fixture to its end, and its
servers run in their own sessions. So each test process marks itself, everything that it starts
inherits the mark, and this file runs as another program: it waits until the test process has ended,
and kills what still has the mark.

The mark is a limit of message queues, which nothing here uses. It survives `fork`, `exec` and
`setsid`, and can be read from outside. An environment variable cannot, because servers that change
their title (`redis-server`, Celery) overwrite it in /proc. Linux only.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import subprocess
import sys
from pathlib import Path

PROC = Path("/proc")
_LINE = "Max msgqueue size"


def end_with_this_process() -> None:
    """Mark everything that this process starts from now on, so that it ends with the process."""
    if not hasattr(os, "pidfd_open"):
        return
    _, most = resource.getrlimit(resource.RLIMIT_MSGQUEUE)
    mark = os.getpid() if most == resource.RLIM_INFINITY else os.getpid() % most
    if mark == 0 or started_by(mark):
        return  # no limit can serve as a mark here
    try:
        own = os.pidfd_open(os.getpid())
    except OSError:  # an old kernel, or a sandbox without this call
        return
    # In its own session it does not get signals for the group, such as Ctrl-C.
    subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(mark), str(own)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[own],
        start_new_session=True,
    )
    os.close(own)
    resource.setrlimit(resource.RLIMIT_MSGQUEUE, (mark, most))


def mark_of_this_process() -> int:
    """Return the mark of everything that this process starts."""
    return resource.getrlimit(resource.RLIMIT_MSGQUEUE)[0]


def started_by(mark: int) -> list[int]:
    """Return the ids of the running processes that have the mark, except this one."""
    return [
        int(folder.name)
        for folder in PROC.iterdir()
        if folder.name.isdigit() and int(folder.name) != os.getpid() and _mark(folder) == str(mark)
    ]


def _mark(process: Path) -> str:
    """Return the mark of a process, or an empty string if it has ended."""
    with contextlib.suppress(OSError):
        for line in process.joinpath("limits").read_text().splitlines():
            if line.startswith(_LINE) and process.joinpath("cmdline").read_bytes():
                return line.removeprefix(_LINE).split()[0]
    return ""


def _end_all(mark: int) -> None:
    """Kill all processes with the mark, and those that they start in the meantime."""
    while any(_ended(pid) for pid in started_by(mark)):
        pass


def _ended(pid: int) -> bool:
    """Kill a process. Returns False if it has ended or belongs to another user."""
    try:
        process = os.pidfd_open(pid)
        signal.pidfd_send_signal(process, signal.SIGKILL)
    except OSError:
        return False
    _wait_for(process)
    os.close(process)
    return True


def _wait_for(process: int) -> None:
    select.select([process], [], [])


if __name__ == "__main__":
    # Drops the inherited mark of a test process that has started this one's.
    _, unmarked = resource.getrlimit(resource.RLIMIT_MSGQUEUE)
    resource.setrlimit(resource.RLIMIT_MSGQUEUE, (unmarked, unmarked))
    _wait_for(int(sys.argv[2]))
    _end_all(int(sys.argv[1]))
