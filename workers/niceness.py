"""Lower this process's priority, so that other processes run first."""

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

    Linux with CONFIG_SCHED_AUTOGROUP only compares niceness within a session (sched(7)). Only a
    session's first process sets the group's niceness; each process of `aragog up` is one. Any other
    process might change the niceness of a whole terminal.
    """
    os.nice(niceness)
    if niceness and os.getsid(0) == os.getpid():
        _set_group(niceness)


def _set_group(niceness: int) -> None:
    """
    Set the group's niceness. Retries, because Linux allows this once per 0.1 s for all unprivileged
    users.
    """
    for _ in range(MAX_TRIES):
        try:
            AUTOGROUP.write_text(str(niceness))
        except BlockingIOError:
            time.sleep(random.uniform(0.05, 0.25))
        except OSError:
            return  # the kernel has no groups, or refuses the change
        else:
            return
