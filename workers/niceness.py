"""Let other processes of the machine run first."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

AUTOGROUP = Path("/proc/self/autogroup")


def be_nice(niceness: int) -> None:
    """
    Raise the niceness of this process, and of its scheduling group if it has one of its own.

    Linux with CONFIG_SCHED_AUTOGROUP schedules sessions against each other and ignores the niceness
    of their processes (sched(7)). Only the first process of a session, such as those that
    `aragog up` starts, sets the group's: in a shell it would be that of the terminal.
    """
    os.nice(niceness)
    if niceness and os.getsid(0) == os.getpid():
        with suppress(OSError):
            AUTOGROUP.write_text(str(niceness))
