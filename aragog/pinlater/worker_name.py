"""How workers are named in claims."""

from __future__ import annotations

import socket


def worker_name(pid: int) -> str:
    """
    `host:pid:`, with which the name of a worker process on this host begins.

    `Admin.release` takes it to give back what the process held.
    """
    return f"{socket.gethostname()}:{pid}:"
