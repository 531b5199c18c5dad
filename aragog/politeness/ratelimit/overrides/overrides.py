"""
The overrides that apply now: those of the file, with the live overrides on top of them.

The file is read again within seconds of a change. The longest name that is the host or a parent of
it applies.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from aragog.clock import Clock, SystemClock
from aragog.errors import ConfigError, TransientError
from aragog.politeness.ratelimit.overrides.blocked_hosts import BlockedHosts
from aragog.politeness.ratelimit.overrides.live_overrides import LiveOverrides
from aragog.politeness.ratelimit.overrides.overrides_file import Override, read_overrides
from aragog.politeness.ratelimit.overrides.watched_file import WatchedFile

log = logging.getLogger(__name__)

# How often the file is checked, with one stat(2), and the live overrides, in one round trip;
# documented as 5 s.
CHECK_EVERY_S = 1.0


class Overrides:
    """
    The last valid content of the overrides file, with the live overrides applied. Thread-safe.

    Args:
        path: the TOML file; None: no file.
        clock: measures when to check again.
        blocked_hosts: further names that are blocked with all hosts below them; None: none.
        live: the live overrides, read with the first use of an override. While they cannot be read,
            the last known ones apply. None: there are none.

    Raises:
        ConfigError: the file is invalid; every problem names file, key and value.
    """

    def __init__(
        self,
        path: Path | None = None,
        clock: Clock | None = None,
        *,
        blocked_hosts: BlockedHosts | None = None,
        live: LiveOverrides | None = None,
    ) -> None:
        self.path = path
        self.live = live
        self._blocked = blocked_hosts or BlockedHosts()
        self.problem: str | None = None
        """Why the current file is not used; None while it is used."""
        self._clock = clock or SystemClock()
        self._checked_s = float("-inf") if live else self._clock.monotonic_s()
        self._file = WatchedFile(path) if path else None
        self._of_file: Mapping[str, Override] = read_overrides(path) if path else {}
        self._live_values: Mapping[str, Mapping[str, Any]] = {}
        self._table = self._of_file

    def find(self, host: str) -> Override | None:
        """Return the override of the longest name that is `host` or a parent of it."""
        return _longest(self.table(), host)

    def blocked(self, host: str) -> str | None:
        """Return which setting blocks `host`, for messages; None if none does."""
        override = self.find(host)
        if override is not None and override.blocked:
            return f"{self.path} blocks {override.name}"
        name = self._blocked.find(host)
        return name and f"politeness.blocked_hosts has {name}"

    def stopped(self, key: str) -> bool:
        """Report whether requests to a limiter key are stopped."""
        override = self.find(key)
        return override is not None and override.stopped

    def table(self) -> Mapping[str, Override]:
        """Return all overrides by name; checks for changes at most every `CHECK_EVERY_S`."""
        if self.path is None and self.live is None and not self._blocked.reloads:
            return self._table
        now_s = self._clock.monotonic_s()
        if now_s - self._checked_s >= CHECK_EVERY_S:
            self._checked_s = now_s
            self.refresh()
        return self._table

    def refresh(self) -> None:
        """Check for changes now."""
        self._blocked.refresh()
        changed = self._file is not None and self._file.changed() and self._reload(self._file.path)
        if self._read_live() or changed:
            self._table = with_live(self._of_file, self._live_values)

    def _reload(self, path: Path) -> bool:
        """Read the file; True: its overrides are new."""
        try:
            self._of_file = read_overrides(path)
        except ConfigError as error:
            self.problem = str(error)
            log.warning(
                "the overrides file is invalid, the previous overrides stay in use: %s", error
            )
            return False
        # At the level of the earlier warning, so that the operator who fixed the file sees it.
        level = logging.WARNING if self.problem else logging.INFO
        self.problem = None
        log.log(level, "reloaded overrides: %d names in %s", len(self._of_file), path)
        return True

    def _read_live(self) -> bool:
        """Read the live overrides if they changed; True: they are new."""
        if self.live is None:
            return False
        try:
            values = self.live.changed_values()
        except TransientError as error:
            # Fetching needs this server for more than overrides, so it waits as well.
            log.debug("the live overrides were not read, the last ones stay in use: %s", error)
            return False
        if values is None:
            return False
        self._live_values = values
        return True


def with_live(
    table: Mapping[str, Override], values: Mapping[str, Mapping[str, Any]]
) -> dict[str, Override]:
    """A table with live values on top: a name keeps what else applied to it before."""
    merged = dict(table)
    for name, changes in values.items():
        base = _longest(table, name) or Override(name)
        merged[name] = replace(base, name=name, **changes)
    return merged


def _longest(table: Mapping[str, Override], host: str) -> Override | None:
    while table and host:
        if host in table:
            return table[host]
        host = host.partition(".")[2]
    return None
