"""
The limit of open files of a process: raise it, and keep within it.

A connection, a socket and each connection to an SQLite file take one descriptor or two. Past the
limit, everything fails that opens one: connecting, reading a script, accepting a client. So each
role raises its soft limit first, and then opens no more than fits below the limit that it got.
"""

from __future__ import annotations

import re
import resource
from pathlib import Path

WANTED = 16_384
"""The limit that a process requests. It needs no more, and some libraries scan all descriptors."""
UNLIMITED = 1 << 20
LEAST_THREADS = 2
LEAST_SOCKETS = 8
# Threads take at most one of two descriptors, clients of a server too, and each of several pools of
# sockets one of ten.
THREADS_SHARE = CLIENTS_SHARE = 2
SOCKETS_SHARE = 10
ENOUGH = 4096
"""From this limit on the shares above bound none of the default settings."""


def limit() -> int:
    """How many files this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft


def limit_of(pid: int) -> int | None:
    """How many files another process may have open; None where that is not known (not Linux)."""
    try:
        text = Path(f"/proc/{pid}/limits").read_text("ascii")
    except OSError:
        return None
    line = re.search(r"^Max open files +(\d+|unlimited)", text, re.MULTILINE)
    if line is None:
        return None
    return UNLIMITED if line[1] == "unlimited" else int(line[1])


def raise_limit(wanted: int = WANTED) -> int:
    """
    Raise the soft limit to `wanted`, or to the hard limit if that is lower; never lower it.

    Child processes inherit it. Returns the limit that is in force.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return limit()


def threads_within_limit(wanted: int, files_each: int) -> int:
    """How many of `wanted` threads this process can have; at least two."""
    return min(wanted, max(LEAST_THREADS, limit() // THREADS_SHARE // files_each))


def sockets_within_limit(wanted: int) -> int:
    """How many of `wanted` connections one pool of this process can have open; at least eight."""
    return min(wanted, max(LEAST_SOCKETS, limit() // SOCKETS_SHARE))


def clients_within_limit(wanted: int) -> int:
    """How many of `wanted` clients a server in this process can have; at least eight."""
    return min(wanted, max(LEAST_SOCKETS, limit() // CLIENTS_SHARE))
