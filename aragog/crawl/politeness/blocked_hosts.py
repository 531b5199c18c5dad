"""Hosts and domains blocked by `politeness.blocked_hosts`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from aragog.crawl.politeness.host_names import HostNames
from aragog.errors import CONFIG

log = logging.getLogger(__name__)
SETTING = "politeness.blocked_hosts"


class BlockedHosts:
    """
    Blocked hosts and domains. A domain includes its subdomains. Thread-safe.

    Args:
        names: host names in any case, Unicode or Punycode.
        file: the settings file. If None, `names` never change.
        read: reads the setting after the file has changed. While it raises `ConfigError`, or the
            file is missing, the previous names stay blocked.

    Raises:
        ConfigError: a name is not a host name.
    """

    def __init__(
        self,
        names: Sequence[str] = (),
        *,
        file: Path | None = None,
        read: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._names = HostNames(names, SETTING)
        self._file = WatchedFile(file) if file else None
        self._read = read

    @property
    def can_reload(self) -> bool:
        return self._file is not None

    def find(self, host: str) -> str | None:
        return self._names.find(host)

    def refresh(self) -> None:
        if self._file is None or not self._file.has_changed() or not self._file.path.exists():
            return
        try:
            names = HostNames(self._read(), SETTING)
        except CONFIG as error:
            log.warning(
                "the settings file is invalid, so the blocked hosts stay unchanged: %s", error
            )
            return
        if names.names != self._names.names:
            self._names = names
            log.info("reloaded %s: %d names", SETTING, len(names.names))


class WatchedFile:
    """Detects changes to a file. Each check costs one stat(2)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last_signature = _signature(path)

    def has_changed(self) -> bool:
        """Return True if the file has changed, appeared or disappeared since the previous call."""
        previous, self._last_signature = self._last_signature, _signature(self.path)
        return self._last_signature != previous


def _signature(path: Path) -> tuple[int, int, int] | None:
    """
    Return mtime, size and inode, or None if there is no file. The inode changes if another file
    replaces this one.
    """
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
