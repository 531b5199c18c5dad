"""
Paths of unix sockets, which have a maximum length, and short folders for them.

`data_dir` and TMPDIR may be as long as a file system allows (4,096 bytes); the path of a socket may
not.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from aragog.errors import ConfigError

MAX_BYTES = 107
"""The longest path of a unix socket, without the NUL behind it (unix(7))."""
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - only folders of one user go there


def fits(path: str | os.PathLike[str]) -> bool:
    """Whether a unix socket can have this path."""
    return len(os.fsencode(path)) <= MAX_BYTES


def short_folder(below_bytes: int, shared: Sequence[str] = SHARED_FOLDERS) -> Path:
    """
    A folder for temporary files in which a socket's path may have `below_bytes` more bytes.

    It is TMPDIR if that is short enough, or else the first of `shared` that can be written. The
    result is the same in every process with the same environment.

    Raises:
        ConfigError: none of them is short enough and can be written.
    """
    longest = MAX_BYTES - below_bytes - 1
    for folder in (tempfile.gettempdir(), *shared):
        if len(os.fsencode(folder)) <= longest and os.access(folder, os.W_OK | os.X_OK):
            return Path(folder)
    raise ConfigError(
        f"TMPDIR: {tempfile.gettempdir()} is too long for a unix socket (at most {longest} bytes), "
        f"and none of {', '.join(shared)} can be written; set TMPDIR to a shorter path"
    )
