"""Choose ports of 127.0.0.1 for servers that tests start on a given port."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path
from typing import IO

FIRST, LAST = 12_000, 31_999
"""Below the ports that the kernel assigns to connections and port 0 (ip_local_port_range)."""
_reserved: set[int] = set()
_rng = random.SystemRandom()


def free_port() -> int:
    """
    Return a port that nobody listens on, and that no other test process gets until this one ends.

    A port chosen by the kernel might be assigned to the next socket that asks for any, because a busy
    machine starts a server long after its port was chosen.
    """
    while True:
        port = _rng.randint(FIRST, LAST)
        if port not in _reserved and _is_free(port) and _reserve(port):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _reserve(port: int) -> bool:
    """Lock the byte with this number in a file shared by all test processes."""
    try:
        fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    _reserved.add(port)
    return True


@cache
def _locks() -> IO[bytes]:
    return Path(tempfile.gettempdir(), f"aragog-test-ports-{os.getuid()}").open("ab")
