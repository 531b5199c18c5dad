"""Lowers this process's priority, so that other processes on the machine run first."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

MAX_TRIES = 50
AUTOGROUP = Path("/proc/self/autogroup")


def be_nice(niceness: int) -> None:
    """
    Raise the niceness of this process, and of its scheduling group if it leads a session.

    Linux with CONFIG_SCHED_AUTOGROUP shares the CPU among sessions and compares the niceness of
    processes only within a session (sched(7)). Only the first process of a session sets the group's
    niceness, as each process that `aragog up` starts does. Any other process might change the
    niceness of a whole terminal.
    """
    os.nice(niceness)
    if niceness and os.getsid(0) == os.getpid():
        _set_group(niceness)


def _set_group(niceness: int) -> None:
    """
    Set the group's niceness. Retries, because Linux allows this once every 0.1 s for all
    unprivileged users together.
    """
    for _ in range(MAX_TRIES):
        try:
            AUTOGROUP.write_text(str(niceness))
        except BlockingIOError:
            time.sleep(random.uniform(0.05, 0.25))
        except OSError:
            return  # this kernel has no groups, or does not permit the change
        else:
            return
