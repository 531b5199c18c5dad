"""
Raises a process's limit on open files, and chooses pool sizes that fit the limit.

Each socket and SQLite connection takes one or two descriptors. A process at the limit can neither
connect nor accept a client. So each process first raises its soft limit, and then chooses the sizes
of its pools.
"""

from __future__ import annotations

import re
import resource
from pathlib import Path

REQUESTED_LIMIT = 16_384
"""The limit to request. It is not higher, because some libraries scan all descriptors."""
UNLIMITED = 1 << 20
MIN_THREADS = 2
MIN_SOCKETS = 8
# Divisors of the limit: threads and clients may each use half of it, and a socket pool a tenth.
THREADS_SHARE = CLIENTS_SHARE = 2
SOCKETS_SHARE = 10
SUFFICIENT_LIMIT = 4096
"""With at least this limit, the pools have their default sizes."""


def limit() -> int:
    """Return how many files this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft


def read_limit(pid: int) -> int | None:
    """Return how many files another process may have open, or None if that is unknown."""
    try:
        text = Path(f"/proc/{pid}/limits").read_text("ascii")
    except OSError:
        return None
    line = re.search(r"^Max open files +(\d+|unlimited)", text, re.MULTILINE)
    if line is None:
        return None
    return UNLIMITED if line[1] == "unlimited" else int(line[1])


def raise_limit(requested: int = REQUESTED_LIMIT) -> int:
    """
    Raise the soft limit to `requested`, or to the hard limit if that is lower. Never lowers it.

    Child processes inherit the limit. Returns the new limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = requested if hard == resource.RLIM_INFINITY else min(requested, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    return limit()


def threads_within_limit(requested: int, files_each: int) -> int:
    """Return how many threads this process may start: at most `requested`, at least two."""
    return min(requested, max(MIN_THREADS, limit() // THREADS_SHARE // files_each))


def sockets_within_limit(requested: int) -> int:
    """Return how many connections a pool may open: at most `requested`, at least eight."""
    return min(requested, max(MIN_SOCKETS, limit() // SOCKETS_SHARE))


def clients_within_limit(requested: int) -> int:
    """Return how many clients a server may accept: at most `requested`, at least eight."""
    return min(requested, max(MIN_SOCKETS, limit() // CLIENTS_SHARE))
