"""Hosts and domains that the setting `politeness.blocked_hosts` blocks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from aragog.errors import ConfigError
from aragog.politeness.ratelimit.overrides.overrides_file import host_name
from aragog.politeness.ratelimit.overrides.watched_file import WatchedFile

log = logging.getLogger(__name__)


class BlockedHosts:
    """
    Names that are blocked with all hosts below them. Thread-safe.

    Args:
        names: host names in any case, Unicode or Punycode.
        file: the settings file; None: `names` never change.
        read: the setting as it is now, asked after a change of the file. While it raises
            `ConfigError`, and while there is no file, the last names stay blocked.

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
        self._names = _checked(names)
        self._file = WatchedFile(file) if file else None
        self._read = read

    @property
    def reloads(self) -> bool:
        """True if the names can change."""
        return self._file is not None

    def find(self, host: str) -> str | None:
        """Return the name that blocks `host`; None if none does."""
        while self._names and host:
            if host in self._names:
                return host
            host = host.partition(".")[2]
        return None

    def refresh(self) -> None:
        """Read the setting again if the file changed."""
        if self._file is None or not self._file.changed() or not self._file.path.exists():
            return
        try:
            names = _checked(self._read())
        except ConfigError as error:
            log.warning(
                "the settings file is invalid, the blocked hosts stay as they were: %s", error
            )
            return
        if names != self._names:
            self._names = names
            log.info("reloaded politeness.blocked_hosts: %d names", len(names))


def _checked(names: Sequence[str]) -> frozenset[str]:
    hosts = {name: host_name(name) for name in names}
    problems = [
        f"politeness.blocked_hosts: {name!r} is not a host name; "
        "write it without scheme, port or path"
        for name, host in hosts.items()
        if host is None
    ]
    if problems:
        raise ConfigError(*problems)
    return frozenset(host for host in hosts.values() if host is not None)
