"""
The operator's overrides for individual domains and hosts: from a file, and from live overrides,
which take precedence.

The file is TOML, with one table per domain or host. It is read again within seconds of a change. If
several tables match a host, the one with the longest name applies.

    ["example.com"]            # example.com and its subdomains together
    qps = 2

    ["shops.example"]          # each subdomain of shops.example separately
    scope = "host"
    max_concurrent = 4

docs/politeness.md lists all keys.
"""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, cast

from aragog.crawl.politeness.blocked_hosts import BlockedHosts, WatchedFile
from aragog.crawl.politeness.host_names import host_name
from aragog.crawl.politeness.live_overrides import MAX_QPS, LiveOverrides
from aragog.crawl.politeness.quiet_hours import QuietHours, quiet_hours
from aragog.errors import BAD_INPUT, CONFIG, TRANSIENT, ConfigError
from aragog.runtime.clock import Clock, SystemClock
from aragog.settings.checks import MAX_LATENCY_SLOWDOWN
from urlspelling.hosts import longest_match

log = logging.getLogger(__name__)
# How often the file (one stat(2)) and the live overrides (one round trip) are checked. The
# documentation says 5 s.
CHECK_INTERVAL_S = 1.0


@dataclass(frozen=True, slots=True)
class Override:
    """The override for one domain or host. None stands for the general setting."""

    name: str
    """The name in lower case and Punycode, without a trailing dot."""
    qps: float | None = None
    """Requests per second; above 0."""
    scope: Literal["domain", "host"] = "domain"
    """`domain`: `name` and its subdomains share the rate. `host`: each has a separate one."""
    max_concurrent: int | None = None
    """The maximum number of concurrent requests from the whole cluster."""
    crawl_delay_cap_s: float | None = None
    """The longest Crawl-delay to obey, in seconds; 0 to ignore Crawl-delay."""
    max_latency_slowdown: float | None = None
    """The largest factor by which a slow domain is slowed down. 1 turns this off."""
    quiet_hours: QuietHours | None = None
    blocked: bool = False
    """True if its URLs are never fetched."""
    stopped: bool = False
    """True if no requests are sent. URLs wait until the domain or host is resumed."""


class Overrides:
    """
    The latest valid overrides file, with the live overrides applied. Thread-safe.

    Args:
        path: the TOML file, or None for no file.
        clock: used to time the checks for changes.
        blocked_hosts: additional names to block, with their subdomains.
        live: the live overrides, read when an override is first used. While they cannot be read,
            the previous ones apply.

    Raises:
        ConfigError: the file is invalid. Each problem names the file, key and value.
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
        """Why the current file is not used, or None."""
        self._clock = clock or SystemClock()
        self._checked_s = float("-inf") if live else self._clock.monotonic_s()
        self._file = WatchedFile(path) if path else None
        self._file_overrides: Mapping[str, Override] = read_overrides(path) if path else {}
        self._live_values: Mapping[str, Mapping[str, Any]] = {}
        self._table = self._file_overrides

    def find(self, host: str) -> Override | None:
        """Return the override with the longest name that matches `host`."""
        return _find_override(self.table(), host)

    def blocking_setting(self, host: str) -> str | None:
        """Return what blocks `host`, as text for messages, or None."""
        override = self.find(host)
        if override is not None and override.blocked:
            return f"{self.path} blocks {override.name}"
        name = self._blocked.find(host)
        return name and f"politeness.blocked_hosts contains {name}"

    def is_stopped(self, key: str) -> bool:
        """Return True if requests to a limiter key (see `Rates.key_for`) are stopped."""
        override = self.find(key)
        return override is not None and override.stopped

    def table(self) -> Mapping[str, Override]:
        """Return all overrides by name. Checks for changes at most every `CHECK_INTERVAL_S`."""
        if self.path is None and self.live is None and not self._blocked.can_reload:
            return self._table
        now_s = self._clock.monotonic_s()
        if now_s - self._checked_s >= CHECK_INTERVAL_S:
            self._checked_s = now_s
            self.refresh()
        return self._table

    def refresh(self) -> None:
        self._blocked.refresh()
        has_changed = (
            self._file is not None and self._file.has_changed() and self._reload(self._file.path)
        )
        if self._read_live() or has_changed:
            self._table = apply_live(self._file_overrides, self._live_values)

    def _reload(self, path: Path) -> bool:
        try:
            self._file_overrides = read_overrides(path)
        except CONFIG as error:
            self.problem = str(error)
            log.warning(
                "the overrides file is invalid, so the previous overrides stay in use: %s", error
            )
            return False
        # Use the level of the earlier warning, so that an operator who fixed the file sees this.
        level = logging.WARNING if self.problem else logging.INFO
        self.problem = None
        log.log(level, "reloaded overrides: %d names in %s", len(self._file_overrides), path)
        return True

    def _read_live(self) -> bool:
        """Read changed live overrides. Returns True if there are any."""
        if self.live is None:
            return False
        try:
            values = self.live.changed_values()
        except TRANSIENT as error:
            # Fetching fails without this server anyway, so there is nothing more to report.
            log.debug(
                "could not read the live overrides, so the previous ones stay in use: %s", error
            )
            return False
        if values is None:
            return False
        self._live_values = values
        return True


def _find_override(table: Mapping[str, Override], host: str) -> Override | None:
    name = longest_match(host, table) if table else None
    return None if name is None else table[name]


def apply_live(
    table: Mapping[str, Override], values: Mapping[str, Mapping[str, Any]]
) -> dict[str, Override]:
    """Return the table with the live values applied."""
    merged = dict(table)
    for name, changes in values.items():
        base = _find_override(table, name) or Override(name)
        merged[name] = replace(base, name=name, **changes)
    return merged


def read_overrides(path: Path) -> dict[str, Override]:
    """
    Read the overrides from a file, by name.

    Raises:
        ConfigError: the file is invalid. The message names the file and every invalid key and
            value.
    """
    try:
        document = tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}: cannot be read: {error}; fix it, or unset politeness.overrides_file"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}") from error
    problems: list[str] = []
    overrides: dict[str, Override] = {}
    for name, values in document.items():
        override = _read_override(f"{path}: [{name!r}]", name, values, problems)
        if override.name in overrides:
            problems.append(f"{path}: [{name!r}] is listed twice; keep one")
        overrides[override.name] = override
    if problems:
        raise ConfigError(*problems)
    return overrides


def _read_override(where: str, name: str, values: Any, problems: list[str]) -> Override:
    if not isinstance(values, dict):
        problems.append(f'{where}: must be a table; put ["{name}"] above its keys')
        return Override(name)
    if any(isinstance(value, dict) for value in values.values()):
        # In TOML, [example.com] means com inside example.
        problems.append(f'{where}: quote a name with dots: ["{name}.…"]')
        return Override(name)
    names = [field.name for field in fields(Override) if field.name != "name"]
    problems += [
        f"{where}.{key}: is not a known key; use {', '.join(names)}"
        for key in sorted(values.keys() - set(names))
    ]
    for key, value in values.items():
        requirement = _requirement(key, value)
        if requirement:
            problems.append(f"{where}.{key}: must be {requirement}, got {value!r}")
    host = host_name(name)
    if host is None:
        problems.append(
            f"{where} is not a domain or host name; use a name without scheme, port or path"
        )
    settings = {key: value for key, value in values.items() if key in names}
    if "quiet_hours" in settings:
        try:
            settings["quiet_hours"] = quiet_hours(str(settings["quiet_hours"]))
        except BAD_INPUT as error:
            problems.append(f"{where}.quiet_hours: {error}")
    return Override(host or name, **cast("dict[str, Any]", settings))


def _requirement(key: str, value: Any) -> str | None:
    """Return what the value of `key` must be; None if it is valid or the key is unknown."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match key:
        case "qps":
            is_valid, requirement = (
                is_number and 0 < value <= MAX_QPS,
                f"a number above 0, up to {MAX_QPS}",
            )
        case "scope":
            is_valid, requirement = value in ("domain", "host"), '"domain" or "host"'
        case "max_concurrent":
            is_valid = isinstance(value, int) and is_number and 1 <= value <= 10_000
            requirement = "a whole number from 1 to 10000"
        case "crawl_delay_cap_s":
            is_valid, requirement = is_number and 0 <= value <= 86_400, "seconds from 0 to 86400"
        case "max_latency_slowdown":
            is_valid = is_number and 1 <= value <= MAX_LATENCY_SLOWDOWN
            requirement = f"a number from 1 to {MAX_LATENCY_SLOWDOWN}"
        case "blocked" | "stopped":
            is_valid, requirement = isinstance(value, bool), "true or false"
        case _:
            return None
    return None if is_valid else requirement
