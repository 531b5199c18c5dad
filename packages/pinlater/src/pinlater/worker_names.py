"""The names of worker processes in claims."""

from __future__ import annotations

import socket


def worker_name(pid: int) -> str:
    """
    Return `host:pid:`, the prefix of the names of a worker process on this host.

    `Admin.release` accepts it to return the jobs that the process had claimed.
    """
    return f"{socket.gethostname()}:{pid}:"
