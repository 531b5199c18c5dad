"""Detect that a file changed."""

from __future__ import annotations

from pathlib import Path


class WatchedFile:
    """A file and the state in which it was last seen; a check costs one stat(2)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = _signature(path)

    def changed(self) -> bool:
        """Report whether the file changed, appeared or was removed since the last call."""
        before, self._seen = self._seen, _signature(self.path)
        return self._seen != before


def _signature(path: Path) -> tuple[int, int, int] | None:
    """Return mtime, size and inode (for a file renamed over it); None without a file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
