"""
Raises a process's limit on open files, and chooses pool sizes that keep within the limit.

Each socket and SQLite connection takes one or two descriptors. A process at the limit can neither
connect nor accept a client. So each role first raises its soft limit, and then sizes its pools
accordingly.
"""

from __future__ import annotations

import re
import resource
from pathlib import Path

REQUESTED_LIMIT = 16_384
"""The limit to request. Some libraries scan all descriptors, so it is not higher."""
UNLIMITED = 1 << 20
MIN_THREADS = 2
MIN_SOCKETS = 8
# Divisors of the limit: threads and clients may each use half of it, and a socket pool a tenth.
THREADS_SHARE = CLIENTS_SHARE = 2
SOCKETS_SHARE = 10
SUFFICIENT_LIMIT = 4096
"""From this limit on, the pools have their default sizes."""


def limit() -> int:
    """Return how many files this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft


def limit_of(pid: int) -> int | None:
    """Return how many files another process may have open, or None if that is unknown."""
    try:
        text = Path(f"/proc/{pid}/limits").read_text("ascii")
    except OSError:
        return None
    line = re.search(r"^Max open files +(\d+|unlimited)", text, re.MULTILINE)
    if line is None:
        return None
    return UNLIMITED if line[1] == "unlimited" else int(line[1])


def raise_limit(wanted: int = REQUESTED_LIMIT) -> int:
    """
    Raise the soft limit to `wanted`, or to the hard limit if that is lower. Never lowers it.

    Child processes inherit the limit. Returns the new limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    return limit()


def threads_within_limit(wanted: int, files_each: int) -> int:
    """Return how many threads this process may start: at most `wanted`, at least two."""
    return min(wanted, max(MIN_THREADS, limit() // THREADS_SHARE // files_each))


def sockets_within_limit(wanted: int) -> int:
    """Return how many connections a pool may open: at most `wanted`, at least eight."""
    return min(wanted, max(MIN_SOCKETS, limit() // SOCKETS_SHARE))


def clients_within_limit(wanted: int) -> int:
    """Return how many clients a server may accept: at most `wanted`, at least eight."""
    return min(wanted, max(MIN_SOCKETS, limit() // CLIENTS_SHARE))
