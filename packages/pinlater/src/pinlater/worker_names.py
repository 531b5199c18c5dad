"""The names of worker processes in claims."""

from __future__ import annotations

import socket


def worker_name(pid: int) -> str:
    """
    Return `host:pid:`, with which a worker process's names on this host begin.

    `Admin.release` accepts it.
    """
    return f"{socket.gethostname()}:{pid}:"
