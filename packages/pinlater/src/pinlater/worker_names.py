"""The names of worker processes in claims."""

from __future__ import annotations

import socket


def worker_name(pid: int) -> str:
    """
    Return `host:pid:`, the start of a worker process's names on this host.

    `Admin.release` accepts it.
    """
    return f"{socket.gethostname()}:{pid}:"
