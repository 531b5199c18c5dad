"""
Folders with short paths for Unix sockets.

`data_dir` and TMPDIR can be much longer (4,096 bytes) than the path of a socket may be.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from aragog.errors import ConfigError

MAX_PATH_BYTES = 107
"""Maximum length of a Unix socket's path, without the trailing NUL (unix(7))."""
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - for private subfolders


def fits(path: str | os.PathLike[str]) -> bool:
    """Return True if a Unix socket can have this path."""
    return len(os.fsencode(path)) <= MAX_PATH_BYTES


def short_folder(remaining_bytes: int, shared: Sequence[str] = SHARED_FOLDERS) -> Path:
    """
    Return a temporary folder whose path leaves `remaining_bytes` for the rest of a socket's path.

    This is TMPDIR if it is short enough, or else the first suitable folder of `shared`.

    Raises:
        ConfigError: no folder is both short enough and writable.
    """
    max_bytes = MAX_PATH_BYTES - remaining_bytes - 1
    for folder in (tempfile.gettempdir(), *shared):
        if len(os.fsencode(folder)) <= max_bytes and os.access(folder, os.W_OK | os.X_OK):
            return Path(folder)
    raise ConfigError(
        f"TMPDIR: {tempfile.gettempdir()} is too long for a Unix socket (at most {max_bytes} "
        f"bytes), and none of {', '.join(shared)} is writable; set TMPDIR to a shorter path"
    )
